"""`paged_attention_v1` over tables from the simulator; `test_traps` is for all kernels."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from tests.kernels import pages
from tests.kernels.cases import NAN, make_case


def test_the_tables_are_no_ranges() -> None:
    """The helper's own test: fragmented tables jump, forks share, swaps move."""
    table = pages.fragmented([64, 64], block_size=4).tables[0]
    assert all(b - a != 1 for a, b in pairwise(table))
    parent, first, second = pages.forked(10, 3, block_size=4).tables
    assert parent[:2] == first[:2] == second[:2]
    assert len({parent[2], first[2], second[2]}) == 3
    before = pages.begin(4, 64).arrive(range(9))
    assert pages.swapped([9, 9], block_size=4).tables[0] != before.block_ids


def test_other_sequences_slots_are_not_read() -> None:
    made = pages.fragmented([21, 30, 6], block_size=8)
    case = make_case(made, heads=2, kv_heads=1)
    expected = case.run()
    for seq in range(3):
        flat = [cache.clone().flatten(0, 1) for cache in (case.k_cache, case.v_cache)]
        others = [s for s in range(made.num_blocks * made.block_size) if s not in made.slots(seq)]
        for rows in flat:
            rows[others] = NAN
        k_cache, v_cache = (rows.view_as(case.k_cache) for rows in flat)
        alone = replace(case.only(seq), k_cache=k_cache, v_cache=v_cache).run()
        torch.testing.assert_close(alone[0], expected[seq], rtol=0, atol=0)


def test_the_output_does_not_care_where_the_blocks_lie() -> None:
    made = pages.fragmented([25, 10], block_size=8)
    case = make_case(made, heads=4)
    order = torch.randperm(made.num_blocks, generator=torch.Generator().manual_seed(3))
    moved = replace(made, tables=[[int(order[b]) for b in table] for table in made.tables])
    k_cache, v_cache = (torch.empty_like(cache) for cache in (case.k_cache, case.v_cache))
    k_cache[order], v_cache[order] = case.k_cache, case.v_cache
    again = replace(case, k_cache=k_cache, v_cache=v_cache, pages=moved).run()
    torch.testing.assert_close(again, case.run(), rtol=0, atol=0)


@pytest.mark.parametrize("block_size", [96, 256])
@pytest.mark.parametrize("window", [0, 40, 90])
def test_a_page_too_large_for_one_step(block_size: int, window: int) -> None:
    """At head_dim 256 a step reads 16 rows: pages are cut into slices, windows start inside one."""
    made = pages.fragmented([100, 300], block_size)
    case = make_case(made, heads=2, kv_heads=1, head_dim=256, window=window)
    case.check(sliding_window=window)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_outputs_are_rounded_not_truncated(dtype: torch.dtype) -> None:
    """With one key the answer is its value · v_scale, rounded once, to nearest and ties to even."""
    made = pages.fragmented([1] * 4, block_size=1)
    case = make_case(made, heads=2, kv_heads=2, head_dim=256, dtype=dtype)
    for v_scale in (1.0078125, 1.1, -3.3):
        values = torch.stack([case.v_cache[table[0], 0] for table in made.tables]).float()
        exact = (values * torch.tensor(v_scale, dtype=torch.float32)).to(dtype)
        torch.testing.assert_close(case.run(v_scale=v_scale), exact, rtol=0, atol=0)
