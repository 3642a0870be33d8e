"""A prediction: what the reader expects of a run, compared with what the run did.

The truth is a function, called when it is needed, so it follows a change in a cell above. It is
shown only on request::

    growth = pagesim.predict("ch02 growth", [2, 5], truth=lambda: took_a_block)
    growth               # ✗ Wrong. You said [2, 5]. …

    growth.reveal()      # ▸ The answer

What a ``with growth.reveal():`` block prints and displays is folded into the answer.
"""

from collections.abc import Callable, Collection, Mapping, Set
from typing import Any

from pagesim.lesson import score
from pagesim.lesson.agreement import Guess, agrees, plain, unlike
from pagesim.lesson.captured import Captured, display

NONE_YET = "No prediction yet. Write yours in place of None, and run this cell again."


class Prediction:
    """One prediction and its verdict; its ``repr`` shows the verdict, never the truth."""

    def __init__(self, name: str, mine: Guess, truth: Callable[[], Any], within: float) -> None:
        self.name, self.mine, self.truth, self.within = name, mine, truth, within
        parts = mine.values() if isinstance(mine, Mapping) else [mine]
        self.is_written = all(part is not None for part in parts)
        self.not_asked = unlike(mine, truth()) if self.is_written else ""
        self.is_made = self.is_written and not self.not_asked
        self.is_right = self.is_made and agrees(mine, truth(), within)
        self._kept = score.keep(name, self.is_right) if self.is_made else ""

    def reveal(self) -> "Answer":
        """The answer, folded; in a terminal, ``print`` shows it."""
        return Answer(self)

    def __repr__(self) -> str:
        if not self.is_written:
            return NONE_YET
        if self.not_asked:
            return f"Not yet a prediction: {self.not_asked}. It was not counted; write it again."
        answer = f"You said {_words(self.mine)}."
        if self.is_right:
            return f"\N{CHECK MARK} Right. {answer}{self._kept}"
        answer += f"{self._nearly()} Try again, or run the next cell."
        return f"\N{BALLOT X} Wrong. {answer}{self._kept}"

    def _nearly(self) -> str:
        """Which parts of a prediction with several parts are right."""
        truth = self.truth()
        if not isinstance(truth, Mapping) or not isinstance(self.mine, Mapping):
            return ""
        right = [k for k in truth if k in self.mine and agrees(self.mine[k], truth[k], self.within)]
        named = f": {', '.join(map(str, right))}" if right else ""
        return f" {len(right)} of {len(truth)} are right{named}."


class Answer:
    """The truth of a prediction, folded until it is clicked; a ``with`` block adds to it."""

    def __init__(self, prediction: Prediction) -> None:
        self.prediction = prediction
        self._captured = Captured()

    def __enter__(self) -> "Answer":
        self._captured.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *raised: Any) -> None:
        self._captured.__exit__(kind, *raised)
        if kind is None:
            display(self)

    def _lines(self) -> str:
        answer = f"you said:   {_words(self.prediction.mine)}\n" if self.prediction.is_made else ""
        return f"{answer}the answer: {_words(self.prediction.truth())}\n"

    def __str__(self) -> str:
        return self._lines() + self._captured.text

    def _repr_mimebundle_(self, **_: Collection[str] | None) -> dict[str, str]:
        # Plain text cannot fold: it names the prediction and omits the answer.
        inside = self._captured.html(before=self._lines())
        return {
            "text/plain": f"The answer to {self.prediction.name!r}, folded",
            "text/html": f'<details class="answer"><summary>The answer</summary>{inside}</details>',
        }


def predict(name: str, mine: Guess, truth: Callable[[], Any], *, within: float = 0.0) -> Prediction:
    """Compare a prediction with the truth, which ``truth()`` takes from the run.

    ``mine`` is a number, a word, a list, a set (if the order does not matter), or a dict of these.
    None, or a dict that contains None, means that there is no prediction yet. A prediction of
    another kind than the truth is not counted, and the verdict says so. If the truth is an int, the
    prediction must equal it; a float may be missed by the fraction ``within`` of it (0.1 is a
    tenth). The verdict is kept under ``name``, for `score`. TypeError if ``truth`` is not a
    function; exceptions raised by ``truth()`` pass through.
    """
    if not callable(truth):
        raise TypeError(f"truth must be a function, as in truth=lambda: …, not {truth!r:.80}")
    return Prediction(name, mine, truth, within)


def _words(value: Guess) -> str:
    value = plain(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_words(item)}" for key, item in value.items())
    if isinstance(value, list):
        return f"[{', '.join(map(_words, value))}]"
    if isinstance(value, Set):
        return f"{{{', '.join(sorted(map(_words, value)))}}}"
    return str(value)
