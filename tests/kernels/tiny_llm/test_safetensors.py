"""The reader of safetensors: what it reads, and that it believes nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pagesim.kernels.tiny_llm.safetensors import CheckpointError, read_header, read_tensors, write

pytestmark = pytest.mark.ch12

TENSORS = {
    "a": torch.arange(6.0).reshape(2, 3),
    "b.weight": torch.tensor([1.5, -2.0], dtype=torch.float16),
    "c": torch.tensor([[0.1], [3e38]], dtype=torch.bfloat16),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write(tmp_path / "x.safetensors", TENSORS)
    return tmp_path / "x.safetensors"


def lie(file: Path, change: Any, **more: Any) -> None:
    """Rewrite the header of a file; `change` gets it as a dict."""
    raw = file.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    change(header)
    text = more.get("text") or json.dumps(header).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + raw[8 + length :])


def test_what_was_written_is_read_bit_for_bit(file: Path) -> None:
    header = read_header(file)
    read = dict(read_tensors(header))
    assert read.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert read[name].dtype == tensor.dtype and read[name].equal(tensor)
        assert header[name].shape == tuple(tensor.shape)


def test_bytes_are_those_of_the_format(tmp_path: Path) -> None:
    write(tmp_path / "one", {"w": torch.tensor([1.0, -2.0])})
    raw = (tmp_path / "one").read_bytes()
    length = int.from_bytes(raw[:8], "little")
    assert length % 8 == 0
    assert json.loads(raw[8 : 8 + length])["w"] == {
        "dtype": "F32",
        "shape": [2],
        "data_offsets": [0, 8],
    }
    assert raw[8 + length :] == bytes.fromhex("0000803f 000000c0")


LIES = {
    "ends at byte": lambda h: h["c"].update(shape=[4000, 1], data_offsets=[28, 8028]),
    "begins at byte": lambda h: h["b.weight"].update(data_offsets=[20, 24]),
    "'c' begins at byte": lambda h: h.pop("b.weight"),
    "bytes after the last tensor": lambda h: h.pop("c"),
    r"in 24 bytes": lambda h: h["a"].update(shape=[2, 4]),
    r"in -24 bytes": lambda h: h["a"].update(data_offsets=[24, 0]),
    "dtype 'F64': only F32, F16, BF16": lambda h: h["a"].update(dtype="F64"),
    r"dtype \['F32'\]": lambda h: h["a"].update(dtype=["F32"]),
    r"shape \[-2, -3\]": lambda h: h["a"].update(shape=[-2, -3]),
    r"shape \[2\.0, 3\]": lambda h: h["a"].update(shape=[2.0, 3]),
    "shape '23'": lambda h: h["a"].update(shape="23"),
    r"at \[0, 24, 28\]": lambda h: h["a"].update(data_offsets=[0, 24, 28]),
    "has no dtype, shape and data_offsets": lambda h: h["a"].pop("shape"),
    "has no dtype, shape": lambda h: h.update(a=7),
}


@pytest.mark.parametrize("message", LIES)
def test_a_lying_header_is_an_error_that_names_file_and_tensor(file: Path, message: str) -> None:
    lie(file, LIES[message])
    with pytest.raises(CheckpointError, match=message) as raised:
        read_header(file)
    assert str(file) in str(raised.value)
    assert "tensor '" in str(raised.value) or "after the last tensor" in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"a": 1, "a": 2}', "'a' twice"),
        (b"[1, 2]", r"not a JSON object, but \[1, 2\]"),
        (b"{" * 5000, "not a JSON object"),
        (b"[" * 200_000, "not a JSON object"),
        (b"\xff\xfe{}", "not a JSON object"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not a JSON object"),
    ],
    ids=["key twice", "a list", "cut off", "deep", "not text", "long number"],
)
def test_a_header_that_is_not_a_json_object(file: Path, text: bytes, message: str) -> None:
    lie(file, dict, text=text)
    with pytest.raises(CheckpointError, match=message):
        read_header(file)


def test_a_long_header_with_a_name_twice_is_soon_refused(file: Path) -> None:
    many = ", ".join(f'"{i}": 0' for i in range(50_000))
    lie(file, dict, text=f'{{{many}, "7": 1}}'.encode())
    with pytest.raises(CheckpointError, match="'7' twice"):
        read_header(file)


@pytest.mark.parametrize("length", [0, 1, 5000, 2**40, 2**64 - 1])
def test_a_header_has_a_length_that_fits(file: Path, length: int) -> None:
    raw = file.read_bytes()
    file.write_bytes(length.to_bytes(8, "little") + raw[8:])
    with pytest.raises(
        CheckpointError, match=f"a header of {length} bytes in a file of {len(raw)}"
    ):
        read_header(file)


def test_a_folder_or_a_pipe_in_place_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no such file"):
        read_header(tmp_path / "nothing")
    with pytest.raises(CheckpointError, match="no such file"):
        read_header(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")  # opening it would wait for a writer
        with pytest.raises(CheckpointError, match="no such file"):
            read_header(tmp_path / "pipe")


def test_a_file_that_shrinks_while_it_is_read(file: Path) -> None:
    header = read_header(file)
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match="the tensor 'c' is cut off"):
        dict(read_tensors(header))


WHOLE = {"first": torch.ones(3, 2), "second": torch.zeros(4, dtype=torch.bfloat16)}


@settings(max_examples=int(os.environ.get("PAGESIM_LLM_EXAMPLES", "100")), deadline=None)
@given(data=st.data())
def test_damage_ends_in_that_error_or_in_tensors(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Bytes changed, cut off or put in: an error of ours, or tensors of the stated sizes."""
    file = tmp_path_factory.getbasetemp() / "fuzz"
    write(file, WHOLE)
    raw = bytearray(file.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw) - 1))
        match data.draw(st.sampled_from(["set", "cut", "insert"])):
            case "set":
                raw[at] = data.draw(st.integers(0, 255))
            case "cut":
                del raw[at : at + data.draw(st.integers(1, 40))]
            case "insert":
                raw[at:at] = data.draw(st.binary(min_size=1, max_size=12))
        if not raw:
            break
    file.write_bytes(raw)
    try:
        header = read_header(file)
    except CheckpointError as problem:
        assert str(file) in str(problem)
        return
    for name, tensor in read_tensors(header):
        assert tuple(tensor.shape) == header[name].shape
