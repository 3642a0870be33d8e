"""What the language model's benchmark serves: models of random weights, requests, and arrivals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from pagesim.kernels.tiny_llm.config import Config, shapes
from pagesim.kernels.tiny_llm.model import Model


@dataclass(frozen=True, slots=True)
class Work:
    """A prompt, and how many tokens are asked for."""

    prompt: list[int]
    max_tokens: int


SIZES = {  # layers, hidden, MLP, query heads, KV heads, head_dim, vocabulary
    "0.08M": (2, 64, 128, 4, 2, 16, 66),
    "3M": (4, 256, 704, 8, 2, 32, 512),
    "19M": (6, 512, 1536, 8, 2, 64, 512),
    "110M": (12, 768, 3072, 12, 4, 64, 8192),
}
"""The first three are those of the measurements in `llm.BEFORE`; the last is for a GPU."""


def random_model(size: str, dtype: torch.dtype, device: str) -> Model:
    """A Llama of random weights: its answers mean nothing, and are the same in every row."""
    layers, hidden, inner, heads, kv_heads, head_dim, vocabulary = SIZES[size]
    config = Config("llama", layers, hidden, inner, heads, kv_heads, head_dim, vocabulary)
    random = torch.Generator().manual_seed(0)
    weights = {
        name: torch.randn(shape, generator=random) / shape[1] ** 0.5
        if len(shape) == 2
        else torch.ones(shape)
        for name, shape in shapes(config).items()
    }
    return Model(config, {name: w.to(device, dtype) for name, w in weights.items()})


def requests(
    number: int = 32, vocabulary: int = 512, seed: int = 0, prompt: tuple[int, int] = (64, 256)
) -> list[Work]:
    """Prompts of uniform and answers of exponential lengths, 8 to 160 tokens and 48 on average."""
    random = np.random.default_rng(seed)
    work = []
    for _ in range(number):
        tokens = random.integers(0, vocabulary, int(random.integers(*prompt))).tolist()
        work.append(Work(tokens, int(np.clip(random.exponential(48), 8, 160))))
    return work


def one_prompt(
    number: int = 32, vocabulary: int = 512, tokens: int = 256, answer: int = 16
) -> list[Work]:
    """rosellm's workload: one and the same prompt for all."""
    prompt = np.random.default_rng(0).integers(0, vocabulary, tokens).tolist()
    return [Work(prompt, answer)] * number


def poisson(number: int, rate: float, seed: int = 5) -> list[float]:
    """When requests arrive, ``rate`` of them a second on average."""
    gaps = np.random.default_rng(seed).exponential(1 / rate, number)
    return np.cumsum(gaps).tolist()


def shortened(work: Sequence[Work], prompt: int, answer: int) -> list[Work]:
    """The same requests cut down, for a row or a machine that would take too long."""
    return [Work(one.prompt[:prompt], min(one.max_tokens, answer)) for one in work]
