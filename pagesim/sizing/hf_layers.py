"""Reads from a config which layers keep keys and values, which a state, and which nothing.

Sources: the configuration classes of Hugging Face transformers for Llama 4, Qwen3-Next, Qwen3.5,
Jamba and Nemotron-H.
"""

from collections.abc import Callable, Sequence
from typing import Any

from pagesim.errors import UsageError
from pagesim.files.jsonl import Json, JsonObject
from pagesim.sizing.hf_values import number, optional, required, short
from pagesim.sizing.mamba_state import GatedDeltaNet, Mamba1, Mamba2, MambaState

FULL, SLIDING, CHUNKED, LINEAR = (
    *("full_attention", "sliding_attention"),
    *("chunked_attention", "linear_attention"),
)
STATE_DTYPES = ("float32", "float16", "bfloat16")

Fields = dict[str, Any]
"""Fields of a `ModelSpec` by name."""


def read_layers(text: JsonObject, model_type: str, layers: int) -> Fields | None:
    """What the layers of a hybrid model keep; None if the model is of no such family.

    UsageError names the key and the value.
    """
    read = FAMILIES.get(model_type)
    return None if read is None else read(text, layers)


def layer_types(text: JsonObject, layers: int, known: Sequence[str]) -> list[str] | None:
    """The list of ``layer_types``, if the config has one."""
    types = text.get("layer_types")
    if types is None:
        return None
    if not isinstance(types, list) or len(types) != layers:
        raise UsageError(f"layer_types must list all {layers} layers, not {short(types)}")
    for layer, kind in enumerate(types):
        if kind not in known:
            raise UsageError(
                f"layer_types[{layer}] must be {' or '.join(known)}, not {short(kind)}: "
                "pagesim does not know what other layers keep"
            )
    return types


def places(kinds: Sequence[str], *wanted: str) -> tuple[int, ...]:
    """The layers of these kinds."""
    return tuple(layer for layer, kind in enumerate(kinds) if kind in wanted)


def _llama4(text: JsonObject, layers: int) -> Fields:
    """Every fourth layer attends to all tokens and has no rotary positions."""
    chunk = optional(text, ("attention_chunk_size",))
    kinds = layer_types(text, layers, (FULL, CHUNKED))
    if kinds is None:
        every = optional(text, ("no_rope_layer_interval",)) or 4
        rope: Json = text.get("no_rope_layers") or [
            int((layer + 1) % every != 0) for layer in range(layers)
        ]
        if not isinstance(rope, list) or len(rope) != layers:
            raise UsageError(f"no_rope_layers must list all {layers} layers, not {short(rope)}")
        kinds = [CHUNKED if one else FULL for one in rope]
    chunked = places(kinds, CHUNKED) if chunk else ()
    return {"attention_chunk_size": chunk if chunked else None, "chunked_layers": chunked}


def _gated_delta_net(text: JsonObject, layers: int) -> Fields:
    """Qwen3-Next and Qwen3.5: by default every fourth layer has attention."""
    kinds = layer_types(text, layers, (FULL, LINEAR))
    if kinds is None:
        every = optional(text, ("full_attention_interval",)) or 4
        kinds = [LINEAR if (layer + 1) % every else FULL for layer in range(layers)]
    state = GatedDeltaNet(
        required(text, ("linear_conv_kernel_dim",)),
        required(text, ("linear_num_key_heads",)),
        required(text, ("linear_num_value_heads",)),
        required(text, ("linear_key_head_dim",)),
        required(text, ("linear_value_head_dim",)),
    )
    return _states(text, state, places(kinds, LINEAR))


def _jamba(text: JsonObject, layers: int) -> Fields:
    """One layer of each ``attn_layer_period`` has attention, the others a state."""
    kinds = _block_types(text, layers)
    if kinds is None:
        period = required(text, ("attn_layer_period",))
        offset = text.get("attn_layer_offset", 0)
        if offset != 0:
            number("attn_layer_offset", offset, period - 1)
        kinds = ["mamba" if layer % period != offset else "attention" for layer in range(layers)]
    state = Mamba1(
        required(text, ("mamba_d_conv",)),
        required(text, ("mamba_expand",)) * required(text, ("hidden_size",)),
        required(text, ("mamba_d_state",)),
    )
    return _states(text, state, places(kinds, "mamba"))


def _nemotron_h(text: JsonObject, layers: int) -> Fields:
    """A letter for each layer: M has a state, * attention, and the others keep nothing."""
    kinds = _block_types(text, layers)
    if kinds is None:
        pattern = text.get("hybrid_override_pattern")
        letters = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}
        if not isinstance(pattern, str) or len(pattern) != layers or set(pattern) - set(letters):
            raise UsageError(
                f"hybrid_override_pattern must have a letter of {', '.join(letters)} for each of "
                f"the {layers} layers, not {short(pattern)}"
            )
        kinds = [letters[letter] for letter in pattern]
    state = Mamba2(
        required(text, ("conv_kernel",)),
        required(text, ("mamba_num_heads",)),
        required(text, ("mamba_head_dim",)),
        required(text, ("n_groups",)),
        required(text, ("ssm_state_size",)),
    )
    nothing = places(kinds, "mlp", "moe")
    return _states(text, state, places(kinds, "mamba")) | {"layers_without_cache": nothing}


def _block_types(text: JsonObject, layers: int) -> list[str] | None:
    """The list of ``layers_block_type``, if the config has one."""
    kinds, known = text.get("layers_block_type"), ("attention", "mamba", "mlp", "moe")
    if kinds is None:
        return None
    if not isinstance(kinds, list) or len(kinds) != layers:
        raise UsageError(f"layers_block_type must list all {layers} layers, not {short(kinds)}")
    for layer, kind in enumerate(kinds):
        if kind not in known:
            raise UsageError(
                f"layers_block_type[{layer}] must be one of {', '.join(known)}, not {short(kind)}"
            )
    return kinds


def _states(text: JsonObject, state: MambaState, layers: tuple[int, ...]) -> Fields:
    keys = ("mamba_ssm_dtype", "mamba_ssm_cache_dtype")
    dtype = next((text[key] for key in keys if text.get(key) not in (None, "auto")), None)
    if dtype is not None and dtype not in STATE_DTYPES:
        raise UsageError(
            f"mamba_ssm_dtype must be one of {', '.join(STATE_DTYPES)}, not {short(dtype)}"
        )
    return {
        "state": state if layers else None,
        "state_layers": layers,
        "state_dtype": dtype if layers else None,
    }


FAMILIES: dict[str, Callable[[JsonObject, int], Fields]] = {
    "llama4_text": _llama4,
    "qwen3_next": _gated_delta_net,
    "qwen3_5_text": _gated_delta_net,
    "qwen3_5_moe_text": _gated_delta_net,
    "jamba": _jamba,
    "nemotron_h": _nemotron_h,
}
"""By ``model_type``."""

READ = (
    *("attention_chunk_size", "attn_layer_period", "full_attention_interval"),
    *("hybrid_override_pattern", "layers_block_type", "mamba_d_state"),
)
"""Keys that these families have, and that are understood in no other."""
