"""The kernels of the exercises are for a GPU as well: each of them compiles for two chips."""

import pytest

from pagesim import (
    exercises,
    kernels,  # before triton: it decides how triton is imported
)
from pagesim.exercises.source import Cell
from tests.kernels.children import nightly, python


@nightly
def test_every_kernel_of_an_exercise_compiles_for_a_gpu() -> None:
    if kernels.backend.decide().mode == "reference":
        pytest.skip("kernels cannot run here")
    done = python("-m", "tests.exercises.compile_cells", PAGESIM_COMPILE_ONLY="1")
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line.split() for line in done.stdout.splitlines()]
    wanted = {e.number for e in exercises.all() if isinstance(e.reference, Cell)}
    assert len(wanted) >= 4
    for chip in ("sm_80", "sm_90"):
        assert {number for number, on, _ in lines if on == chip} == wanted
