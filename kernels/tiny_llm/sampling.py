"""From logits to the next token: greedy, drawn, or the best of several continuations.

A draw goes through these steps, in vLLM's order:

    logits         2.0   1.0   0.5  -1.0       a   b   c   d
    temperature    ÷ T: below 1 the best gains, above 1 the others do
    top_k = 3      2.0   1.0   0.5             d is out
    softmax        0.63  0.23  0.14
    top_p = 0.8    0.63  0.23                  0.63 < 0.8: the token that crosses p stays; c is out
    a number in [0, 1) falls into a's share, or b's

The number depends on the seed, the sample and the position, and on nothing else. So an answer does
not depend on what else is in the batch, nor on whether its request was preempted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How the output of a request is chosen, in vLLM's names; ValueError names a bad field.

    temperature 0 takes the likeliest token; top_k 0 and top_p 1 leave out none. n samples are drawn
    independently. beams > 0 searches for that number of likeliest outputs instead. An output ends
    with a token of `stop` (None: the model's eos_token_id) or after max_tokens.
    """

    max_tokens: int = 16
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0
    n: int = 1
    beams: int = 0
    stop: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        for name, least in {"max_tokens": 1, "top_k": 0, "seed": 0, "n": 1, "beams": 0}.items():
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise ValueError(
                    f"{name} = {value!r}: it must be a whole number of at least {least}"
                )
        if not is_number(self.temperature) or not 0 <= self.temperature < math.inf:
            raise ValueError(
                f"temperature = {self.temperature!r}: it must be at least 0, and finite"
            )
        if not is_number(self.top_p) or not 0 < self.top_p <= 1:
            raise ValueError(f"top_p = {self.top_p!r}: it must be above 0 and at most 1")
        stop = () if self.stop is None else self.stop
        if not isinstance(stop, tuple) or not all(type(i) is int and i >= 0 for i in stop):
            raise ValueError(f"stop = {stop!r}: it must be token ids, like (3,), or None")
        if self.beams and (self.n > 1 or self.temperature > 0):
            raise ValueError(
                f"beams = {self.beams}, n = {self.n}, temperature = {self.temperature}: a beam "
                f"search draws nothing, so leave n at 1 and temperature at 0"
            )

    def with_stop(self, eos: tuple[int, ...]) -> SamplingParams:
        """Return the same parameters with `stop` filled in."""
        return self if self.stop is not None else replace(self, stop=eos)

    def ends(self, tokens: Sequence[int]) -> bool:
        """Whether an output is complete with these tokens."""
        return len(tokens) == self.max_tokens or tokens[-1] in (self.stop or ())


def checked_prompt(tokens: Iterable[int], vocab_size: int) -> tuple[int, ...]:
    """Return token ids as a tuple, also from an array or a tensor; ValueError names a wrong one."""
    prompt = tuple(tokens.tolist() if hasattr(tokens, "tolist") else tokens)
    for token in prompt:
        if type(token) is not int or not 0 <= token < vocab_size:
            raise ValueError(
                f"the prompt contains token {token!r}: token ids go from 0 to {vocab_size - 1}"
            )
    if not prompt:
        raise ValueError("the prompt is empty: it needs at least one token")
    return prompt


def is_number(value: object) -> bool:
    """Whether it is an int or a float, one of NumPy's as well, and not a bool."""
    return isinstance(value, Real) and not isinstance(value, bool)


def draw(logits: Tensor, params: SamplingParams, sample: int, position: int) -> int:
    """A token by its probability; logits [vocab]."""
    scores = logits.double().cpu().numpy() / params.temperature
    order = np.argsort(-scores, kind="stable")[: params.top_k or None]
    shares = np.exp(scores[order] - scores[order[0]]).cumsum()
    shares = shares[: np.searchsorted(shares, params.top_p * shares[-1]) + 1]
    number = np.random.default_rng([params.seed, sample, position]).random()
    return int(order[np.searchsorted(shares, number * shares[-1], side="right")])


def extend(scores: Sequence[float], logits: Tensor, width: int) -> list[tuple[float, int, int]]:
    """The best continuations of several beams: (score, beam, token), best first, `width` at most.

    A score is the sum of log probabilities so far, one for each row of logits [beams, vocab]. Ties
    go to the earlier beam, then to the smaller token.
    """
    totals = torch.log_softmax(logits.double(), -1).cpu() + torch.tensor(scores)[:, None]
    flat = totals.flatten().numpy()
    best = np.argsort(-flat, kind="stable")[:width]
    return [(float(flat[i]), *divmod(int(i), totals.shape[1])) for i in best]
