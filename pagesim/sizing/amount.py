"""Amounts of memory as people write them: exact bytes, or a printed value that was rounded.

A log that says "3.81 GiB" has rounded: the memory was between 3.805 and 3.815 GiB, so several
numbers of blocks are possible. The arithmetic uses fractions and loses no byte.
"""

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from pagesim.checks import check_int
from pagesim.errors import UsageError

GIB = 2**30

UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KiB": 2**10, "MiB": 2**20, "GiB": GIB, "TiB": 2**40}
"""Bytes per unit: powers of 1024 with an i, powers of 1000 without."""

MAX_BYTES = 2**60
"""An exbibyte: more than any machine has, and small enough that every sum stays exact."""

_AMOUNT = re.compile(r"([0-9]{1,30})(?:\.([0-9]{1,30}))? ?([A-Za-z]*)")


@dataclass(frozen=True, slots=True)
class ByteRange:
    """A range of bytes from ``low`` to ``high`` inclusive; an exact amount has both equal."""

    low: int
    high: int

    def __post_init__(self) -> None:
        check_int("low", self.low, 0)
        check_int("high", self.high, self.low)

    @property
    def exact(self) -> bool:
        return self.low == self.high

    def __str__(self) -> str:
        return f"{self.low:,}" if self.exact else f"{self.low:,} to {self.high:,}"


def parse_bytes(name: str, text: str) -> ByteRange:
    """What an amount like "38.48GiB", "24GiB", "41318436454" or "80 GB" can mean.

    The default unit is bytes. A value with decimals counts as rounded: it means everything within
    half a unit of its last digit. Without decimals it is exact. UsageError names ``name``.
    """
    match = _AMOUNT.fullmatch(text.strip())
    unit = {key.lower(): size for key, size in UNITS.items()}.get(
        (match[3] if match else "").lower() or "b"
    )
    if match is None or unit is None:
        raise UsageError(
            f"{name} must be a number and a unit, like 24GiB, 38.48GiB or 41318436454, not "
            f"{text!r}; the units are {', '.join(UNITS)}"
        )
    whole, decimals = match[1], match[2] or ""
    if decimals and unit == 1:
        raise UsageError(f"{name} is {text!r}: a byte has no fractions; add a unit, like GiB")
    value = Fraction(int(whole + decimals), 10 ** len(decimals)) * unit
    half = Fraction(unit, 2 * 10 ** len(decimals)) if decimals else Fraction(0)
    if value + half > MAX_BYTES:
        raise UsageError(f"{name} is {text!r}: more than an exbibyte")
    low, high = max(math.ceil(value - half), 0), math.floor(value + half)
    return ByteRange(min(low, high), high)


def as_byte_range(name: str, amount: ByteRange | int | str) -> ByteRange:
    """An amount in any of its forms as a range; an int is an exact number of bytes."""
    if isinstance(amount, ByteRange):
        return amount
    if isinstance(amount, str):
        return parse_bytes(name, amount)
    value = check_int(name, amount, 0)
    return ByteRange(value, value)
