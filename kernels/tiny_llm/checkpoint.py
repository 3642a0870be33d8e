"""Loads a model's folder as Hugging Face writes it: config.json, and weights in safetensors files.

    model = load("Llama-3.2-1B")     # or Qwen2, Qwen3; sharded or not; float32, float16, bfloat16

What this model would compute wrongly is refused by name: unknown model types, windows, quantised
weights, other activations and position encodings. Only files of the folder are read: an index that
names another place is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from pagesim.kernels.tiny_llm import safetensors
from pagesim.kernels.tiny_llm.config import LLAMA3, Config, check_shapes
from pagesim.kernels.tiny_llm.model import Model
from pagesim.kernels.tiny_llm.safetensors import (
    CheckpointError,
    Entry,
    open_file,
    parse_json,
    quoted,
)

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
MAX_JSON, MAX_NUMBER, MAX_LAYERS = 2**24, 2**31, 4096
HEAD, EMBEDDINGS = "lm_head.weight", "model.embed_tokens.weight"

FAMILIES = ("llama", "qwen2", "qwen3")
SHARD = re.compile(r"[A-Za-z0-9_.-]+\.safetensors")


def load(
    folder: str | Path, dtype: torch.dtype = torch.float32, device: str | torch.device = "cpu"
) -> Model:
    """The model in a folder, its weights in `dtype` on `device`.

    Whatever is wrong in the folder raises CheckpointError (a ValueError), which names the file and
    the key or tensor.
    """
    folder = Path(folder)
    config = read_config(folder / CONFIG)
    entries = _entries(folder)
    found = {name: entry.shape for name, entry in entries.items()}
    # Some files repeat the embeddings as the head that they are.
    tied_twice = config.tie_word_embeddings and found.pop(HEAD, None) is not None
    try:
        check_shapes(config, found)
    except ValueError as problem:
        raise CheckpointError(f"{folder}: {problem}") from None
    weights = {name: tensor.to(device, dtype) for name, tensor in safetensors.read_tensors(entries)}
    if tied_twice and not torch.equal(weights.pop(HEAD), weights[EMBEDDINGS]):
        raise CheckpointError(
            f"{folder}: tie_word_embeddings is true, but {HEAD!r} is not {EMBEDDINGS!r}"
        )
    return Model(config, weights)


def save(model: Model, folder: str | Path) -> None:
    """Write a Llama, in the dtype of its weights, as a folder that `load` and transformers read."""
    config = model.config
    if config.model_type != "llama" or config.rope_scaling:
        raise ValueError(f"only a Llama without rope_scaling can be saved, not {config}")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    safetensors.write(folder / WEIGHTS, model.weights)
    fields = asdict(config) | {"architectures": ["LlamaForCausalLM"], "hidden_act": "silu"}
    del fields["output_bias"], fields["qk_norm"]  # a Llama's follow from the rest
    fields["torch_dtype"] = str(model.head.dtype).removeprefix("torch.")
    (folder / CONFIG).write_text(json.dumps(fields, indent=1, sort_keys=True) + "\n")


def read_config(path: Path) -> Config:
    """The `Config` in a config.json, as transformers 4 or 5 wrote it."""
    given = _json(path)
    try:
        return parse_config(given)
    except CheckpointError as problem:
        raise CheckpointError(f"{path}: {problem}") from None


def parse_config(given: Mapping[str, Any]) -> Config:
    """The `Config` of a config.json's keys; CheckpointError names the key and the value.

    A key that is null or absent stands for what transformers takes in its place.
    """
    given = {key: value for key, value in given.items() if value is not None}
    kind = _known("model_type", given.get("model_type"), FAMILIES)
    _refuse(given, kind)

    def whole(key: str, default: int | None = None, most: int = MAX_NUMBER) -> int:
        value = given.get(key, default)
        if type(value) is not int or not 1 <= value <= most:
            raise CheckpointError(
                f"{key} must be a whole number from 1 to {most}, not {quoted(value)}"
            )
        return value

    def flag(key: str) -> bool:
        value = given.get(key, False)
        if type(value) is not bool:
            raise CheckpointError(f"{key} must be true or false, not {quoted(value)}")
        return value

    hidden, heads = whole("hidden_size"), whole("num_attention_heads")
    kv_heads = whole("num_key_value_heads", heads)
    head_dim = whole("head_dim", 128 if kind == "qwen3" else hidden // heads)
    if heads % kv_heads or head_dim % 2:
        raise CheckpointError(
            f"num_attention_heads {heads} must be a multiple of num_key_value_heads {kv_heads}, "
            f"and head_dim {head_dim} of 2"
        )
    rope_theta, rope_scaling = _rope(given)
    return Config(
        model_type=kind,
        num_hidden_layers=whole("num_hidden_layers", most=MAX_LAYERS),
        hidden_size=hidden,
        intermediate_size=whole("intermediate_size"),
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=head_dim,
        vocab_size=whole("vocab_size"),
        rms_norm_eps=_positive("rms_norm_eps", given.get("rms_norm_eps", 1e-6)),
        rope_theta=rope_theta,
        rope_scaling=rope_scaling,
        tie_word_embeddings=flag("tie_word_embeddings"),
        attention_bias=kind == "qwen2" or flag("attention_bias"),
        output_bias=kind != "qwen2" and flag("attention_bias"),
        mlp_bias=kind == "llama" and flag("mlp_bias"),
        qk_norm=kind == "qwen3",
        eos_token_id=_tokens("eos_token_id", given.get("eos_token_id", [])),
    )


def _refuse(given: Mapping[str, Any], kind: str) -> None:
    """Refuse what this model would compute without a word, and wrongly."""
    _known("hidden_act", given.get("hidden_act", "silu"), ("silu",))
    for key in ("dtype", "torch_dtype"):
        _known(key, given.get(key, "float32"), ("float32", "float16", "bfloat16"))
    layers = given.get("layer_types", [])
    for key, refused in {
        "quantization_config": True,
        # The Qwen families write a window that only this flag puts to use.
        "sliding_window": given.get("use_sliding_window", kind == "llama"),
        "layer_types": not isinstance(layers, list) or layers != ["full_attention"] * len(layers),
        "partial_rotary_factor": given.get("partial_rotary_factor") != 1,
    }.items():
        if refused and key in given:
            raise CheckpointError(f"{key} {quoted(given[key])} is not supported")


def _rope(given: Mapping[str, Any]) -> tuple[float, dict[str, float] | None]:
    """Theta and llama3's numbers: transformers 5 keeps both in one key, 4 kept them in two."""
    key = "rope_parameters" if "rope_parameters" in given else "rope_scaling"
    rope = given.get(key, {})
    if not isinstance(rope, dict) or rope.get("partial_rotary_factor", 1) != 1:
        raise CheckpointError(f"{key} {quoted(rope)} is not supported")
    theta = rope.get("rope_theta", given.get("rope_theta", 10000.0))
    kind = rope.get("rope_type", rope.get("type", "default"))
    scaling = None
    if _known("rope_type", kind, ("default", "llama3")) == "llama3":
        scaling = {name: _positive(name, rope.get(name)) for name in LLAMA3}
        if scaling["low_freq_factor"] >= scaling["high_freq_factor"]:
            raise CheckpointError(f"{key}: low_freq_factor must be below high_freq_factor")
    return _positive("rope_theta", theta), scaling


def _entries(folder: Path) -> dict[str, Entry]:
    """Every tensor of the folder's files; the frequencies that old files keep are left out."""
    index = folder / INDEX
    if not index.exists():
        found = safetensors.read_header(folder / WEIGHTS)
    else:
        found = {}
        where = _json(index).get("weight_map")
        if not isinstance(where, dict) or not where:
            raise CheckpointError(f"{index}: weight_map is {quoted(where)}")
        for name, file in where.items():
            if not isinstance(file, str) or not SHARD.fullmatch(file):
                raise CheckpointError(
                    f"{index}: {quoted(name)} is said to be in {quoted(file)}, "
                    "which is not the name of a safetensors file"
                )
        for file in sorted(set(where.values())):
            entries = safetensors.read_header(folder / file)
            told = {name for name, other in where.items() if other == file}
            for name in sorted(told ^ entries.keys()):
                problem = "is missing" if name in told else f"is not in {INDEX}"
                raise CheckpointError(f"{folder / file}: the tensor {quoted(name)} {problem}")
            found |= entries
    return {
        name: entry for name, entry in found.items() if not name.endswith("rotary_emb.inv_freq")
    }


def _json(path: Path) -> dict[str, Any]:
    with open_file(path) as file:
        raw = file.read(MAX_JSON + 1)
    if len(raw) > MAX_JSON:
        raise CheckpointError(f"{path}: longer than {MAX_JSON} bytes")
    return parse_json(path, raw)


def _known(key: str, value: Any, known: tuple[str, ...]) -> str:
    if value not in known:
        raise CheckpointError(f"{key} {quoted(value)} is not supported, only {', '.join(known)}")
    return value


def _positive(key: str, value: Any) -> float:
    if type(value) not in (int, float) or not 0 < value < 1e30:
        raise CheckpointError(f"{key} must be a positive number, not {quoted(value)}")
    return float(value)


def _tokens(key: str, value: Any) -> tuple[int, ...]:
    tokens = value if isinstance(value, list) else [value]
    if not all(type(token) is int and token >= 0 for token in tokens):
        raise CheckpointError(f"{key} must be one token id or a list, not {quoted(value)}")
    return tuple(tokens)
