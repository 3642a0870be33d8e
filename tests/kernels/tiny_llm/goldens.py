"""The committed folders, and how far a model's logits are from those of transformers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from pagesim.kernels.tiny_llm import Model
from tools.walk_exam import logits_of

DATA = Path(__file__).resolve().parents[2] / "data" / "tiny_llm"
FOLDERS = ("llama3", "qwen2", "qwen3", "sharded")
TOLERANCE = 5e-6
"""Of the largest logit, in float32. Seen: up to 1e-6."""


def error(model: Model, tokens: np.ndarray, logits: np.ndarray) -> float:
    """The largest deviation from these logits ÷ the largest logit."""
    found = logits_of(model, tokens.tolist())
    return float((found - torch.from_numpy(logits)).abs().max()) / float(np.abs(logits).max())


def golden_error(model: Model, folder: str) -> float:
    with np.load(DATA / folder / "golden.npz") as golden:
        return error(model, golden["tokens"], golden["logits"])
