"""A model's folder: what loads, and that whatever else is in it ends in one error that names it."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from pagesim.kernels.tiny_llm import (
    CheckpointError,
    Config,
    Model,
    by_hand,
    config_json,
    load,
    save,
)
from pagesim.kernels.tiny_llm.checkpoint import CONFIG, INDEX, WEIGHTS
from pagesim.kernels.tiny_llm.config import shapes
from pagesim.kernels.tiny_llm.config_json import FAMILIES, parse_config

TINY = Config("llama", 1, 8, 4, 2, 1, 4, 6, eos_token_id=(5, 3))
EXAMPLES = int(os.environ.get("PAGESIM_LLM_EXAMPLES", "15"))
# The keys that every folder has, as transformers 4 and 5 write them.
GIVEN: dict[str, Any] = {
    "model_type": "llama",
    "num_hidden_layers": 1,
    "hidden_size": 8,
    "intermediate_size": 4,
    "num_attention_heads": 2,
    "vocab_size": 6,
}
SCALING = {
    "factor": 8.0,
    "low_freq_factor": 1,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    generator = torch.Generator().manual_seed(0)
    weights = {n: torch.randn(s, generator=generator) for n, s in shapes(TINY).items()}
    folder = tmp_path_factory.mktemp("tiny")
    save(Model(TINY, weights), folder)
    return folder


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "model"))


def edit(path: Path, change: Callable[[Any], object]) -> None:
    found = json.loads(path.read_text())
    change(found)
    path.write_text(json.dumps(found))


def tensors(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / WEIGHTS)


def shard(folder: Path) -> dict[str, str]:
    """Cut the folder's one file into two; the index's weight_map."""
    found = sorted(tensors(folder).items())
    where = {}
    for i, part in enumerate((found[:5], found[5:]), start=1):
        file = f"model-0000{i}-of-00002.safetensors"
        save_file(dict(part), folder / file)
        where.update(dict.fromkeys(dict(part), file))
    (folder / WEIGHTS).unlink()
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": where}))
    return where


def test_what_was_saved_is_loaded(folder: Path) -> None:
    saved, loaded = tensors(folder), load(folder)
    assert loaded.config == TINY
    assert loaded.weights.keys() == saved.keys()
    assert all(loaded.weights[name].equal(tensor) for name, tensor in saved.items())


def test_shards_are_the_same_model(folder: Path) -> None:
    whole = load(folder).weights
    shard(folder)
    parts = load(folder).weights
    assert parts.keys() == whole.keys() and all(parts[n].equal(w) for n, w in whole.items())


@pytest.mark.parametrize("stored", [torch.float16, torch.bfloat16])
def test_16_bit_files_are_widened_exactly(folder: Path, stored: torch.dtype) -> None:
    half = {name: tensor.to(stored) for name, tensor in tensors(folder).items()}
    save_file(half, folder / WEIGHTS)
    assert all(w.equal(half[name].float()) for name, w in load(folder).weights.items())
    assert all(w.equal(half[name]) for name, w in load(folder, stored).weights.items())


def test_a_model_by_hand_survives_its_folder(tmp_path: Path) -> None:
    model = by_hand()
    save(model, tmp_path)
    loaded = load(tmp_path)
    assert loaded.config == model.config
    assert all(loaded.weights[name].equal(w) for name, w in model.weights.items())


def test_only_a_plain_llama_is_saved(tmp_path: Path) -> None:
    config = replace(TINY, model_type="qwen2", attention_bias=True)
    zeros = {name: torch.zeros(shape) for name, shape in shapes(config).items()}
    with pytest.raises(ValueError, match="only a Llama without rope_scaling"):
        save(Model(config, zeros), tmp_path / "x")
    assert not (tmp_path / "x").exists()


# --- config.json ------------------------------------------------------------------------------


def test_what_is_absent_or_null_is_the_family_s_default() -> None:
    llama = parse_config({**GIVEN, "head_dim": None, "rope_scaling": None, "eos_token_id": None})
    assert llama == Config("llama", 1, 8, 4, 2, 2, 4, 6)
    qwen2 = parse_config({**GIVEN, "model_type": "qwen2", "mlp_bias": True})
    assert (qwen2.attention_bias, qwen2.output_bias, qwen2.mlp_bias) == (True, False, False)
    qwen3 = parse_config({**GIVEN, "model_type": "qwen3", "attention_bias": True})
    assert (qwen3.qk_norm, qwen3.head_dim, qwen3.output_bias) == (True, 128, True)


FULL, SLIDING = "full_attention", "sliding_attention"
GEMMA = {"model_type": "gemma3_text", "num_key_value_heads": 1}
SLIDES = {"model_type": "qwen3", "use_sliding_window": True}
LLAMA3 = {"rope_type": "llama3", **SCALING}
ROPE = {"rope_theta": 5e5, "rope_scaling": SCALING}


@pytest.mark.parametrize(
    ("keys", "fields"),
    [
        # In each form that rope was ever written: by transformers 4, before, and by transformers 5.
        ({"rope_theta": 5e5, "rope_scaling": LLAMA3}, ROPE),
        ({"rope_theta": 5e5, "rope_scaling": {"type": "llama3", **SCALING}}, ROPE),
        ({"rope_parameters": {"rope_theta": 5e5, **LLAMA3}}, ROPE),
        # These are never derived when they are given.
        ({"head_dim": 6, "num_key_value_heads": 1}, {"head_dim": 6, "num_key_value_heads": 1}),
        ({"eos_token_id": 2}, {"eos_token_id": (2,)}),
        ({"eos_token_id": [2, 0]}, {"eos_token_id": (2, 0)}),
        # A window that is not used is none.
        (
            {"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": False}
            | {"max_window_layers": 28, "layer_types": ["full_attention"]},
            {"hidden_size": 8, "sliding_windows": ()},
        ),
        ({"model_type": "mistral", "sliding_window": None}, {"sliding_windows": ()}),
        ({**SLIDES, "sliding_window": None}, {"sliding_windows": ()}),
    ],
)
def test_what_is_given_is_read(keys: dict[str, Any], fields: dict[str, Any]) -> None:
    config = parse_config({**GIVEN, **keys})
    assert {name: getattr(config, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("keys", "windows"),
    [
        ({"model_type": "mistral"}, (4096,) * 4),
        ({"model_type": "mistral", "sliding_window": 8}, (8,) * 4),
        ({**SLIDES, "sliding_window": 8, "max_window_layers": 3}, (0, 0, 0, 8)),
        ({**SLIDES, "sliding_window": 8, "max_window_layers": 0}, (8,) * 4),
        ({**SLIDES, "sliding_window": 8, "layer_types": [FULL, SLIDING] * 2}, (0, 8, 0, 8)),
        ({**GEMMA, "sliding_window": 8, "sliding_window_pattern": 2}, (8, 0, 8, 0)),
        ({**GEMMA, "sliding_window_pattern": 1}, (0,) * 4),
        (GEMMA, (4096,) * 4),
        ({**GEMMA, "sliding_window": 8, "layer_types": [SLIDING, FULL, FULL, FULL]}, (8, 0, 0, 0)),
    ],
)
def test_windows_by_each_familys_rule(keys: dict[str, Any], windows: tuple[int, ...]) -> None:
    assert parse_config({**GIVEN, "num_hidden_layers": 4, **keys}).sliding_windows == windows


def test_gemma_in_the_words_of_transformers_4_and_5() -> None:
    both = {"rope_theta": 2e6, "rope_local_base_freq": 3e4}
    rope = {FULL: {"rope_theta": 2e6, **LLAMA3}, SLIDING: {"rope_theta": 3e4}}
    for keys in ({**both, "rope_scaling": LLAMA3}, {"rope_parameters": rope}):
        config = parse_config({**GIVEN, **GEMMA, **keys})
        assert (config.rope_theta, config.rope_local_theta) == (2e6, 3e4)
        assert config.rope_scaling == SCALING
    absent = {"num_attention_heads": None, "num_key_value_heads": None}
    plain = parse_config({**GIVEN, **GEMMA, **absent})
    assert (plain.rope_theta, plain.rope_local_theta, plain.head_dim) == (1e6, 1e4, 256)
    assert plain.tie_word_embeddings and (
        plain.num_attention_heads,
        plain.query_pre_attn_scalar,
    ) == (8, 256)


REFUSED: dict[str, dict[str, Any]] = {
    "model_type 'gpt2' is not supported, only llama, qwen2, qwen3": {"model_type": "gpt2"},
    "model_type None": {"model_type": None},
    r"model_type \['llama'\]": {"model_type": ["llama"]},
    "hidden_act 'gelu' is not supported, only silu": {"hidden_act": "gelu"},
    "dtype 'float8_e4m3fn' is not supported": {"dtype": "float8_e4m3fn"},
    "torch_dtype 'int8' is not supported": {"torch_dtype": "int8"},
    r"quantization_config {'quant_method': 'awq'} is not": {
        "quantization_config": {"quant_method": "awq"}
    },
    "sliding_window 4096 is not supported": {"sliding_window": 4096},
    "sliding_window must be .* not 0": {"model_type": "mistral", "sliding_window": 0},
    "use_sliding_window must be": {"model_type": "qwen2", "use_sliding_window": 1},
    "max_window_layers must be": {**SLIDES, "max_window_layers": -1},
    r"layer_types \['sliding_attention'\]": {"layer_types": ["sliding_attention"]},
    "layer_types 3": {"layer_types": 3},
    r"layer_types \['full_attention'\] is not": {"model_type": "mistral", "layer_types": [FULL]},
    "layer_types must list 1 layers, not 3": {**GEMMA, "layer_types": 3},
    "layer_types must list 1 layers": {**GEMMA, "layer_types": [FULL, FULL]},
    "layer_types 'chunked_attention'": {**SLIDES, "layer_types": ["chunked_attention"]},
    "sliding_window_pattern must be": {**GEMMA, "sliding_window_pattern": 0},
    "attn_logit_softcapping 50.0 is not": {**GEMMA, "attn_logit_softcapping": 50.0},
    "use_bidirectional_attention True": {**GEMMA, "use_bidirectional_attention": True},
    "hidden_activation 'silu' is not": {**GEMMA, "hidden_activation": "silu"},
    "query_pre_attn_scalar must be": {**GEMMA, "query_pre_attn_scalar": 0},
    "final_logit_softcapping must be": {**GEMMA, "final_logit_softcapping": -1},
    "rope_local_base_freq must be": {**GEMMA, "rope_local_base_freq": 0},
    "rope_type 'linear' is not": {**GEMMA, "rope_scaling": {"rope_type": "linear", "factor": 8}},
    r"rope_parameters {'full_att": {"rope_parameters": {FULL: {}, SLIDING: {}}},
    r"rope_parameters {'sliding_att": {**GEMMA, "rope_parameters": {SLIDING: {}}},
    r"rope_parameters {'rope_type': 'llama3'": {
        **GEMMA,
        "rope_parameters": {FULL: {}, SLIDING: {"rope_type": "llama3", **SCALING}},
    },
    "model_type 'gemma3' is not supported": {"model_type": "gemma3"},
    "partial_rotary_factor 0.5": {"partial_rotary_factor": 0.5},
    "rope_type 'yarn' is not supported, only default, llama3": {"rope_scaling": {"type": "yarn"}},
    "rope_type 'linear'": {"rope_parameters": {"rope_type": "linear", "factor": 2}},
    "rope_parameters {'partial_rot": {"rope_parameters": {"partial_rotary_factor": 0.5}},
    "rope_scaling 'llama3'": {"rope_scaling": "llama3"},
    "factor must be a positive number, not None": {"rope_scaling": {"rope_type": "llama3"}},
    "factor must be a positive number, not -8": {"rope_scaling": {**LLAMA3, "factor": -8}},
    "low_freq_factor must be below": {"rope_scaling": {**LLAMA3, "low_freq_factor": 4}},
    "rope_theta must be a positive number, not 0": {"rope_theta": 0},
    "rms_norm_eps must be a positive number, not '1e-6'": {"rms_norm_eps": "1e-6"},
    "rms_norm_eps must be a positive number, not nan": {"rms_norm_eps": float("nan")},
    "num_hidden_layers must be a whole number from 1 to 4096": {"num_hidden_layers": 10**9},
    "hidden_size must be a whole number from 1 to 2147483648, not 8.0": {"hidden_size": 8.0},
    "vocab_size must be .* not True": {"vocab_size": True},
    "intermediate_size must be .* not None": {"intermediate_size": None},
    "num_attention_heads 2 must be a multiple of num_key_value_heads 3": {"num_key_value_heads": 3},
    "and head_dim 3 of 2": {"head_dim": 3},
    "tie_word_embeddings must be true or false, not 1": {"tie_word_embeddings": 1},
    r"eos_token_id must be one token id or a list, not \[-1\]": {"eos_token_id": [-1]},
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_would_be_computed_wrongly_is_refused_by_name(folder: Path, message: str) -> None:
    (folder / CONFIG).write_text(json.dumps({**GIVEN, **REFUSED[message]}))
    with pytest.raises(CheckpointError, match=message) as raised:
        load(folder)
    assert str(raised.value).startswith(f"{folder / CONFIG}: ")


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b"\xff", b'{"a":' * 10**5, b'{"a":1,"a":2}'])
def test_a_config_that_is_not_a_json_object(folder: Path, text: bytes) -> None:
    (folder / CONFIG).write_bytes(text)
    with pytest.raises(CheckpointError, match=f"{CONFIG}: not a JSON object"):
        load(folder)


def test_a_config_of_any_length_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_json, "MAX_JSON", 50)
    with pytest.raises(CheckpointError, match=f"{CONFIG}: longer than 50 bytes"):
        load(folder)


@pytest.mark.parametrize("name", [CONFIG, WEIGHTS])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(CheckpointError, match=f"{name}: there is no such file"):
        load(folder)


# --- weights ----------------------------------------------------------------------------------

NORM, HEAD, EMBEDDINGS = "model.norm.weight", "lm_head.weight", "model.embed_tokens.weight"
NOT_TIED = rf"{HEAD!r} is not {EMBEDDINGS!r}"


def test_frequencies_that_old_files_keep_are_not_needed(folder: Path) -> None:
    old = {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(2)}
    save_file(tensors(folder) | old, folder / WEIGHTS)
    assert load(folder).weights.keys() == shapes(TINY).keys()


def test_a_tied_head_may_be_in_the_file_if_it_is_the_embeddings(folder: Path) -> None:
    edit(folder / CONFIG, lambda config: config.update(tie_word_embeddings=True))
    with pytest.raises(CheckpointError, match=NOT_TIED):
        load(folder)
    found = tensors(folder)
    found[HEAD] = found[EMBEDDINGS].clone()
    save_file(found, folder / WEIGHTS)
    assert HEAD not in load(folder).weights
    for shape in ((2, 2), (0, 8), ()):
        found[HEAD] = torch.ones(shape)
        save_file(found, folder / WEIGHTS)
        with pytest.raises(CheckpointError, match=NOT_TIED):
            load(folder)


@pytest.mark.parametrize(
    "file", ["../x.safetensors", "/etc/passwd", "a/b.safetensors", "..\\x.safetensors", "..", 7]
)
def test_nothing_outside_the_folder_is_read(folder: Path, file: object) -> None:
    shutil.copy(folder / WEIGHTS, folder.parent / "x.safetensors")
    shard(folder)
    edit(folder / INDEX, lambda index: index["weight_map"].update({NORM: file}))
    message = "'model.norm.weight' is said to be in .*, which is not the name of a safetensors file"
    with pytest.raises(CheckpointError, match=message):
        load(folder)


def test_an_index_and_its_files_agree(folder: Path) -> None:
    first = shard(folder)[HEAD]
    edit(folder / INDEX, lambda index: index["weight_map"].pop(HEAD))
    with pytest.raises(CheckpointError, match=f"{first}: the tensor 'lm_head.weight' is not in"):
        load(folder)
    edit(folder / INDEX, lambda i: i["weight_map"].update({HEAD: first, "model.more": first}))
    with pytest.raises(CheckpointError, match=f"{first}: the tensor 'model.more' is missing"):
        load(folder)
    (folder / first).unlink()
    with pytest.raises(CheckpointError, match=f"{first}: there is no such file"):
        load(folder)


@pytest.mark.parametrize("where", [None, {}, [], "model.safetensors"])
def test_an_index_without_a_map(folder: Path, where: object) -> None:
    (folder / INDEX).write_text(json.dumps({"weight_map": where}))
    with pytest.raises(CheckpointError, match=f"{INDEX}: weight_map is"):
        load(folder)


# --- fuzz -------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=5,
)
KEYS = [
    *GIVEN, "num_key_value_heads", "head_dim", "rms_norm_eps", "rope_theta", "rope_scaling",
    "rope_parameters", "tie_word_embeddings", "attention_bias", "mlp_bias", "hidden_act", "dtype",
    "layer_types", "sliding_window", "use_sliding_window", "eos_token_id", "quantization_config",
    "hidden_activation", "rope_local_base_freq", "sliding_window_pattern", "max_window_layers",
    "query_pre_attn_scalar", "final_logit_softcapping", "attn_logit_softcapping",
]  # fmt: skip
ROPES = st.dictionaries(
    st.sampled_from(["type", "rope_type", "rope_theta", *SCALING]),
    JSON | st.just("llama3") | st.floats(0.5, 100),
)


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    changes=st.dictionaries(st.sampled_from(KEYS), JSON | ROPES, max_size=3),
    family=st.sampled_from(FAMILIES),
)
def test_any_config_is_a_config_or_an_error(changes: dict[str, Any], family: str) -> None:
    try:
        config = parse_config({**GIVEN, "model_type": family, **changes})
    except CheckpointError as problem:
        assert any(key in str(problem) for key in [*KEYS, *SCALING, "rope_type"])
    else:
        assert isinstance(config, Config) and shapes(config)


@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data())
def test_any_damage_of_a_folder_is_a_model_or_an_error(
    original: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.getbasetemp() / "damaged"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(original, folder)
    if data.draw(st.booleans(), label="sharded"):
        shard(folder)
    path = data.draw(st.sampled_from(sorted(folder.iterdir())), label="file")
    raw = bytearray(path.read_bytes())
    # Most bytes of a weight file are numbers, of which every value is one.
    at = data.draw(st.integers(0, min(len(raw), 700) - 1), label="at")
    raw[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    path.write_bytes(raw)
    try:
        model = load(folder)
    except CheckpointError as problem:
        assert str(folder) in str(problem)
    else:
        assert {n: tuple(w.shape) for n, w in model.weights.items()} == shapes(model.config)


def test_a_message_is_short_whatever_the_names_of_the_tensors(folder: Path) -> None:
    found = tensors(folder)
    save_file(found | {"a" * 100_000: torch.ones(1)}, folder / WEIGHTS)
    with pytest.raises(CheckpointError, match="the tensor 'aaaa") as raised:
        load(folder)
    assert str(folder) in str(raised.value) and len(str(raised.value)) <= 1_000
