"""Tables of a window, as V1 leaves them: the null block stands where blocks have left the window.

In V1's tables the null block has the id 0, and block 0 holds what anyone left there. The tables of
`pagesim.cache` have -1 in its place, so that a window that is forgotten is refused. No kernel reads
either, if it is given the window.
"""

import os
from dataclasses import replace
from typing import Any

import pytest
import torch

from pagesim import kernels
from pagesim.kernels import backend
from tests.kernels import pages
from tests.kernels.cases import FP8, KERNELS, Case, each_kernel, make_case, with_kernels

NULL, MARK = 0, -1
"""The null block's id, and what the metadata puts in its place."""
LENGTH = 75
CHUNK = 3
"""The queries of a prefill: a chunk that begins inside its window."""


def nulled(kernel: str, block_size: int, window: int, null: int, **given: Any) -> Case:
    """A long and a short sequence; what the long one's queries cannot see is the null block.

    As everywhere in these tests, what no query may read is NaN: all of block 0, for example.
    """
    made = pages.fragmented([LENGTH, 3], block_size)
    tables = [[block + 1 for block in table] for table in made.tables]
    made = replace(made, tables=tables, num_blocks=made.num_blocks + 1)
    case = make_case(made, kernel=kernel, window=window, queries=[CHUNK, 1], **given)
    first = {"prefill": LENGTH - CHUNK, "fused": LENGTH}.get(kernel, LENGTH - 1)
    gone = max(0, first + 1 - window) // block_size
    tables = [[null] * gone + tables[0][gone:], tables[1]]
    return replace(case, pages=replace(made, tables=tables))


SIZES = [(16, 1), (16, 7), (16, 16), (16, 17), (16, 40), (16, 100), (32, 33), (32, 5), (4, 6)]


# `make nightly` takes both marks everywhere.
CASES = [
    (kernel, sizes, null)
    for kernel, sizes in with_kernels(*SIZES)
    for null in (NULL, MARK)
    if null == MARK or sizes == SIZES[1] or "PAGESIM_FUZZ" in os.environ
]


@pytest.mark.parametrize(("kernel", "sizes", "null"), CASES)
def test_no_null_block_is_read(kernel: str, sizes: tuple[int, int], null: int) -> None:
    """Blocks and windows: inside a block and across, of one token, longer than the sequence."""
    block_size, window = sizes
    case = nulled(kernel, block_size, window, null, heads=4, kv_heads=1, head_dim=16)
    assert (null in case.pages.tables[0]) == (window < LENGTH)
    case.check(sliding_window=window)


@each_kernel
def test_what_is_in_block_0_makes_no_difference(kernel: str) -> None:
    case = nulled(kernel, 16, 20, NULL, heads=4, head_dim=16)
    poisoned = case.run(sliding_window=20)
    for cache in (case.k_cache, case.v_cache):
        assert cache[NULL].isnan().all()
        cache[NULL] = 0
    assert case.run(sliding_window=20).equal(poisoned)


@each_kernel
def test_an_fp8_cache(kernel: str) -> None:
    case = nulled(kernel, 16, 21, NULL, heads=4, head_dim=16, cache_dtype=FP8)
    case.check(sliding_window=21, k_scale=0.5, v_scale=2.0)


@each_kernel
def test_an_x_ray_sees_every_read(kernel: str) -> None:
    """Of the keys in the window each is read, and of block 0 nothing."""
    if backend.decide().mode != "interpreted":
        pytest.skip("an x-ray needs the interpreter")
    for null in (NULL, MARK):
        case = nulled(kernel, 8, 13, null, heads=2, kv_heads=1, head_dim=16)
        name, keywords = KERNELS[kernel]
        launcher = getattr(kernels, name)
        trace = kernels.xray(launcher, **case.named, sliding_window=13, **keywords).check()
        kept = {block for table in case.pages.tables for block in table if block > NULL}
        assert set(trace.readers()) == kept


@each_kernel
def test_without_its_window_the_mark_is_refused_and_block_0_is_read(kernel: str) -> None:
    with pytest.raises(ValueError, match=r"block_tables\[0, 0\] = -1"):
        nulled(kernel, 16, 20, MARK).run()
    case = nulled(kernel, 16, 20, NULL)
    for cache in (case.k_cache, case.v_cache):
        cache[cache.isnan()] = 3.0
    assert (case.run()[0] - case.run(sliding_window=20)[0]).abs().max() > 0.1


@pytest.mark.parametrize("window", [5, 16, 33] if "PAGESIM_FUZZ" in os.environ else [5])
def test_a_prompt_in_chunks_forgets_what_its_next_chunk_cannot_see(window: int) -> None:
    """Before each chunk the blocks behind its first query's window go, as V1 drops them."""
    made = pages.fragmented([50], 8)
    whole = make_case(made, kernel="prefill", queries=[50], heads=4, head_dim=16)
    expected = whole.run(sliding_window=window)
    for start, stop in ((0, 20), (20, 21), (21, 43), (43, 50)):
        gone = max(0, start + 1 - window) // 8
        table = [MARK] * gone + made.tables[0][gone:]
        chunk = replace(made, tables=[table], lengths=[stop])
        starts = torch.tensor([0, stop - start], dtype=torch.int32, device=backend.device())
        case = replace(
            whole, q=whole.q[start:stop], pages=chunk, others={"query_start_loc": starts}
        )
        out = case.run(sliding_window=window)
        torch.testing.assert_close(out, expected[start:stop], rtol=0, atol=5e-6)
