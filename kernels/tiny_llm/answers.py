"""What the engine is asked, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pagesim.kernels.tiny_llm.sampling import SamplingParams


class Prompt(NamedTuple):
    """A request as a server takes it: the part of `pagesim.workload.Request` that it reads."""

    request_id: str
    token_ids: tuple[int, ...]
    output_tokens: int
    arrival_s: float = 0.0
    hash_ids: tuple[int, ...] = ()

    @property
    def prompt_tokens(self) -> int:
        """The prompt's length."""
        return len(self.token_ids)

    @property
    def total_tokens(self) -> int:
        """The most that prompt and answer can be."""
        return len(self.token_ids) + self.output_tokens


def checked_prompt(tokens: Any, vocab_size: int) -> tuple[int, ...]:
    """Token ids as a tuple, from an array or a tensor as well; ValueError names a wrong one."""
    prompt = tuple(tokens.tolist() if hasattr(tokens, "tolist") else tokens)
    for token in prompt:
        if type(token) is not int or not 0 <= token < vocab_size:
            raise ValueError(f"the prompt has the token {token!r}: they are 0 to {vocab_size - 1}")
    if not prompt:
        raise ValueError("the prompt is empty: it needs a token")
    return prompt


class Token(NamedTuple):
    """A token that a step has sampled, of a sample of an answer."""

    answer: int
    sample: int
    token: int


@dataclass
class Answer:
    """What became of a request.

    samples: the tokens of each, as far as they are known; beams are known when they are complete,
    the likeliest first, and `scores` has the sum of the log probabilities of each. state:
    "unfinished", "finished", "ignored" (it can never be served) or "stuck" (no step continues it);
    of the last two, `why`.
    """

    id: int
    prompt: tuple[int, ...]
    params: SamplingParams
    samples: list[list[int]] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    state: str = "unfinished"
    why: str = ""

    @property
    def tokens(self) -> list[int]:
        """The first sample, or the best beam; [] if there is none."""
        return self.samples[0] if self.samples else []

    def add_beam(self, score: float, tokens: list[int]) -> None:
        """Put a complete beam in its place."""
        place = sum(other >= score for other in self.scores)
        self.scores.insert(place, score)
        self.samples.insert(place, tokens)


@dataclass
class Sequence:
    """A sequence that a server runs: a sample of an answer, or a beam with its score so far."""

    answer: Answer
    sample: int
    tokens: list[int]
    score: float = 0.0
