"""What goes between the grader and a submission's process: frames of JSON, and nothing that runs.

A frame is its length in four bytes, then JSON. What JSON lacks is an object with one key, the
kind: tuples, dicts, sets. Reading makes plain values of it and nothing else, whatever the other
side has written.
"""

from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO

from pagesim.exercises import values

MAX_FRAME = 8 << 20
"""Bytes of one frame: more is an error, on both sides."""

_LENGTH = struct.Struct(">I")


class WireError(ValueError):
    """What came is not a frame, or a value cannot be sent."""


def send(stream: BinaryIO, message: dict[str, Any]) -> None:
    """Write one frame; WireError for a value that cannot be sent, and nothing is written then."""
    try:
        data = json.dumps({key: encode(value) for key, value in message.items()}).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise WireError(str(error)) from None
    if len(data) > MAX_FRAME:
        raise WireError(f"it takes {len(data)} bytes, and {MAX_FRAME} are allowed")
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def receive(stream: BinaryIO) -> dict[str, Any]:
    """The next frame. EOFError where the stream ends, WireError for anything else."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    if length > MAX_FRAME:
        raise WireError(f"a frame of {length} bytes")
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    try:
        message = json.loads(data)
        if type(message) is not dict:
            raise WireError("a frame that is not an object")
        return {key: decode(value) for key, value in message.items()}
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        raise WireError(f"a frame that cannot be read ({type(error).__name__})") from None


def encode(value: Any) -> Any:
    """The value for JSON, by its exact type: an object that calls itself equal is not sent."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return [encode(item) for item in value]
    if kind is dict:
        return {"dict": [[encode(k), encode(v)] for k, v in value.items()]}
    if kind in (tuple, set, frozenset):
        return {kind.__name__: [encode(item) for item in value]}
    raise TypeError(f"it holds {values.kind(value)}: return numbers, strings and lists of them")


def decode(value: Any) -> Any:
    """The value that :func:`encode` was given."""
    if type(value) is list:
        return [decode(item) for item in value]
    if type(value) is not dict:
        return value
    ((kind, held),) = value.items()
    if kind == "dict":
        return {decode(key): decode(item) for key, item in held}
    if kind in ("tuple", "set", "frozenset"):
        make = {"tuple": tuple, "set": set, "frozenset": frozenset}[kind]
        return make(decode(item) for item in held)
    raise WireError(f"the kind {kind!r:.40}")
