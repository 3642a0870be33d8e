"""What a clock must know of a GPU and of a model's weights, from data sheets; nothing is fitted."""

from dataclasses import dataclass

from pagesim.errors import UsageError
from pagesim.sizing.presets import preset_name


@dataclass(frozen=True, slots=True)
class Card:
    """A GPU: bytes, bytes a second, dense 16-bit operations a second, PCIe bytes a second."""

    memory_bytes: float
    bytes_per_second: float
    flops_per_second: float
    swap_bytes_per_second: float


CARDS = {
    "a100-40gb": Card(40e9, 1.555e12, 312e12, 32e9),
    "a100-80gb": Card(80e9, 2.039e12, 312e12, 32e9),
    "h100": Card(80e9, 3.35e12, 989e12, 64e9),
    "h200": Card(141e9, 4.8e12, 989e12, 64e9),
    "l4": Card(24e9, 0.3e12, 121e12, 32e9),
    "rtx-4090": Card(24e9, 1.008e12, 165.2e12, 32e9),
}
"""Source: NVIDIA's data sheets (A100, H100 and H200 as SXM), for the RTX 4090 its whitepaper of the
Ada architecture. Operations are without sparsity, sums in float32. PCIe is the nominal x16: 32 GB/s
in generation 4, 64 GB/s in generation 5."""

_BILLIONS = {
    "qwen2-1.5b": (1.54, 1.54),
    "qwen3-0.6b": (0.6, 0.6),
    "qwen3-8b": (8.2, 8.2),
    "qwen3-32b": (32.8, 32.8),
    "qwen3-30b-a3b": (30.5, 3.3),
    "llama-2-7b": (6.74, 6.74),
    "llama-3.1-8b": (8.03, 8.03),
    "llama-3.1-70b": (70.6, 70.6),
    "llama-3.3-70b": (70.6, 70.6),
    "mistral-7b": (7.24, 7.24),
    "mixtral-8x7b": (46.7, 12.9),
    "gemma-2-9b": (9.24, 9.24),
    "gpt-oss-20b": (20.91, 3.61),
    "gpt-oss-120b": (116.83, 5.13),
    "gemma-3-4b": (3.88, 3.88),
    "gemma-3-12b": (11.8, 11.8),
    "gemma-3-27b": (27.0, 27.0),
    "opt-13b": (13.0, 13.0),
    "opt-66b": (66.0, 66.0),
    "opt-175b": (175.0, 175.0),
}
"""Billions of parameters, all and active per token, according to the model cards. Those of Gemma 3
are without the part that sees images: its technical report, arXiv 2503.19786, table 1."""

_STORED_GIB = {"gpt-oss-20b": 12.8, "gpt-oss-120b": 60.8}
"""The weights of models whose experts have 4 bits: the model card, arXiv 2508.10925, table 1."""


def card(name: str) -> Card:
    """A GPU by its name, in any case; UsageError lists the known ones."""
    if (found := CARDS.get(name.strip().lower())) is None:
        raise UsageError(f"unknown GPU {name!r}: there are {', '.join(CARDS)}")
    return found


def parameters(name: str) -> tuple[float, float]:
    """All parameters of a preset, and those active per token: fewer with experts."""
    if (found := _BILLIONS.get(preset_name(name))) is None:
        raise UsageError(f"the weights of {name!r} are unknown: there are {', '.join(_BILLIONS)}")
    return found[0] * 1e9, found[1] * 1e9


def weight_bytes(name: str, bytes_of_one: int) -> float:
    """The bytes of a preset's weights, of ``bytes_of_one`` each unless its experts have fewer."""
    stored = _STORED_GIB.get(preset_name(name))
    return parameters(name)[0] * bytes_of_one if stored is None else stored * 2**30
