"""The tensors behind a run: from a model to the header and back."""

from pathlib import Path
from typing import Any

import pytest

import pagesim
from pagesim.errors import UsageError
from pagesim.sizing.model import ModelSpec
from pagesim.timeline.kv_shape import KVShape

LLAMA = KVShape("llama-3.1-8b", 32, 8, 128, 2, "flash")


def story() -> pagesim.Timeline:
    writer = pagesim.Story(gpu_blocks=4, block_size=2)
    writer.arrive("the cat sat")
    return writer.run


@pytest.mark.parametrize("model", ["llama-3.1-8b", ModelSpec.preset("llama-3.1-8b"), LLAMA])
def test_a_model_is_saved_with_the_run(model: Any, tmp_path: Path) -> None:
    run = story().annotate(model=model)
    run.save(tmp_path / "run.jsonl.gz")
    for found in (run, run[1:], pagesim.load(tmp_path / "run.jsonl.gz")):
        assert found.notes.model == LLAMA
    assert run.annotate(title="x").notes.model == LLAMA, "other notes leave it"


def test_keys_and_values_are_saved_with_it(tmp_path: Path) -> None:
    vectors = ((1.0, 2.0), (0.5, -3.25))
    shape = KVShape("tiny", 1, 1, 2, 4, values={(0, 1): vectors, ("a", 0): vectors})
    story().annotate(model=shape).save(tmp_path / "run.jsonl")
    assert pagesim.load(tmp_path / "run.jsonl").notes.model == shape


def test_a_gpu_has_its_share_of_the_heads() -> None:
    assert KVShape.of("llama-3.1-8b", tp=2).kv_heads == 4
    assert KVShape.of("llama-3.1-8b", tp=16).kv_heads == 1


@pytest.mark.parametrize("model", ["deepseek-v3", "jamba-v0.1"])
def test_models_with_other_memory_are_refused(model: str) -> None:
    with pytest.raises(UsageError, match="keys and values in all"):
        story().annotate(model=model)


def test_too_many_numbers_are_refused() -> None:
    vectors = ((0.0,) * 1024,) * 64
    KVShape("big", 32, 8, 128, values={(0, 0): vectors})
    with pytest.raises(UsageError, match="65536 numbers"):
        KVShape("big", 32, 8, 128, values={(0, i): vectors for i in range(2)})


def test_a_wrong_type_is_refused() -> None:
    with pytest.raises(TypeError, match="ModelSpec"):
        story().annotate(model=7)
