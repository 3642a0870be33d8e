"""Files of weights, which the package safetensors reads: that nothing in one is believed."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from pagesim.kernels.tiny_llm import CheckpointError
from pagesim.kernels.tiny_llm.weight_files import opened, read_shapes

TENSORS = {
    "a": torch.arange(6.0).reshape(2, 3),
    "b.weight": torch.tensor([1.5, -2.0], dtype=torch.float16),
    "c": torch.tensor([[0.1], [3e38]], dtype=torch.bfloat16),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    save_file(TENSORS, tmp_path / "x.safetensors")
    return tmp_path / "x.safetensors"


def lie(file: Path, change: Callable[[dict[str, Any]], object], text: bytes = b"") -> None:
    """Rewrite the header of a file; `change` gets it as a dict."""
    raw = file.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    change(header)
    text = text or json.dumps(header).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + raw[8 + length :])


def test_every_dtype_is_read_bit_for_bit_into_memory_of_its_own(file: Path) -> None:
    with opened(file) as tensors:
        read = {name: tensors.get_tensor(name) for name in read_shapes(file)}
    file.write_bytes(bytes(file.stat().st_size))
    assert read.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert read[name].dtype == tensor.dtype and read[name].equal(tensor)


def test_a_file_that_shrinks_while_it_is_read(file: Path) -> None:
    with pytest.raises(CheckpointError, match=f"{file}: .*tensor a"), opened(file) as tensors:
        os.truncate(file, 100)
        tensors.get_tensor("a")


# The package finds most lies itself; what it takes for good and we cannot read is refused by us.
LIES: dict[str, Callable[[dict[str, Any]], object]] = {
    "'a' has dtype 'U32'": lambda h: h["a"].update(dtype="U32"),
    "not fully covered": lambda h: h.pop("b.weight"),
    "overflow": lambda h: h["a"].update(shape=[2**40, 2**40]),
}


@pytest.mark.parametrize("message", LIES)
def test_a_lying_header_is_an_error_that_names_the_file(file: Path, message: str) -> None:
    lie(file, LIES[message])
    with pytest.raises(CheckpointError, match=message) as raised:
        read_shapes(file)
    assert str(raised.value).startswith(f"{file}: ")


@pytest.mark.parametrize(
    "text", [b"[1, 2]", b"{" * 5000, b"[" * 200_000, b"\xff\xfe{}", b'{"a": ' + b"9" * 5000 + b"}"]
)
def test_a_header_that_is_not_a_json_object(file: Path, text: bytes) -> None:
    lie(file, dict, text)
    with pytest.raises(CheckpointError, match=f"{file}: "):
        read_shapes(file)


@pytest.mark.parametrize("length", [0, 1, 5000, 2**40, 2**64 - 1])
def test_no_more_is_read_than_there_is(file: Path, length: int) -> None:
    file.write_bytes(length.to_bytes(8, "little") + file.read_bytes()[8:])
    with pytest.raises(CheckpointError, match=f"{file}: "):
        read_shapes(file)


def test_a_folder_or_a_pipe_in_place_of_a_file(tmp_path: Path) -> None:
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")  # opening it would wait for a writer
    for path in (tmp_path, tmp_path / "nothing", tmp_path / "pipe"):
        with pytest.raises(CheckpointError, match=f"{path}: there is no such file"):
            read_shapes(path)


@settings(max_examples=int(os.environ.get("PAGESIM_LLM_EXAMPLES", "50")), deadline=None)
@given(data=st.data())
def test_damage_ends_in_that_error_or_in_tensors(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Bytes changed, cut off or put in: an error of ours, or tensors of the stated sizes."""
    file = tmp_path_factory.getbasetemp() / "fuzz"
    save_file(TENSORS, file)
    raw = bytearray(file.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, max(0, len(raw) - 1)))
        new = data.draw(st.binary(max_size=12))
        raw[at : at + data.draw(st.integers(0, 40))] = new
    file.write_bytes(raw)
    try:
        shapes = read_shapes(file)
    except CheckpointError as problem:
        assert str(file) in str(problem)
        return
    with opened(file) as tensors:
        for name, shape in shapes.items():
            assert tuple(tensors.get_tensor(name).shape) == shape


def test_without_the_package_its_extra_is_named(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "safetensors.torch", None)
    with pytest.raises(ImportError, match=r'pip install "pagesim\[kernels\]"'):
        read_shapes(file)
