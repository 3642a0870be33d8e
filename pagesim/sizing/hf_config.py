"""Reads a `ModelSpec` from a Hugging Face ``config.json``.

Model families name the same values differently. This file knows their names, and refuses configs
that would silently give a wrong answer. Sources: the configuration classes of Hugging Face
transformers, and ``vllm/config.py`` (get_total_num_kv_heads, get_head_size) of vLLM 0.6.4.post1.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pagesim.errors import UsageError
from pagesim.files.jsonl import Json, JsonObject
from pagesim.sizing.hf_layers import (
    FAMILIES,
    FULL,
    READ,
    SLIDING,
    layer_types,
    places,
    read_layers,
)
from pagesim.sizing.hf_values import number, optional, required, short

Model = TypeVar("Model")

MAX_BYTES, MAX_LAYERS = 4 * 2**20, 4096
"""A config takes kilobytes; anything larger is not a config. Each layer costs a list entry."""

NESTED = ("text_config", "llm_config", "language_config")  # where multi-modal models keep it
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
HEADS = ("num_attention_heads", "n_head", "n_heads")
KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num")
HIDDEN = ("hidden_size", "n_embd", "d_model")
LENGTH = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")

# The defaults of transformers' Gemma3TextConfig: Google's files omit these keys.
DEFAULTS: dict[str, JsonObject] = {
    "gemma3_text": {
        "num_hidden_layers": 26,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "sliding_window": 4096,
        "sliding_window_pattern": 6,
        "max_position_embeddings": 131072,
    },
    "gemma2": {"sliding_window": 4096, "sliding_window_pattern": 2},
}
# Each of these means that some layers keep something other than what this reader would count.
UNKNOWN = (
    *("attention_chunk_size", "attn_layer_indices", "attn_layer_period", "block_types"),
    *("compress_ratios", "cross_attention_layers", "full_attention_interval", "global_head_dim"),
    *("hybrid_override_pattern", "index_topk", "layers_block_type", "linear_attn_config"),
    *("mamba_d_state", "num_kv_shared_layers", "ssm_cfg"),
)


def read_config(path: str | Path, make: Callable[..., Model]) -> Model:
    """The model described by the file ``path``, named after its folder or the file itself.

    ``make`` takes the fields of a `ModelSpec`. UsageError names the file, the key and the value;
    OSError if the file cannot be opened.
    """
    file = Path(path)
    with file.open("rb") as opened:
        raw = opened.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise UsageError(f"{file}: longer than {MAX_BYTES} bytes, so it is not a config.json")
    try:
        config = json.loads(raw)
    except (RecursionError, ValueError) as problem:  # also text that is not UTF-8
        raise UsageError(f"{file}: not JSON: {problem}") from problem
    try:
        name = file.stem if file.name != "config.json" else _folder(file)
        return parse_config(config, name, make)
    except RecursionError as problem:  # it could be parsed but not quoted
        raise UsageError(f"{file}: nested too deeply for a config.json") from problem
    except (UsageError, TypeError) as problem:
        raise UsageError(f"{file}: {problem}") from problem


def parse_config(config: Json, name: str, make: Callable[..., Model]) -> Model:
    """The model described by a parsed config; UsageError names the key and the value."""
    if not isinstance(config, dict):
        raise UsageError(f"a config must be a JSON object, not {short(config)}")
    text = _text_part(config)
    model_type = text.get("model_type", "")
    known = DEFAULTS.get(model_type, {}) if isinstance(model_type, str) else {}
    text = known | {key: value for key, value in text.items() if value is not None}
    _refuse_unknown_caches(text, str(model_type))
    heads = required(text, HEADS)
    layers = required(text, LAYERS, MAX_LAYERS)
    kept = read_layers(text, str(model_type), layers)
    sliding = _sliding_layers(text, str(model_type), layers) if kept is None else ()
    return make(
        name,
        layers,
        heads,
        _kv_heads(text, heads),
        _head_dim(text, heads),
        dtype=_dtype(config, text),
        max_model_len=optional(text, LENGTH),
        sliding_window=optional(text, ("sliding_window",)) if sliding else None,
        sliding_layers=sliding,
        kv_lora_rank=optional(text, ("kv_lora_rank",)),
        qk_rope_head_dim=optional(text, ("qk_rope_head_dim",)) if "kv_lora_rank" in text else None,
        source=f"{name}, config.json",
        **(kept or {}),
    )


def _folder(file: Path) -> str:
    return file.resolve().parent.name or file.stem


def _text_part(config: JsonObject) -> JsonObject:
    """The part about the language model: the whole file, or a nested part if multi-modal."""
    for key in NESTED:
        nested = config.get(key)
        if nested is not None:
            if not isinstance(nested, dict):
                raise UsageError(f"{key} must be a JSON object, not {short(nested)}")
            return nested
    return config


def _refuse_unknown_caches(text: JsonObject, model_type: str) -> None:
    if text.get("is_encoder_decoder"):
        raise UsageError("is_encoder_decoder is true: only decoders can be sized")
    for key in UNKNOWN:
        if text.get(key) and not (key in READ and model_type in FAMILIES):
            raise UsageError(
                f"{key} is {short(text[key])}: some layers of this model do not store plain "
                "keys and values for each token, and pagesim does not know how much they store"
            )


def _kv_heads(text: JsonObject, heads: int) -> int:
    """Falcon and StarCoder have multi_query: one head of keys and values for all queries."""
    if text.get("multi_query") is True and not text.get("new_decoder_architecture"):
        return 1
    return optional(text, KV_HEADS) or heads


def _head_dim(text: JsonObject, heads: int) -> int:
    """The size of a head; with latent attention, which caches no heads, that of a value head."""
    latent = ("v_head_dim",) if "kv_lora_rank" in text else ()
    given = optional(text, ("head_dim", "attention_head_dim", *latent))
    if given is not None:
        return given
    hidden = required(text, HIDDEN)
    if hidden % heads:
        raise UsageError(
            f"head_dim is missing, and hidden_size ({hidden}) is not divisible by "
            f"num_attention_heads ({heads}): add head_dim to the file"
        )
    return hidden // heads


def _dtype(config: JsonObject, text: JsonObject) -> str:
    """The dtype of vLLM's ``--dtype auto``: 16 bits, even if the file has 32."""
    for place in (text, config):
        for key in ("torch_dtype", "dtype"):
            value = place.get(key)
            if value is None:
                continue
            kept = value.removeprefix("torch.") if isinstance(value, str) else value
            if kept not in ("float32", "float16", "bfloat16"):
                raise UsageError(f"{key} must be float32, float16 or bfloat16, not {short(value)}")
            return "bfloat16" if kept == "bfloat16" else "float16"
    return "float16"


def _sliding_layers(text: JsonObject, model_type: str, layers: int) -> tuple[int, ...]:
    """The layers with a sliding window, by transformers' rules, the newest rule first.

    A list of layer_types; every ``sliding_window_pattern``-th layer is full (Gemma, Cohere); Qwen's
    switch, and the layers from ``max_window_layers`` on; or, as in Mistral, all layers.
    """
    types, every = layer_types(text, layers, (FULL, SLIDING)), range(layers)
    if types is not None:
        sliding = places(types, SLIDING)
        if sliding:
            required(text, ("sliding_window",))
        return sliding
    switched_on = text.get("use_sliding_window", not model_type.startswith("qwen"))
    if not isinstance(switched_on, bool):
        raise UsageError(f"use_sliding_window must be true or false, not {short(switched_on)}")
    if not switched_on or optional(text, ("sliding_window",)) is None:
        return ()
    pattern = optional(text, ("sliding_window_pattern", "_sliding_window_pattern"))
    if pattern is not None:
        return tuple(layer for layer in every if (layer + 1) % pattern)
    first = text.get("max_window_layers", 0) if model_type.startswith("qwen") else 0
    return tuple(every[0 if first == 0 else number("max_window_layers", first, MAX_LAYERS) :])
