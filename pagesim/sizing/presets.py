"""Models known by name: the numbers of their published configs, with the source."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from pagesim.errors import UsageError
from pagesim.files.jsonl import JsonObject
from pagesim.sizing.mamba_state import GatedDeltaNet, Mamba1, Mamba2, MambaState


def _model(
    repository: str, layers: int, heads: int, kv_heads: int, head_dim: int, length: int, **more: Any
) -> JsonObject:
    """The fields of a `ModelSpec` in the order of a config."""
    return {
        "num_layers": layers,
        "num_heads": heads,
        "num_kv_heads": kv_heads,
        "head_dim": head_dim,
        "max_model_len": length,
        "source": f"huggingface.co/{repository}, config.json",
    } | more


def _windows(window: int, layers: int, every: int = 0) -> JsonObject:
    """Every ``every``-th layer attends to all tokens (0: none), the others to so many."""
    sliding = tuple(layer for layer in range(layers) if not every or (layer + 1) % every)
    return {"sliding_window": window, "sliding_layers": sliding}


def _chunks(chunk: int, layers: int, every: int) -> JsonObject:
    """Every ``every``-th layer attends to all tokens, the others to their chunk of so many."""
    chunked = tuple(layer for layer in range(layers) if (layer + 1) % every)
    return {"attention_chunk_size": chunk, "chunked_layers": chunked}


def _states(state: MambaState, layers: Iterable[int], **more: Any) -> JsonObject:
    """These layers keep a state."""
    return {"state": state, "state_layers": tuple(layers)} | more


def _opt(layers: int, heads: int) -> JsonObject:
    """Every head has its own keys and values, of 128 numbers, in 16 bits, over 2048 positions."""
    paper = "Zhang et al., OPT, arXiv 2205.01068, table 1"
    return _model("", layers, heads, heads, 128, 2048, dtype="float16", source=paper)


LATENT = {"kv_lora_rank": 512, "qk_rope_head_dim": 64}
GDN = GatedDeltaNet(4, num_k_heads=16, num_v_heads=32, head_k_dim=128, head_v_dim=128)
NEMOTRON_H = "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"
"""What its layers are: M a state, * attention."""

MODELS: dict[str, JsonObject] = {
    "qwen2-1.5b": _model("Qwen/Qwen2-1.5B", 28, 12, 2, 128, 131072),
    "qwen3-0.6b": _model("Qwen/Qwen3-0.6B", 28, 16, 8, 128, 40960),
    "qwen3-8b": _model("Qwen/Qwen3-8B", 36, 32, 8, 128, 40960),
    "qwen3-32b": _model("Qwen/Qwen3-32B", 64, 64, 8, 128, 40960),
    "qwen3-30b-a3b": _model("Qwen/Qwen3-30B-A3B", 48, 32, 4, 128, 40960),
    "llama-2-7b": _model("meta-llama/Llama-2-7b-hf", 32, 32, 32, 128, 4096, dtype="float16"),
    "llama-3.1-8b": _model("meta-llama/Llama-3.1-8B", 32, 32, 8, 128, 131072),
    "llama-3.1-70b": _model("meta-llama/Llama-3.1-70B", 80, 64, 8, 128, 131072),
    "llama-3.3-70b": _model("meta-llama/Llama-3.3-70B-Instruct", 80, 64, 8, 128, 131072),
    "mistral-7b": _model("mistralai/Mistral-7B-v0.1", 32, 32, 8, 128, 32768, **_windows(4096, 32)),
    "mixtral-8x7b": _model("mistralai/Mixtral-8x7B-v0.1", 32, 32, 8, 128, 32768),
    "gemma-2-9b": _model("google/gemma-2-9b-it", 42, 16, 8, 256, 8192, **_windows(4096, 42, 2)),
    "gemma-3-4b": _model("google/gemma-3-4b-it", 34, 8, 4, 256, 131072, **_windows(1024, 34, 6)),
    "gemma-3-12b": _model("google/gemma-3-12b-it", 48, 16, 8, 256, 131072, **_windows(1024, 48, 6)),
    "gemma-3-27b": _model(
        "google/gemma-3-27b-it", 62, 32, 16, 128, 131072, **_windows(1024, 62, 6)
    ),
    "gpt-oss-20b": _model("openai/gpt-oss-20b", 24, 64, 8, 64, 131072, **_windows(128, 24, 2)),
    "gpt-oss-120b": _model("openai/gpt-oss-120b", 36, 64, 8, 64, 131072, **_windows(128, 36, 2)),
    "llama-4-scout": _model(
        "meta-llama/Llama-4-Scout-17B-16E-Instruct",
        *(48, 40, 8, 128, 10485760),
        **_chunks(8192, 48, 4),
    ),
    "qwen3-next-80b": _model(
        "Qwen/Qwen3-Next-80B-A3B-Instruct",
        *(48, 16, 2, 256, 262144),
        **_states(GDN, (layer for layer in range(48) if (layer + 1) % 4)),
    ),
    "qwen3.5-9b": _model(
        "Qwen/Qwen3.5-9B",
        *(32, 16, 4, 256, 262144),
        **_states(GDN, (layer for layer in range(32) if (layer + 1) % 4), state_dtype="float32"),
    ),
    "jamba-v0.1": _model(
        "ai21labs/Jamba-v0.1",
        *(32, 32, 8, 128, 262144),
        **_states(Mamba1(4, 8192, 16), (layer for layer in range(32) if layer % 8 != 4)),
    ),
    "nemotron-h-8b": _model(
        "nvidia/Nemotron-H-8B-Base-8K",
        *(52, 32, 8, 128, 8192),
        layers_without_cache=tuple(i for i, kind in enumerate(NEMOTRON_H) if kind == "-"),
        **_states(
            Mamba2(4, num_heads=128, head_dim=64, n_groups=8, state_size=128),
            (i for i, kind in enumerate(NEMOTRON_H) if kind == "M"),
        ),
    ),
    "deepseek-v2-lite": _model("deepseek-ai/DeepSeek-V2-Lite", 27, 16, 16, 128, 163840, **LATENT),
    "deepseek-v3": _model("deepseek-ai/DeepSeek-V3", 61, 128, 128, 128, 163840, **LATENT),
    "opt-13b": _opt(40, 40),
    "opt-66b": _opt(64, 72),
    "opt-175b": _opt(96, 96),
}
"""By name, in lower case: the fields of a `ModelSpec`."""


def preset_name(name: str) -> str:
    """The key in MODELS for a name in any case, with or without the owner.

    "Qwen/Qwen2-1.5B" is "qwen2-1.5b". UsageError for an unknown name lists the nearest ones.
    """
    wanted = name.strip().lower().rpartition("/")[2]
    if wanted in MODELS:
        return wanted
    near = get_close_matches(wanted, MODELS, n=3, cutoff=0.4)
    known = f"the nearest are {', '.join(near)}" if near else f"there are {', '.join(MODELS)}"
    raise UsageError(
        f"unknown preset {name!r}; {known}. For any other model, give its config.json (--config "
        "PATH, or ModelSpec.from_config)"
    )
