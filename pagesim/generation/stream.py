"""Answers as they grow, in the order of the prompts; a bar where they are not seen."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

from pagesim.generation.vocabulary import Vocabulary
from pagesim.simulation.progress import Progress

if TYPE_CHECKING:
    from pagesim.generation.engine import Answer, Engine

CUT = "\N{REPLACEMENT CHARACTER}"
"""How a character looks whose bytes are not all there."""
HINTS = {
    "max_num_batched_tokens": "raise --max-num-batched-tokens",
    "max_model_len": "shorten the prompt, or lower --max-tokens",
    "blocks": "raise --blocks, or lower --max-tokens",
}
"""The way out, by what the reason names."""


class Stream:
    """Runs an engine and passes the text of its answers on, as soon as it is known.

    ``say(text, nl=…)`` writes it, like `click.echo`; without it there is only the bar, which
    appears if stderr is a terminal and the text is not on one.
    """

    def __init__(
        self, engine: Engine, words: Vocabulary, write: Callable[..., None] | None, title: str
    ) -> None:
        self._engine, self._words, self._title = engine, words, title
        self._write = write or (lambda *_, **__: None)
        self._bar = (
            False if write is not None and sys.stdout is not None and sys.stdout.isatty() else None
        )
        self._next = 0
        """The answer whose turn it is."""
        self._shown = 0
        """How many characters of it are written."""

    def run(self) -> None:
        """Step until no answer grows."""
        most = sum(self._tokens(answer, whole=True) for answer in self._engine.answers)
        with closing(Progress(self._bar, most, " tokens", title=self._title)) as report:
            while self._engine.step() is not None:
                self._show()
                report(sum(self._tokens(answer) for answer in self._engine.answers))
            self._show()

    @staticmethod
    def _tokens(answer: Answer, whole: bool = False) -> int:
        """How far an answer is; a complete one counts as if it had become as long as it may."""
        if whole or answer.state != "unfinished":
            return int(answer.params.max_tokens * (answer.params.beams or answer.params.n))
        return sum(len(sample) for sample in answer.samples)

    def _show(self) -> None:
        for answer in self._engine.answers[self._next :]:
            done = answer.state != "unfinished"
            if done or (answer.params.n == 1 and not answer.params.beams):
                self._show_of(answer, done)
            if not done:
                return
            self._next, self._shown = self._next + 1, 0

    def _show_of(self, answer: Answer, done: bool) -> None:
        if answer.why:
            hint = next((f"; {hint}" for word, hint in HINTS.items() if word in answer.why), "")
            begun = "\n" * (self._shown > 0)
            self._write(
                f"{begun}{self._name(answer, 0)}{answer.state}: {answer.why}{hint}", nl=True
            )
            return
        for sample in range(len(answer.samples)):
            text = self._name(answer, sample) + text_of(self._words, answer, sample)
            if not done:
                text = text.rstrip(CUT)
            self._write(text[self._shown :], nl=done)
            self._shown = 0 if done else len(text)

    def _name(self, answer: Answer, sample: int) -> str:
        """What stands before an answer if there are several."""
        number = f"{answer.id}.{sample}" if len(answer.samples) > 1 else str(answer.id)
        return f"{number}: " if len(self._engine.answers) > 1 or "." in number else ""


def text_of(words: Vocabulary, answer: Answer, sample: int) -> str:
    """The text of an answer: what it adds to its prompt's, since a word may hide a blank."""
    prompt = words.decode(answer.prompt)
    whole = words.decode((*answer.prompt, *answer.samples[sample]))
    return whole.removeprefix(prompt)
