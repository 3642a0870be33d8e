"""How well a model walks maps: its greedy answers without a cache, and by how much they lead."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from pagesim.kernels.tiny_llm import maps
from pagesim.kernels.tiny_llm.model import Model, causal


@dataclass(frozen=True, slots=True)
class Marks:
    """`right` of `tokens` were the largest logit; margin: the smallest lead over the second."""

    right: int
    tokens: int
    margin: float


def fresh_walks(
    seed: int, num_facts: int, num_maps: int, places: int = maps.NUM_PLACES
) -> list[tuple[maps.Map, int]]:
    """Every walk on some new maps, as (map, start)."""
    rng = np.random.default_rng(seed)
    made = [maps.make_map(rng, num_facts, places=places) for _ in range(num_maps)]
    return [(one, start) for one in made for start in one.starts]


def examine(model: Model, walks: Iterable[tuple[maps.Map, int]]) -> Marks:
    """Ask for every token of every walk, behind the right ones before it.

    All are right if and only if greedy decoding answers every question.
    """
    right, tokens, margin = 0, 0, float("inf")
    for given, start in walks:
        question, answer = maps.prompt(given, start), maps.answer(given, start)
        best = logits_of(model, [*question, *answer[:-1]])[len(question) - 1 :].topk(2)
        right += int((best.indices[:, 0].cpu() == torch.tensor(answer)).sum())
        tokens += len(answer)
        margin = min(margin, float((best.values[:, 0] - best.values[:, 1]).min()))
    return Marks(right, tokens, margin)


def logits_of(model: Model, tokens: Sequence[int]) -> torch.Tensor:
    """Logits [T, vocab] of one sequence."""
    ids = torch.tensor(tokens, device=model.head.device)
    with torch.inference_mode():
        attend = causal([len(ids)], model.config.windows)
        return model.logits(model(ids, torch.arange(len(ids)).to(ids), attend))
