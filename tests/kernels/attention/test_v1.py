"""`paged_attention_v1` over tables from the simulator, with NaN wherever it must not look."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pagesim.kernels import backend, paged_attention_v1
from tests.kernels import pages
from tests.kernels.cases import NAN, make_case

pytestmark = pytest.mark.ch03

DTYPES = [torch.float32, torch.float16, torch.bfloat16]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("heads", "kv_heads"), [(8, 2), (2, 2), (3, 1)])
def test_matches_the_reference(dtype: torch.dtype, heads: int, kv_heads: int) -> None:
    made = pages.fragmented([61, 16, 1, 35], block_size=16)
    make_case(made, heads=heads, kv_heads=kv_heads, dtype=dtype).check()


def test_at_the_size_of_a_notebook_cell() -> None:
    make_case(pages.fragmented([256, 130, 64, 7], block_size=16), seed=1).check()


def test_the_tables_are_no_ranges() -> None:
    """The helper's own test: fragmented tables jump, forks share, swaps move."""
    table = pages.fragmented([64, 64], block_size=4).tables[0]
    assert all(b - a != 1 for a, b in pairwise(table))
    parent, first, second = pages.forked(10, 3, block_size=4).tables
    assert parent[:2] == first[:2] == second[:2]
    assert len({parent[2], first[2], second[2]}) == 3
    before = pages.begin(4, 64).arrive(range(9))
    assert pages.swapped([9, 9], block_size=4).tables[0] != before.block_ids


def test_forked_sequences_share_pages() -> None:
    case = make_case(pages.forked(prompt=21, grown=6, block_size=8), heads=4)
    case.check()
    for seq in range(3):
        # A shared page holds the same numbers whichever table it was reached through.
        torch.testing.assert_close(case.only(seq).run()[0], case.run()[seq], rtol=0, atol=0)


def test_one_page_shared_by_two_tables() -> None:
    shared = pages.Pages([[3, 1], [1, 3]], [8, 8], block_size=4, num_blocks=5)
    make_case(shared).check()


def test_swapped_out_and_back() -> None:
    make_case(pages.swapped([23, 9, 14], block_size=4), heads=4).check()


def test_other_sequences_slots_are_not_read() -> None:
    made = pages.fragmented([21, 30, 6], block_size=8)
    case = make_case(made, heads=4)
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
    made = pages.fragmented([45, 20], block_size=8)
    case = make_case(made)
    order = torch.randperm(made.num_blocks, generator=torch.Generator().manual_seed(3))
    moved = replace(made, tables=[[int(order[b]) for b in table] for table in made.tables])
    k_cache, v_cache = (torch.empty_like(cache) for cache in (case.k_cache, case.v_cache))
    k_cache[order], v_cache[order] = case.k_cache, case.v_cache
    again = replace(case, k_cache=k_cache, v_cache=v_cache, pages=moved).run()
    torch.testing.assert_close(again, case.run(), rtol=0, atol=0)


@pytest.mark.parametrize("block_size", [1, 4, 8, 12, 32, 100, 256])
def test_block_sizes(block_size: int) -> None:
    lengths = [3 * min(block_size, 32) + 1, block_size]
    make_case(pages.fragmented(lengths, block_size), heads=2, kv_heads=1).check()


@pytest.mark.parametrize("block_size", [96, 256])
@pytest.mark.parametrize("window", [0, 40, 90])
def test_a_page_too_large_for_one_step(block_size: int, window: int) -> None:
    """At head_dim 256 a step reads 16 rows: pages are cut into slices, windows start inside one."""
    made = pages.fragmented([100, 300], block_size)
    case = make_case(made, heads=2, kv_heads=1, head_dim=256, window=window)
    case.check(sliding_window=window)


@pytest.mark.parametrize("head_dim", [1, 16, 80, 96, 112, 120, 256])
def test_head_dims_between_nan_columns(head_dim: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything lies in wider rows whose spare columns are NaN; the output's stay untouched."""
    plain = make_case(
        pages.fragmented([37, 5], block_size=16), heads=4, head_dim=head_dim, dtype=torch.float16
    )

    def guarded(tensor: torch.Tensor) -> torch.Tensor:
        wide = tensor.new_full((*tensor.shape[:-1], 300), NAN)
        wide[..., :head_dim] = tensor
        return wide[..., :head_dim]

    arguments = [guarded(tensor) for tensor in plain.arguments[:3]]
    case = replace(plain, q=arguments[0], k_cache=arguments[1], v_cache=arguments[2])
    wide_outputs = []

    def empty(shape, **keywords):
        wide_outputs.append(torch.full((*shape[:-1], 300), 7.0, **keywords))
        return wide_outputs[-1][..., :head_dim]

    if backend.decide().mode != "reference":  # NumPy makes its own output
        monkeypatch.setattr(torch, "empty", empty)
    case.check()
    monkeypatch.undo()
    for wide in wide_outputs:
        assert (wide[..., head_dim:] == 7.0).all()
    assert wide_outputs or backend.decide().mode == "reference"


@pytest.mark.parametrize("window", [1, 2, 7, 8, 9, 16, 33, 34, 35, 1000])
def test_sliding_window_edges(window: int) -> None:
    """NaN just outside the window; all of V at the oldest key inside it."""
    length = 34
    made = pages.fragmented([length, 3], block_size=8)
    case = make_case(made, heads=4, window=window)
    case.check(sliding_window=window)
    oldest = made.slots(0, max(0, length - window))[0]
    rows = case.v_cache.flatten(0, 1)
    rows[rows.isfinite().all(-1)] = 0.0
    rows[oldest] = 1.0
    out = case.run(sliding_window=window)
    assert (out[0] > 0).all(), "the oldest key in the window was not seen"
    case.check(sliding_window=window)


def test_blocks_behind_the_window_may_be_gone() -> None:
    made = pages.fragmented([34], block_size=8)
    case = make_case(made, window=10)
    gone = replace(made, tables=[[-1, 10**6, -7, *made.tables[0][3:]]])
    replace(case, pages=gone).check(sliding_window=10)


def test_empty_sequences_give_zeros() -> None:
    case = make_case(pages.fragmented([0, 5, 0], block_size=4))
    out = case.run(v_scale=2.0, sliding_window=3, softcap=5.0)
    assert (out[0] == 0).all()
    assert (out[2] == 0).all()
    assert out[1].isfinite().all()


def test_no_sequences_and_no_blocks() -> None:
    nothing = make_case(pages.Pages([], [], block_size=4, num_blocks=2))
    assert nothing.run().shape == (0, 8, 64)
    empty = make_case(pages.Pages([[]], [0], block_size=4, num_blocks=0))
    assert (empty.run() == 0).all()
    assert empty.check() == 0


@pytest.mark.parametrize("layout", ["heads first", "rows last", "k and v side by side"])
def test_strides(layout: str) -> None:
    """Other orders in memory, the same answer: only head_dim must be contiguous."""
    plain = make_case(pages.fragmented([27, 12], block_size=8))
    k_cache, v_cache = plain.k_cache, plain.v_cache
    if layout == "heads first":
        k_cache = k_cache.transpose(1, 2).contiguous().transpose(1, 2)
    elif layout == "rows last":  # the K cache alone: its strides and V's must not be mixed up
        k_cache = k_cache.permute(1, 2, 0, 3).contiguous().permute(2, 0, 1, 3)
    else:
        both = torch.stack([k_cache, v_cache], dim=1)
        k_cache, v_cache = both[:, 0], both[:, 1]
    q = torch.stack([plain.q, plain.q * NAN], dim=1)[:, 0]
    tables = torch.cat([plain.pages.block_tables(), plain.pages.block_tables() * 0 - 5], dim=1)
    assert not (k_cache.is_contiguous() or q.is_contiguous())
    out = paged_attention_v1(
        q, k_cache, v_cache, tables[:, : len(plain.pages.tables[0])], plain.pages.seq_lens()
    )
    # Other strides may load, and so add, in another order: equal but for rounding.
    torch.testing.assert_close(out, plain.run(), rtol=0, atol=5e-6)


def test_inputs_stay_as_they_were() -> None:
    case = make_case(pages.fragmented([9, 4], block_size=4), heads=2)
    arguments = case.arguments
    copies = [tensor.clone() for tensor in arguments]
    paged_attention_v1(*arguments, sliding_window=3, k_scale=2.0)
    for tensor, copy in zip(arguments, copies, strict=True):
        torch.testing.assert_close(tensor, copy, rtol=0, atol=0, equal_nan=True)


@settings(max_examples=25, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 40), min_size=1, max_size=3),
    block_size=st.sampled_from([1, 3, 4, 8, 16, 24]),
    kv_heads=st.sampled_from([1, 2]),
    group=st.sampled_from([1, 2, 3]),
    head_dim=st.sampled_from([8, 20, 64]),
    dtype=st.sampled_from(DTYPES),
    window=st.integers(0, 12),
    softcap=st.sampled_from([0.0, 3.0]),
    alibi=st.booleans(),
    seed=st.integers(0, 9),
)
def test_any_combination(
    lengths, block_size, kv_heads, group, head_dim, dtype, window, softcap, alibi, seed
) -> None:
    heads = kv_heads * group
    case = make_case(
        pages.fragmented(lengths, block_size, seed),
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        dtype=dtype,
        window=window,
        seed=seed,
    )
    slopes = torch.linspace(0.1, 1.0, heads, device=backend.device()) if alibi else None
    case.check(sliding_window=window, softcap=softcap, alibi_slopes=slopes)
