"""What hostile submissions try: files of tests/data/attacks, each text under its name.

Those on the world outside end with "done", or are stopped by an exception. Their ``victim`` has a
process (``pid``), a file of another submission (``file``), an empty folder (``folder``), a port
that listens (``port``).
"""

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "data" / "attacks"


def cells(name: str) -> dict[str, str]:
    """The texts of a file by their names; what stands above the first belongs to each of them."""
    file = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    before, *parts = re.split(r"^# %% (.+)\n", file, flags=re.M)
    return {title: before + cell for title, cell in zip(parts[::2], parts[1::2], strict=True)}


OUTSIDE = cells("outside")
"""Attacks on what is outside, in one process after the other without harm to it."""

INSIDE, PIPE = cells("inside"), cells("pipe")
"""Attacks on the grading, and those of them that write where the answers go.

``# said:`` begins the line with what the feedback says.
"""

MERSENNE = 2**61 - 1
"""Python's hash of a whole number is what is left of it after division by this."""


def alike(n: int) -> list[dict[str, Any]]:
    """Different tuples of one hash: -1 and -2 have the same."""
    return [{"tuple": list(bits)} for bits in itertools.product((-1, -2), repeat=n)]


def answering(value: Any) -> bytes:
    """The JSON of an answer."""
    return json.dumps({"id": 1, "problem": "", "printed": "", "value": value}).encode()


FRAMES: dict[str, Callable[[], bytes]] = {
    "a set of numbers of one hash": lambda: answering(
        {"set": [k * MERSENNE for k in range(1, 50_000)]}
    ),
    "a dict of numbers of one hash": lambda: answering(
        {"dict": [[k * MERSENNE, 0] for k in range(1, 50_000)]}
    ),
    "lists of numbers of one hash": lambda: answering(
        [[k * MERSENNE for k in range(1, 40_000)], [k * -MERSENNE for k in range(1, 40_000)]]
    ),
    "numbers of one hash below all limits": lambda: answering(
        [[k << 40 for k in range(45_000)], [-k << 42 for k in range(45_000)]]
    ),
    "floats of one hash": lambda: answering(
        {"set": [2.0 ** (61 * k) * m for k in range(17) for m in (1, 2, 4, 8)] * 1_000}
    ),
    "a set of tuples of one hash": lambda: answering({"set": alike(14)}),
    "sets of tuples of one hash": lambda: answering([{"set": alike(9)} for _ in range(19)]),
    "lists of tuples of one hash": lambda: answering([alike(11), alike(11)]),
    "sets in sets": lambda: answering(
        {"set": [{"frozenset": [{"frozenset": alike(6)}, k]} for k in range(200)]}
    ),
    "an object of a hundred thousand names": lambda: json.dumps(
        {f"{k}": 0 for k in range(100_000)}
    ).encode(),
    "a name a hundred thousand times": lambda: b"{" + b'"set":[1],' * 99_999 + b'"set":[1]}',
    "a number a hundred thousand times": lambda: answering({"set": [1] * 100_000}),
    "NaN as a key": lambda: answering({"dict": [[float("nan"), k] for k in range(50_000)]}),
    "NaN as an answer": lambda: answering([[float("nan")] * 45_000, [float("inf")] * 45_000]),
    "more numbers than are read": lambda: answering(0)[:-2] + b"[" + b"1," * 200_000 + b"1]}",
    "more empty lists than are read": lambda: answering(0)[:-2] + b"[" + b"[]," * 150_000 + b"1]}",
    "lists in lists": lambda: b'{"value":' + b"[" * 500_000 + b"]" * 500_000 + b"}",
    "lists in lists as deep as Python goes": lambda: (
        b'{"value":' + b"[1," * 900 + b"1" + b"]" * 900 + b"}"
    ),
    "tuples in tuples as a key": lambda: (
        b'{"value":{"set":[' + b'{"tuple":[' * 30 + b"1" + b"]}" * 30 + b"]}}"
    ),
    "a number of a million digits": lambda: answering(0)[:-2] + b"9" * 1_000_000 + b"}",
    "numbers of four thousand digits": lambda: (
        answering(0)[:-2] + b"[" + b",".join([b"-" + b"9" * 4_000] * 500) + b"]}"
    ),
    "a float of a million digits": lambda: answering(0)[:-2] + b"0." + b"9" * 1_000_000 + b"e9}",
    "floats of great exponents": lambda: (
        answering(0)[:-2] + b"[" + b",".join([b"1e999999999"] * 20_000) + b"]}"
    ),
    "a text of a million signs": lambda: answering("\n\x1b" * 150_000),
    "a problem of a million signs": lambda: json.dumps(
        {"id": 1, "problem": "\n" * 900_000, "printed": "\x1b" * 10_000}
    ).encode(),
    "pairs that are none": lambda: answering({"dict": [[1]] * 900}),
    "a number where a list belongs": lambda: answering({"set": 5}),
    "two kinds": lambda: answering({"set": [1], "tuple": [1]}),
    "text in another code": lambda: answering([1]).decode().encode("utf-16"),
}
"""What a submission may write where its answers go."""
