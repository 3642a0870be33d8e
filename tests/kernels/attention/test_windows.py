"""Sliding windows of every attention kernel: their edges, and what lies behind them."""

from dataclasses import replace

import pytest

from tests.kernels import pages
from tests.kernels.cases import each_kernel, make_case, with_kernels


@pytest.mark.parametrize(
    ("kernel", "window"), with_kernels(1, 2, 7, 8, 9, 16, 33, 34, 35, 36, 1000)
)
def test_sliding_window_edges(kernel: str, window: int) -> None:
    """NaN just outside the window; all of V at the oldest key inside it."""
    length = 34
    made = pages.fragmented([length, 3], block_size=8)
    case = make_case(
        made, kernel=kernel, heads=2, kv_heads=1, head_dim=16, window=window, queries=[5, 2]
    )
    case.check(sliding_window=window)
    first_query = {"prefill": length - 5, "fused": length}.get(kernel, length - 1)
    oldest = max(0, first_query + 1 - window)
    if oldest == length:  # fused with a window of one sees its new token alone
        return
    rows = case.v_cache.flatten(0, 1)
    rows[rows.isfinite().all(-1)] = 0.0
    rows[made.slots(0, oldest)[0]] = 1.0
    for new in case.others.values():
        if new.is_floating_point():
            new[:] = 0.0
    answer = case.answer(sliding_window=window)
    out = answer if kernel == "v1" else answer[0]
    assert (out[0] > 0).all(), "the oldest key in the window was not seen"
    case.compare(answer, sliding_window=window)


@pytest.mark.parametrize(("kernel", "window"), with_kernels(3, 70, 200))
def test_windows_smaller_and_larger_than_a_tile(kernel: str, window: int) -> None:
    """A long query tile under a window has an edge at both ends, and tiles without any between."""
    made = pages.fragmented([260, 90], block_size=16)
    case = make_case(made, kernel=kernel, heads=2, kv_heads=1, window=window, queries=[40, 90])
    case.check(sliding_window=window)


@each_kernel
def test_blocks_behind_the_window_may_be_gone(kernel: str) -> None:
    made = pages.fragmented([34], block_size=8)
    case = make_case(made, kernel=kernel, window=8, queries=[2])
    gone = replace(made, tables=[[-1, 10**6, -7, *made.tables[0][3:]]])
    replace(case, pages=gone).check(sliding_window=8)
