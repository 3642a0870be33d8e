"""A language model whose keys and values can lie in pages: Llama, Qwen2, Qwen3, and two tiny ones.

from kernels.tiny_llm import Engine, SamplingParams, by_hand, load, maps
model = by_hand()                        # set by a function, exact
engine = Engine(model, server, cache)    # over pages, continuously batched
"""

from kernels.tiny_llm.answers import Answer
from kernels.tiny_llm.by_hand import by_hand
from kernels.tiny_llm.checkpoint import CheckpointError, load, save
from kernels.tiny_llm.config import Config
from kernels.tiny_llm.contiguous import Contiguous, generate
from kernels.tiny_llm.engine import Engine
from kernels.tiny_llm.model import Model, causal
from kernels.tiny_llm.sampling import SamplingParams

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
]
