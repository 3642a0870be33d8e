"""A language model whose keys and values can lie in pages: Llama, Qwen2, Qwen3, and two tiny ones.

from kernels.tiny_llm import by_hand, load, maps
model = by_hand()              # set by a function, exact
"""

from kernels.tiny_llm.by_hand import by_hand
from kernels.tiny_llm.checkpoint import CheckpointError, load, save
from kernels.tiny_llm.config import Config
from kernels.tiny_llm.model import Model, causal

__all__ = ["CheckpointError", "Config", "Model", "by_hand", "causal", "load", "save"]
