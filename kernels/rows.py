"""Rows of numbers one below the other: an answer beside its reference, for the eye."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DECIMALS, _WIDTH = 4, 9
Row = Any
"""A tensor on any device, or what NumPy takes."""


def side_by_side(rows: Mapping[str, Row], numbers: int = 6) -> str:
    """Return the first numbers of each row, one aligned line per row, ready to print.

    rows: pairs of a name and a vector, all of one length; tensors on any device, or anything that
    NumPy accepts. Raises ValueError if the lengths differ, because such rows cannot be compared.
    """
    vectors = {name: _vector(name, row) for name, row in rows.items()}
    lengths = {name: len(vector) for name, vector in vectors.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"rows must have equal lengths to be compared, not {lengths}")
    margin = max(map(len, vectors), default=0)
    more = " …" if any(length > numbers for length in lengths.values()) else ""
    return "\n".join(
        f"{name:<{margin}}" + "".join(f"{x:{_WIDTH}.{_DECIMALS}f}" for x in row[:numbers]) + more
        for name, row in vectors.items()
    )


def _vector(name: str, row: Row) -> NDArray[np.float64]:
    plain = row.detach().float().cpu().numpy() if hasattr(row, "detach") else np.asarray(row)
    if plain.ndim != 1:
        raise ValueError(f"{name} has shape {list(plain.shape)}: pass one row of it")
    return plain
