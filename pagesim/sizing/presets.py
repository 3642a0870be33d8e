"""Models that are known by name: the numbers of their published configs, with the source."""

from __future__ import annotations

from difflib import get_close_matches
from functools import partial

from pagesim.errors import UsageError
from pagesim.model_spec import ModelSpec

_OPT_PAPER = "Zhang et al., OPT, arXiv 2205.01068, table 1"


def _hub(repository: str) -> str:
    return f"huggingface.co/{repository}, config.json"


# OPT: every head has its own keys and values, of 128 numbers, in 16 bits, over 2048 positions.
_opt = partial(ModelSpec, head_dim=128, dtype="float16", max_model_len=2048, source=_OPT_PAPER)

_MODELS = (
    ModelSpec("qwen2-1.5b", 28, 12, 2, 128, max_model_len=131072, source=_hub("Qwen/Qwen2-1.5B")),
    ModelSpec("qwen3-0.6b", 28, 16, 8, 128, max_model_len=40960, source=_hub("Qwen/Qwen3-0.6B")),
    ModelSpec(
        "llama-2-7b",
        32,
        32,
        32,
        128,
        dtype="float16",
        max_model_len=4096,
        source=_hub("meta-llama/Llama-2-7b-hf"),
    ),
    ModelSpec(
        "llama-3.1-8b", 32, 32, 8, 128, max_model_len=131072, source=_hub("meta-llama/Llama-3.1-8B")
    ),
    ModelSpec(
        "llama-3.1-70b",
        80,
        64,
        8,
        128,
        max_model_len=131072,
        source=_hub("meta-llama/Llama-3.1-70B"),
    ),
    ModelSpec(
        "mistral-7b",
        32,
        32,
        8,
        128,
        max_model_len=32768,
        sliding_window=4096,
        sliding_layers=tuple(range(32)),
        source=_hub("mistralai/Mistral-7B-v0.1"),
    ),
    ModelSpec(
        "gemma-2-9b",
        42,
        16,
        8,
        256,
        max_model_len=8192,
        sliding_window=4096,
        sliding_layers=tuple(range(0, 42, 2)),
        source=_hub("google/gemma-2-9b-it"),
    ),
    ModelSpec(
        "gemma-3-27b",
        62,
        32,
        16,
        128,
        max_model_len=131072,
        sliding_window=1024,
        sliding_layers=tuple(layer for layer in range(62) if layer % 6 != 5),
        source=_hub("google/gemma-3-27b-it"),
    ),
    ModelSpec(
        "deepseek-v2-lite",
        27,
        16,
        16,
        128,
        max_model_len=163840,
        kv_lora_rank=512,
        qk_rope_head_dim=64,
        source=_hub("deepseek-ai/DeepSeek-V2-Lite"),
    ),
    ModelSpec(
        "deepseek-v3",
        61,
        128,
        128,
        128,
        max_model_len=163840,
        kv_lora_rank=512,
        qk_rope_head_dim=64,
        source=_hub("deepseek-ai/DeepSeek-V3"),
    ),
    _opt("opt-13b", 40, 40, 40),
    _opt("opt-66b", 64, 72, 72),
    _opt("opt-175b", 96, 96, 96),
)

PRESETS = {model.name: model for model in _MODELS}
"""The models by name, in lower case."""


def find_preset(name: str) -> ModelSpec:
    """The model of this name, in any case; the owner may stand before it ("Qwen/Qwen2-1.5B").

    UsageError for an unknown one, with the nearest names.
    """
    wanted = name.strip().lower().rpartition("/")[2]
    if wanted in PRESETS:
        return PRESETS[wanted]
    near = get_close_matches(wanted, PRESETS, n=3, cutoff=0.4)
    known = f"the nearest are {', '.join(near)}" if near else f"there are {', '.join(PRESETS)}"
    raise UsageError(
        f"no preset is called {name!r}; {known}. Any other model: its config.json (--config PATH, "
        "or ModelSpec.from_config)"
    )
