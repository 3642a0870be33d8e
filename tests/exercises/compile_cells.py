"""Compiles the kernels of the exercises for GPUs that are not here; prints `number chip kernel`.

A process of its own, started with PAGESIM_COMPILE_ONLY=1: see `kernels.gate.compile_only`.
"""

import random
from functools import partial

from pagesim import (
    exercises,
    kernels,  # before triton: it decides how triton is imported
)
from pagesim.exercises.source import Cell
from pagesim.kernels.gate import compile_only

# isort: split

from triton.backends.compiler import GPUTarget

CHIPS = {"sm_80": GPUTarget("cuda", 80, 32), "sm_90": GPUTarget("cuda", 90, 32)}


def main() -> None:
    # Nothing is launched, so the tensors may lie anywhere.
    kernels.backend.device = lambda: "cpu"  # type: ignore[attr-defined]
    for exercise in exercises.all():
        reference = exercise.reference
        if not isinstance(reference, Cell):
            continue
        case = next(exercise.cases(random.Random(0), False))
        call = partial(exercise.call, reference.load(), case)
        for chip, target in CHIPS.items():
            for kernel in {name for name, *_ in compile_only.compiled(chip, target, call)}:
                print(exercise.number, chip, kernel)


if __name__ == "__main__":
    main()
