"""Reads and writes .safetensors files: 8 bytes of length, that much JSON, the raw numbers.

    {"name": {"dtype": "F16", "shape": [64, 128], "data_offsets": [0, 16384]}, …}

Offsets count from the end of the JSON. Nothing in a file is believed before it is checked, and no
more memory is asked for than the file is long.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import torch

DTYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
MAX_HEADER = 2**24
"""A header takes about 100 bytes a tensor, and the largest models have some thousand tensors."""


class CheckpointError(ValueError):
    """A folder or file cannot be read as a model; the message names file, part and value."""

    def __init__(self, message: str) -> None:
        super().__init__(message if len(message) <= 1_000 else f"{message[:997]}...")


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a tensor lies: dtype, shape as the file states it, and its bytes from `begin` on."""

    path: Path
    dtype: torch.dtype
    shape: tuple[int, ...]
    begin: int


def read_header(path: Path) -> dict[str, Entry]:
    """The tensors of a file; CheckpointError unless they fill it without a hole or an overlap."""
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(size - 8, MAX_HEADER):
            raise CheckpointError(f"{path}: a header of {length} bytes in a file of {size}")
        header = parse_json(path, file.read(length))
    header.pop("__metadata__", None)
    entries, end = {}, {}
    for name, fields in header.items():
        entries[name], end[name] = _entry(path, name, fields, 8 + length)
    at = 8 + length
    for name in sorted(entries, key=lambda name: (entries[name].begin, end[name])):
        if entries[name].begin != at:
            begin = entries[name].begin
            raise CheckpointError(
                f"{path}: the tensor {name!r} begins at byte {begin}, expected {at}"
            )
        at = end[name]
        if at > size:
            raise CheckpointError(
                f"{path}: the tensor {name!r} ends at byte {at}, but the file has {size}"
            )
    if at != size:
        raise CheckpointError(f"{path}: {size - at} bytes after the last tensor")
    return entries


def read_tensors(entries: Mapping[str, Entry]) -> Iterable[tuple[str, torch.Tensor]]:
    """The tensors one by one, each in its own dtype on the CPU."""
    for path in sorted({entry.path for entry in entries.values()}):
        with open_file(path) as file:
            for name, entry in entries.items():
                if entry.path != path:
                    continue
                file.seek(entry.begin)
                tensor = torch.empty(entry.shape, dtype=entry.dtype)
                if file.readinto(tensor.flatten().view(torch.uint8).numpy()) != tensor.nbytes:
                    raise CheckpointError(f"{path}: the tensor {name!r} is cut off")
                yield name, tensor


def write(path: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """Write tensors as a file that Hugging Face's `safetensors` reads as well."""
    names = {dtype: name for name, dtype in DTYPES.items()}
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    parts, at = [], 0
    for name, tensor in tensors.items():
        part = bytes(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
        offsets = [at, at + len(part)]
        shape = list(tensor.shape)
        header[name] = {"dtype": names[tensor.dtype], "shape": shape, "data_offsets": offsets}
        parts.append(part)
        at += len(part)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # numbers begin at a multiple of 8
    path.write_bytes(b"".join((len(text).to_bytes(8, "little"), text, *parts)))


def open_file(path: Path) -> BinaryIO:
    """Open a plain file; anything else is a CheckpointError (reading a pipe could wait forever)."""
    try:
        if not path.is_file():
            raise CheckpointError(f"{path}: there is no such file")
        return path.open("rb")
    except OSError as problem:
        raise CheckpointError(f"{path}: {problem.strerror}") from problem


def parse_json(path: Path, raw: bytes) -> dict[str, Any]:
    """A JSON object without a key twice; CheckpointError names the file."""
    try:
        found = json.loads(raw, object_pairs_hook=_unique)
    except (RecursionError, ValueError) as problem:  # also text that is not UTF-8
        raise CheckpointError(f"{path}: not a JSON object: {problem}") from problem
    if not isinstance(found, dict):
        raise CheckpointError(f"{path}: not a JSON object, but {quoted(found)}")
    return found


def quoted(value: object) -> str:
    """A value of a file in a message, shortened."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deeply, or a number of thousands of digits
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def _entry(path: Path, name: str, fields: Any, start: int) -> tuple[Entry, int]:
    """A tensor's entry and where it ends, as far as can be told without the other tensors."""
    about = f"{path}: the tensor {quoted(name)}"
    if not isinstance(fields, dict) or not {"dtype", "shape", "data_offsets"} <= fields.keys():
        raise CheckpointError(f"{about} has no dtype, shape and data_offsets: {quoted(fields)}")
    if not isinstance(fields["dtype"], str) or fields["dtype"] not in DTYPES:
        raise CheckpointError(
            f"{about} has dtype {quoted(fields['dtype'])}: only {', '.join(DTYPES)} can be read"
        )
    shape, offsets = fields["shape"], fields["data_offsets"]
    for key, numbers in (("shape", shape), ("data_offsets", offsets)):
        if not isinstance(numbers, list) or not all(
            type(number) is int and 0 <= number < 2**48 for number in numbers
        ):
            raise CheckpointError(f"{about} has {key} {quoted(numbers)}")
    dtype = DTYPES[fields["dtype"]]
    if len(shape) > 8 or len(offsets) != 2:
        raise CheckpointError(f"{about} has shape {quoted(shape)} at {quoted(offsets)}")
    if offsets[1] - offsets[0] != math.prod(shape) * dtype.itemsize:
        raise CheckpointError(
            f"{about} has shape {shape} of {fields['dtype']} in {offsets[1] - offsets[0]} bytes"
        )
    return Entry(path, dtype, tuple(shape), start + offsets[0]), start + offsets[1]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"{quoted(twice)} twice")
    return found
