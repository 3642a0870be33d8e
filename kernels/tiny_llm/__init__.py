"""A language model whose keys and values can lie in pages: Llama, Qwen2, Qwen3, and two tiny ones.

from pagesim.kernels.tiny_llm import Engine, SamplingParams, by_hand, load, maps, walk
model = by_hand()                        # set by a function, exact
model = walk()                           # trained (train.py), 78,272 parameters
engine = Engine(model, server, cache)    # over pages, continuously batched
"""

from pathlib import Path

from pagesim.kernels.runtime import mode

if not mode.has_torch():
    mode.require_torch("pagesim.kernels.tiny_llm")

import torch

from pagesim.kernels.tiny_llm.answers import Answer
from pagesim.kernels.tiny_llm.by_hand import by_hand
from pagesim.kernels.tiny_llm.checkpoint import CheckpointError, load, save
from pagesim.kernels.tiny_llm.config import Config
from pagesim.kernels.tiny_llm.contiguous import Contiguous, generate
from pagesim.kernels.tiny_llm.engine import Engine
from pagesim.kernels.tiny_llm.model import Model, causal
from pagesim.kernels.tiny_llm.sampling import SamplingParams

__all__ = [
    "Answer",
    "CheckpointError",
    "Config",
    "Contiguous",
    "Engine",
    "Model",
    "SamplingParams",
    "by_hand",
    "causal",
    "generate",
    "load",
    "save",
    "walk",
]


def walk(device: str | torch.device = "cpu") -> Model:
    """The trained model that walks maps (`maps`), in float32: a Llama in the folder `walk`."""
    return load(Path(__file__).parent / "walk", device=device)
