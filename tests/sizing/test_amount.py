"""What people write for an amount of memory, and which bytes it can mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pagesim
from pagesim.sizing.amount import ByteRange, as_byte_range, parse_bytes

GIB = 2**30


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("41318436454", 41_318_436_454),
        ("0", 0),
        ("7 B", 7),
        ("24GiB", 24 * GIB),
        ("24gib", 24 * GIB),
        (" 80 GB ", 80 * 10**9),
        ("3KiB", 3_072),
        ("3kB", 3_000),
        ("512MiB", 512 * 2**20),
        ("1TiB", 2**40),
    ],
)
def test_exact(text: str, value: int) -> None:
    assert parse_bytes("memory", text) == ByteRange(value, value)


def test_decimals_mean_half_of_the_last_digit() -> None:
    """3.81 GiB is 4,090,956,349.44 bytes, give or take 5,368,709.12."""
    assert parse_bytes("memory", "3.81GiB") == ByteRange(4_085_587_641, 4_096_325_058)
    assert parse_bytes("memory", "38.5 GB") == ByteRange(38_450_000_000, 38_550_000_000)
    assert parse_bytes("memory", "4.0GiB") == ByteRange(-(-(79 * GIB) // 20), 4 * GIB + GIB // 20)
    assert parse_bytes("memory", "0.0GiB") == ByteRange(0, GIB // 20)


@given(st.integers(0, 2**50), st.integers(1, 6))
def test_what_was_printed_can_be_meant(value: int, digits: int) -> None:
    """Whatever is printed in GiB, with however many digits, holds the bytes that were printed."""
    amount = parse_bytes("memory", f"{value / GIB:.{digits}f}GiB")
    assert amount.low <= value <= amount.high
    assert amount.high - amount.low <= GIB / 10**digits


@pytest.mark.parametrize(
    "text",
    ["", "GiB", "-1GiB", "1e9", "1_000", "1,5GiB", "12 parsecs", "1.5", "1.5B", "nan", "٣GiB"],
)
def test_what_is_no_amount(text: str) -> None:
    with pytest.raises(pagesim.UsageError, match=r"^--memory (must be|is)"):
        parse_bytes("--memory", text)


def test_too_much() -> None:
    with pytest.raises(pagesim.UsageError, match="more than an exbibyte"):
        parse_bytes("memory", "9" * 25 + "GiB")


def test_any_form() -> None:
    assert as_byte_range("memory", 5) == as_byte_range("memory", "5") == ByteRange(5, 5)
    assert as_byte_range("memory", ByteRange(1, 2)) == ByteRange(1, 2)
    assert str(ByteRange(1_000, 2_000)) == "1,000 to 2,000"
    with pytest.raises(pagesim.UsageError, match="memory must be at least 0"):
        as_byte_range("memory", -1)
    with pytest.raises(TypeError, match="memory must be an int"):
        as_byte_range("memory", True)
    with pytest.raises(pagesim.UsageError, match="high must be at least 2"):
        ByteRange(2, 1)
