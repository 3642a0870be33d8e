"""What goes between the grader and a submission's process: frames of JSON, and nothing that runs.

A frame is its length in four bytes, then JSON. What JSON lacks is an object with one key, the
kind: tuples, dicts, sets. Reading makes plain values of it and nothing else, whatever the other
side has written, and in a time that only its length decides: sets and dicts are small, and no two
whole numbers of 18 digits have the same hash (but for -1 and -2).
"""

import itertools
import json
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO

from pagesim.exercises import values
from pagesim.files.jsonl import JsonObject

MAX_FRAME = 2 << 20
"""Bytes of one frame: more is an error, on both sides."""
MAX_ITEMS, MAX_MEMBERS, MAX_DEPTH, MAX_DIGITS = 100_000, 1_000, 32, 18
"""The values in a frame, the members of one set or dict, lists within lists, a number's digits.

The longest answer, exercise 9.5's, has 27,000 values.
"""

_LENGTH = struct.Struct(">I")
_KINDS = {"tuple": tuple, "set": set, "frozenset": frozenset}


class WireError(Exception):
    """What came is not a frame, or a value cannot be sent."""


def send(stream: BinaryIO, message: JsonObject) -> None:
    """Write one frame; WireError for a value that cannot be sent, and nothing is written then."""
    try:
        data = json.dumps({key: encode(value) for key, value in message.items()}).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise WireError(str(error)) from None
    if len(data) > MAX_FRAME:
        raise WireError(f"it takes {len(data)} bytes, and {MAX_FRAME} are allowed")
    parse(data)  # the other side would not read it
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def receive(stream: BinaryIO) -> JsonObject:
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
    return parse(data)


def parse(data: bytes) -> JsonObject:
    """The message in a frame; WireError if it cannot be read or has too much in it."""
    try:
        message = json.loads(data, parse_int=_int)
        if type(message) is dict:
            items = itertools.count(1)
            return {key: _read(value, items) for key, value in message.items()}
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        raise WireError(f"a frame that cannot be read ({type(error).__name__})") from None
    raise WireError("a frame that is not an object")


def encode(value: Any) -> Any:
    """The value for JSON, by its exact type: an object that calls itself equal is not sent."""
    kind = type(value)
    if kind in values.PLAIN:
        return value
    if kind is list:
        return [encode(item) for item in value]
    if kind is dict:
        return {"dict": [[encode(k), encode(v)] for k, v in value.items()]}
    if kind in _KINDS.values():
        return {kind.__name__: [encode(item) for item in value]}
    raise TypeError(f"it holds {values.kind(value)}: return numbers, strings and lists of them")


def _int(text: str) -> int:
    if len(text.lstrip("-")) > MAX_DIGITS:
        raise WireError(f"a whole number of {len(text)} digits, and {MAX_DIGITS} are allowed")
    return int(text)


def _read(value: Any, items: Iterator[int], depth: int = 0) -> Any:
    """What :func:`encode` was given, within ``depth`` others; ``items`` counts those of a frame."""
    if next(items) > MAX_ITEMS:
        raise WireError(f"more than {MAX_ITEMS} values")
    if depth > MAX_DEPTH:
        raise WireError(f"more than {MAX_DEPTH} lists within lists")
    if type(value) is list:
        return [_read(item, items, depth + 1) for item in value]
    if type(value) is not dict:
        return value
    ((kind, held),) = value.items()
    if kind not in ("dict", *_KINDS):
        raise WireError(f"the kind {kind!r:.40}")
    if kind != "tuple" and len(held) > MAX_MEMBERS:
        raise WireError(f"a {kind} of {len(held)}, and {MAX_MEMBERS} are allowed")
    if kind == "dict":
        return {_read(k, items, depth + 1): _read(v, items, depth + 1) for k, v in held}
    return _KINDS[kind](_read(item, items, depth + 1) for item in held)
