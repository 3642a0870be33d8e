"""Accesses outside of all tensors are held against the rows of a cache that is too large."""

from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pagesim.exercises.launching import ALL, WRAPPED, FarRow, far_rows  # noqa: E402

CACHE = torch.zeros(4)
ROW = FarRow("cache", CACHE, 2**31, 4)


def said(*accesses: tuple[str, list[int]]) -> dict[str, str]:
    """What is said of accesses: each a kind, and numbers counted from the row's beginning."""
    programs = [
        SimpleNamespace(
            accesses=[
                SimpleNamespace(
                    kind=kind,
                    region=None,
                    elements=CACHE.data_ptr() + 4 * (2**31 + np.array(places, dtype=np.int64)),
                )
            ]
        )
        for kind, places in accesses
    ]
    return far_rows(SimpleNamespace(by_program=lambda: programs), "read", [ROW])


def test_a_row_may_be_read_in_any_pieces() -> None:
    assert said(("read", [0, 1, 2, 3])) == {"cache": ALL}
    assert said(("read", [3, 2]), ("read", [1, 0])) == {"cache": ALL}
    assert said(("read", [0, 1]), ("read", [1])) != {"cache": ALL} != said()
    assert "2 of its 4" in said(("read", [0, 1]))["cache"] and "0 of its 4" in said()["cache"]


@pytest.mark.parametrize(
    "access", [("read", [4]), ("read", [-1]), ("write", [0]), ("read", [0, 1, 2, 3, 4])]
)
def test_anything_else_is_outside(access: tuple[str, list[int]]) -> None:
    assert access[0] in said(access)["outside"] and WRAPPED not in said(access)["outside"]


def test_an_address_in_32_bits_is_recognized() -> None:
    assert said(("read", [-(2**32)]))["outside"].endswith(WRAPPED)
    assert not said(("read", [-(2**32) - 1]))["outside"].endswith(WRAPPED)
