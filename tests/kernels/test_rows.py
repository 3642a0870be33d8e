"""An answer beside its reference, as the chapters print it."""

import numpy as np
import pytest
import torch

from pagesim import kernels


def test_rows_stand_under_each_other() -> None:
    row = torch.tensor([0.5, -1.25, 2.0], dtype=torch.float16)
    assert kernels.side_by_side({"kernel": row, "NumPy, s1": row.numpy()}).splitlines() == [
        "kernel      0.5000  -1.2500   2.0000",
        "NumPy, s1   0.5000  -1.2500   2.0000",
    ]


def test_a_long_row_is_cut_and_says_so() -> None:
    assert kernels.side_by_side({"a": np.zeros(9)}, numbers=2) == "a   0.0000   0.0000 …"


def test_a_row_that_is_not_a_number_is_seen() -> None:
    assert "nan" in kernels.side_by_side({"a": [float("nan"), 1.0]})


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ({"a": [1.0], "b": [1.0, 2.0]}, "rows must have equal lengths.*'a': 1, 'b': 2"),
        ({"a": np.zeros((2, 3))}, r"a has shape \[2, 3\]: pass one row"),
    ],
)
def test_what_cannot_be_compared_is_refused(rows: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        kernels.side_by_side(rows)
