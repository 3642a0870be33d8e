"""A model's folder: what loads, and that whatever else is in it ends in one error that names it."""

import json
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

from pagesim.kernels.tiny_llm import CheckpointError, Config, Model, by_hand, load, save
from pagesim.kernels.tiny_llm.checkpoint import CONFIG, INDEX, WEIGHTS
from pagesim.kernels.tiny_llm.config import shapes
from tests.kernels.tiny_llm.test_config_json import EXAMPLES

TINY = Config("llama", 1, 8, 4, 2, 1, 4, 6, eos_token_id=(5, 3))


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


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b"\xff", b'{"a":' * 10**5, b'{"a":1,"a":2}'])
def test_a_config_that_is_not_a_json_object(folder: Path, text: bytes) -> None:
    (folder / CONFIG).write_bytes(text)
    with pytest.raises(CheckpointError, match=f"{CONFIG}: not a JSON object"):
        load(folder)


def test_a_config_that_is_refused_is_named(folder: Path) -> None:
    edit(folder / CONFIG, lambda config: config.update(rope_theta=0))
    with pytest.raises(CheckpointError, match="rope_theta") as raised:
        load(folder)
    assert str(raised.value).startswith(f"{folder / CONFIG}: ")


def test_a_config_of_any_length_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pagesim.kernels.tiny_llm.config_json.MAX_JSON", 50)
    with pytest.raises(CheckpointError, match=f"{CONFIG}: longer than 50 bytes"):
        load(folder)


@pytest.mark.parametrize("name", [CONFIG, WEIGHTS])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(CheckpointError, match=f"{name}: there is no such file"):
        load(folder)


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
