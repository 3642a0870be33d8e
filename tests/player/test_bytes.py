"""Where the player says the bytes of a word are: beside NumPy's strides of such tensors."""

import json
from typing import Any

import numpy as np
import pytest

import pagesim
from pagesim.sizing.model import PRESETS, ModelSpec
from pagesim.timeline.kv_shape import KVShape
from tests.player import samples
from tests.player.conftest import NodeError

BLOCKS, SIZE, HEADS, DIM = 5, 4, 3, 16


def shaped(layout: str, dtype: type) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """K and V as [block, slot, head, dim], views of tensors in the order of the layout."""
    if layout == "flash":
        one = np.zeros((BLOCKS, SIZE, HEADS, DIM), dtype)
        return one, one
    x = 16 // np.dtype(dtype).itemsize
    key = np.zeros((BLOCKS, HEADS, DIM // x, SIZE, x), dtype).transpose(0, 3, 1, 2, 4)
    return key, np.zeros((BLOCKS, HEADS, DIM, SIZE), dtype).transpose(0, 3, 1, 2)


def bytes_of(tensor: np.ndarray[Any, Any], block: int, slot: int) -> list[int]:
    """The places of all bytes of a slot, by the strides."""
    part = tensor[block, slot]
    places = np.zeros(part.shape, int)
    for axis, stride in enumerate(part.strides):
        steps = np.arange(part.shape[axis]) * stride
        places += steps.reshape([-1 if i == axis else 1 for i in range(part.ndim)])
    first = block * tensor.strides[0] + slot * tensor.strides[1]
    each = (first + places).flatten()[:, None] + np.arange(tensor.itemsize)
    return sorted(each.flatten().tolist())


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("layout", ["flash", "cuda"])
def test_the_bytes_of_a_slot_are_those_of_a_tensor(node: Any, layout: str, dtype: type) -> None:
    model = {"layers": 2, "kv_heads": HEADS, "head_dim": DIM, "bytes": np.dtype(dtype).itemsize}
    places = [(block, slot) for block in range(BLOCKS) for slot in range(SIZE)]
    code = "return given.places.map(([b, s]) => player.runsOf(given.model, given.size, b, s));"
    found = node(code, model=model | {"layout": layout}, size=SIZE, places=places)
    for (block, slot), halves in zip(places, found, strict=True):
        for tensor, runs in zip(shaped(layout, dtype), halves, strict=True):
            starts = [runs["start"] + i * runs["step"] for i in range(runs["count"])]
            mine = [start + i for start in starts for i in range(runs["run"])]
            assert sorted(mine) == bytes_of(tensor, block, slot), (block, slot)
    assert node("return player.allBytes(given.model, given.size);", model=model, size=SIZE) == (
        2 * 2 * shaped(layout, dtype)[0][0].nbytes
    )


def test_the_models_to_choose_from_are_those_of_sizing(node: Any) -> None:
    models = node("return player.modelsOf({});")
    assert {model["layout"] for model in models} == {"flash", "cuda"}
    for model in models:
        spec = PRESETS[model["name"]]
        assert KVShape.of(spec).as_dict() == model | {"layout": "flash"}
        size = node("return player.allBytes(given.model, 1);", model=model)
        assert size == spec.kv_bytes_per_token


@pytest.mark.parametrize(
    "change",
    [
        {"layers": 0},
        {"layers": "2"},
        {"head_dim": 2**40},
        {"kv_heads": None},
        {"layout": "rows"},
        {"layout": "cuda", "head_dim": 4},
        {"name": 7},
        {"values": [[0, 0, [[1.0]]]]},
        {"values": [[0, 0, [["a"] * 8] * 4]]},
    ],
)
def test_a_bad_model_is_refused_by_both_readers(node: Any, change: Any, tmp_path: Any) -> None:
    good = KVShape.of(ModelSpec("tiny", 2, 1, 1, 8)).as_dict()
    head, events = samples.header(2, 0, 2, []), []
    path = tmp_path / "run.jsonl"
    for model in (good, good | change):
        words = json.dumps(head | {"model": model}) + "\n"
        path.write_text(words)
        if model == good:
            assert node("return run.header.model;", words) == good
            assert pagesim.load(path).notes.model == KVShape("tiny", 2, 1, 8)
            continue
        with pytest.raises(NodeError, match="model"):
            node("return run.header;", words)
        with pytest.raises(pagesim.TimelineError, match="model"):
            pagesim.load(path)
    assert events == []


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (320, "320 B"),
        (2048, "2 KiB"),
        (2**21, "2 MiB"),
        (3 * 2**29, "1.5 GiB"),
        (10**15, "909 TiB"),
    ],
)
def test_sizes_in_words(node: Any, size: int, words: str) -> None:
    assert node("return player.sizeText(given.size);", size=size) == words
