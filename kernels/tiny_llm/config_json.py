"""Reads config.json, and refuses by name what this model would compute wrongly.

That is: unknown model types, quantised weights, other activations, other position encodings.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pagesim.kernels.tiny_llm.config import LLAMA3, Config

MAX_JSON, MAX_NUMBER, MAX_LAYERS = 2**24, 2**31, 4096
# Of Gemma 3 the models without pictures.
FAMILIES = ("llama", "qwen2", "qwen3", "mistral", "gemma3_text")
ACTIVATIONS = ("hidden_act", "silu"), ("hidden_activation", "gelu_pytorch_tanh")
FULL, SLIDING = "full_attention", "sliding_attention"
# What transformers takes for keys that are absent.
GEMMA3 = {
    "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
    "query_pre_attn_scalar": 256, "tie_word_embeddings": True,
    "rope_theta": 1e6, "rope_local_base_freq": 1e4, "sliding_window_pattern": 6,
}  # fmt: skip
Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
"""What JSON can hold."""
Words = Mapping[str, Any]
"""An object of JSON as it was read: none of its values has been checked."""


class CheckpointError(ValueError):
    """A folder or file is no readable model; the message names the file, part and value."""

    def __init__(self, message: str) -> None:
        super().__init__(message if len(message) <= 1_000 else f"{message[:997]}...")


def read_json(path: Path) -> Words:
    """Read the JSON object of a plain file, with unique keys; CheckpointError for anything else."""
    with plain_file(path), path.open("rb") as file:
        raw = file.read(MAX_JSON + 1)
    if len(raw) > MAX_JSON:
        raise CheckpointError(f"{path}: longer than {MAX_JSON} bytes")
    try:
        found = json.loads(raw, object_pairs_hook=_unique)
    except (RecursionError, ValueError) as problem:  # also text that is not UTF-8
        raise CheckpointError(f"{path}: not a JSON object: {problem}") from problem
    if not isinstance(found, dict):
        raise CheckpointError(f"{path}: not a JSON object, but {quoted(found)}")
    return found


@contextmanager
def plain_file(path: Path) -> Iterator[None]:
    """Raise CheckpointError for anything but a file: reading a pipe could wait forever."""
    try:
        if not path.is_file():
            raise CheckpointError(f"{path}: there is no such file")
        yield
    except OSError as problem:
        raise CheckpointError(f"{path}: {problem.strerror or problem}") from problem


def quoted(value: Json) -> str:
    """Return a value of a file, shortened for a message."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deeply, or a number of thousands of digits
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def read_config(path: Path) -> Config:
    """Read the `Config` of a config.json written by transformers 4 or 5."""
    given = read_json(path)
    try:
        return parse_config(given)
    except CheckpointError as problem:
        raise CheckpointError(f"{path}: {problem}") from None


def parse_config(given: Words) -> Config:
    """Make the `Config` from a config.json's keys; CheckpointError names a bad key and value.

    A key that is null or absent has the default of transformers.
    """
    window = given.get("sliding_window", 4096)
    given = {key: value for key, value in given.items() if value is not None}
    kind = _known("model_type", given.get("model_type"), FAMILIES)
    gemma = kind == "gemma3_text"
    given = GEMMA3 | given if gemma else given
    slides = gemma or kind == "mistral" or (kind != "llama" and _flag(given, "use_sliding_window"))
    _refuse(given, kind, slides)
    names = "hidden_size", "intermediate_size", "num_attention_heads", "vocab_size"
    sizes: dict[str, Any] = {name: _whole(given, name) for name in names}
    heads = sizes["num_attention_heads"]
    kv_heads = _whole(given, "num_key_value_heads", heads)
    head_dim = _whole(given, "head_dim", 128 if kind == "qwen3" else sizes["hidden_size"] // heads)
    if heads % kv_heads or head_dim % 2:
        raise CheckpointError(
            f"num_attention_heads {heads} must be a multiple of num_key_value_heads {kv_heads}, "
            f"and head_dim {head_dim} of 2"
        )
    layers = _whole(given, "num_hidden_layers", most=MAX_LAYERS)
    slides = slides and (gemma or window is not None)
    bias = _flag(given, "attention_bias")
    return Config(
        model_type=kind,
        num_hidden_layers=layers,
        num_key_value_heads=kv_heads,
        head_dim=head_dim,
        **sizes,
        rms_norm_eps=_positive(given, "rms_norm_eps", 1e-6),
        tie_word_embeddings=_flag(given, "tie_word_embeddings"),
        attention_bias=bias or kind == "qwen2",  # always there, and in no other projection
        output_bias=bias and kind != "qwen2",
        mlp_bias=kind == "llama" and _flag(given, "mlp_bias"),
        qk_norm=gemma or kind == "qwen3",
        eos_token_id=_tokens(given),
        sliding_windows=_windows(given, kind, range(layers)) if slides else (),
        gemma=gemma,
        **(_of_gemma(given) if gemma else _rope(given)),
    )


def _check(right: bool, key: str, words: str, value: Json) -> None:
    if not right:
        raise CheckpointError(f"{key} must {words}, not {quoted(value)}")


def _whole(
    given: Words, key: str, default: int | None = None, most: int = MAX_NUMBER, least: int = 1
) -> int:
    value = given.get(key, default)
    right = type(value) is int and least <= value <= most
    _check(right, key, f"be a whole number from {least} to {most}", value)
    return int(value)


def _flag(given: Words, key: str) -> bool:
    value = given.get(key, False)
    _check(type(value) is bool, key, "be true or false", value)
    return bool(value)


def _positive(given: Words, key: str, default: float | None = None) -> float:
    value = given.get(key, default)
    right = type(value) in (int, float) and 0 < value < 1e30
    _check(right, key, "be a positive number", value)
    return float(value)


def _known(key: str, value: Json, known: tuple[str, ...]) -> str:
    if value not in known:
        raise CheckpointError(f"{key} {quoted(value)} is not supported, only {', '.join(known)}")
    return str(value)


def _tokens(given: Words) -> tuple[int, ...]:
    value = given.get("eos_token_id", [])
    tokens = value if isinstance(value, list) else [value]
    right = all(type(token) is int and token >= 0 for token in tokens)
    _check(right, "eos_token_id", "be one token id or a list", value)
    return tuple(tokens)


def _refuse(given: Words, kind: str, slides: bool) -> None:
    """Refuse what this model would compute without a word, and wrongly."""
    act, name = ACTIVATIONS[kind == "gemma3_text"]
    _known(act, given.get(act, name), (name,))
    for key in ("dtype", "torch_dtype"):
        _known(key, given.get(key, "float32"), ("float32", "float16", "bfloat16"))
    layers = given.get("layer_types", [])
    full = isinstance(layers, list) and layers == [FULL] * len(layers)
    for key, refused in {
        "quantization_config": True,
        # The Qwen families write a window that only use_sliding_window puts to use.
        "sliding_window": kind == "llama",
        "layer_types": kind == "mistral" or not (full or slides),
        "attn_logit_softcapping": kind == "gemma3_text",
        "use_bidirectional_attention": given.get("use_bidirectional_attention") is not False,
        "partial_rotary_factor": given.get("partial_rotary_factor") != 1,
    }.items():
        if refused and key in given:
            raise CheckpointError(f"{key} {quoted(given[key])} is not supported")


def _windows(given: Words, kind: str, layers: range) -> tuple[int, ...]:
    """Each layer's window: of the layers that a list names, or by the family's own rule."""
    window = _whole(given, "sliding_window", 4096)
    if (types := given.get("layer_types")) is not None:
        right = isinstance(types, list) and len(types) == len(layers)
        _check(right, "layer_types", f"list {len(layers)} layers", types)
        slides = [_known("layer_types", each, (FULL, SLIDING)) == SLIDING for each in types]
    elif kind == "gemma3_text":
        pattern = _whole(given, "sliding_window_pattern")
        slides = [(layer + 1) % pattern > 0 for layer in layers]
    else:
        first = 0 if kind == "mistral" else _whole(given, "max_window_layers", 28, least=0)
        slides = [layer >= first for layer in layers]
    return tuple(window * slide for slide in slides)


def _of_gemma(given: Words) -> dict[str, Any]:
    """The fields that only Gemma has, and its two ropes: layers with a window have their own."""
    scales = ("query_pre_attn_scalar", "final_logit_softcapping")
    own = {name: _positive(given, name) for name in scales if name in given}
    base, local = _positive(given, "rope_local_base_freq"), {}
    both = given.get("rope_parameters")
    if isinstance(both, dict) and {FULL, SLIDING} <= both.keys():
        given, local = {**given, "rope_parameters": both[FULL]}, both[SLIDING]
    rope = _rope({"rope_theta": base, "rope_parameters": local})
    if rope["rope_scaling"] is not None:
        raise CheckpointError(f"rope_parameters {quoted(local)} is not supported")
    return own | _rope(given) | {"rope_local_theta": rope["rope_theta"]}


def _rope(given: Words) -> dict[str, Any]:
    """Theta and llama3's numbers: transformers 5 keeps both in one key, 4 kept them in two."""
    key = "rope_parameters" if "rope_parameters" in given else "rope_scaling"
    rope = given.get(key, {})
    by_kind = isinstance(rope, dict) and {FULL, SLIDING} & rope.keys()
    if not isinstance(rope, dict) or rope.get("partial_rotary_factor", 1) != 1 or by_kind:
        raise CheckpointError(f"{key} {quoted(rope)} is not supported")
    kind = rope.get("rope_type", rope.get("type", "default"))
    scaling = None
    if _known("rope_type", kind, ("default", "llama3")) == "llama3":
        scaling = {name: _positive(rope, name) for name in LLAMA3}
        if scaling["low_freq_factor"] >= scaling["high_freq_factor"]:
            raise CheckpointError(f"{key}: low_freq_factor must be below high_freq_factor")
    theta = _positive({"rope_theta": 1e4, **given, **rope}, "rope_theta")
    return {"rope_theta": theta, "rope_scaling": scaling}


def _unique(pairs: list[tuple[str, Any]]) -> Words:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"{quoted(twice)} twice")
    return found
