"""A launch does once what Triton's interpreter repeats, and the language is then as it was."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest
import torch

from pagesim.kernels import backend

triton, tl = backend.load_triton()

pytestmark = pytest.mark.skipif(
    backend.decide().mode != "interpreted", reason="kernels are not interpreted here"
)


@triton.jit
def twice(x):
    return 2 * x


@triton.jit
def doubling_kernel(out_ptr, TIMES: tl.constexpr, WRONG: tl.constexpr):  # noqa: N803
    """out[lane] = lane · 2 ** TIMES."""
    lane = tl.arange(0, 4)
    x = lane
    for _ in range(TIMES):
        x = twice(x)
    if WRONG:
        x = tl.load(7, 8, 9, 10, 11, 12, 13, 14, 15)
    tl.store(out_ptr + lane, tl.maximum(x, tl.max(x, axis=0) // 3))


def doubled(times: int, wrong: bool = False) -> list[int]:
    out = torch.zeros(4, dtype=torch.int32)
    doubling_kernel[(1,)](out, TIMES=times, WRONG=wrong)
    return out.tolist()


def test_a_helper_is_called_without_another_patch(monkeypatch: pytest.MonkeyPatch) -> None:
    interpreter: Any = import_module("triton.runtime.interpreter")
    patch, seen = interpreter._patch_builtin, []
    monkeypatch.setattr(
        interpreter, "_patch_builtin", lambda *given: (seen.append(given[0]), patch(*given))
    )
    assert doubled(1) == [2, 2, 4, 6]  # kernels are rewritten, which adds to their globals
    seen.clear()
    assert doubled(1) == [2, 2, 4, 6]
    once = len(seen)
    assert doubled(9) == [512, 512, 1024, 1536]
    assert len(seen) == 2 * once > 0


def test_after_a_launch_and_after_one_that_failed_the_language_is_as_it_was() -> None:
    before = {name: getattr(tl, name) for name in ("load", "store", "arange", "range")}
    for wrong in (False, True, False):
        if wrong:
            with pytest.raises(Exception, match="load"):
                doubled(2, wrong=True)
        else:
            assert doubled(2) == [4, 4, 8, 12]
        assert {name: getattr(tl, name) for name in before} == before


def test_a_dtype_is_looked_up_right_the_second_time_too() -> None:
    interpreter: Any = import_module("triton.runtime.interpreter")
    for kind, expected in (
        (tl.float32, np.float32),
        (tl.bfloat16, np.uint16),
        (tl.int1, bool),
        (tl.pointer_type(tl.float32), np.uint64),
    ):
        for each in 2 * (kind, tl.block_type(kind, [4])):
            assert interpreter._get_np_dtype(each) == expected
