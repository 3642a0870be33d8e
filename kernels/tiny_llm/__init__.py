"""A language model on pages: Llama, Mistral, Qwen2, Qwen3, Gemma 3, and two that are tiny.

from pagesim.kernels.tiny_llm import SamplingParams, by_hand, generate, load, maps, walk
model = by_hand()                        # set by a function, exact
model = walk()                           # trained (tools/train_walk.py), 78,272 parameters
generate(model, prompt, SamplingParams())    # without pages; with them: pagesim.generation

``model`` is the decoder and ``config`` its sizes; ``maps`` is the task of the tiny ones.
``checkpoint`` loads a folder, with ``config_json`` and ``weight_files``. ``paged_attend`` attends
through pages and ``contiguous`` without them. ``sampling`` chooses the next token.
"""

from pathlib import Path

from pagesim.kernels.runtime import mode

if not mode.has_torch():
    mode.require_torch("pagesim.kernels.tiny_llm")

import torch

from pagesim.kernels.tiny_llm.by_hand import by_hand
from pagesim.kernels.tiny_llm.checkpoint import load, save
from pagesim.kernels.tiny_llm.config import Config
from pagesim.kernels.tiny_llm.config_json import CheckpointError
from pagesim.kernels.tiny_llm.contiguous import Contiguous, generate
from pagesim.kernels.tiny_llm.model import Model, causal
from pagesim.kernels.tiny_llm.sampling import SamplingParams

__all__ = [
    "CheckpointError",
    "Config",
    "Contiguous",
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
