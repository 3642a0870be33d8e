"""How well a model walks maps, without a cache: right tokens, and by how much."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from kernels.tiny_llm import Model, causal, maps


@dataclass(frozen=True, slots=True)
class Walked:
    """right of `tokens` answers were the largest logit; margin: the least lead over the second."""

    right: int
    tokens: int
    margin: float


def logits_of(model: Model, tokens: list[int]) -> torch.Tensor:
    """Logits [T, vocab] of one sequence."""
    with torch.inference_mode():
        positions = torch.arange(len(tokens))
        return model.logits(model(torch.tensor(tokens), positions, causal([len(tokens)])))


def walk(model: Model, walks: Iterable[tuple[maps.Map, int]]) -> Walked:
    """Every token of every answer, asked for behind the right ones before it.

    All are right if and only if greedy decoding gives these answers.
    """
    right, tokens, margin = 0, 0, float("inf")
    for given, start in walks:
        question, answer = maps.prompt(given, start), maps.answer(given, start)
        found = logits_of(model, [*question, *answer[:-1]])[len(question) - 1 :]
        best = found.topk(2)
        right += int((best.indices[:, 0] == torch.tensor(answer)).sum())
        tokens += len(answer)
        margin = min(margin, float((best.values[:, 0] - best.values[:, 1]).min()))
    return Walked(right, tokens, margin)
