"""3.3: section 3's loop as a Triton kernel."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from pagesim.exercises.ch03 import decoding
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.launching import WRAPPED, too_early
from pagesim.exercises.source import cell, variant
from pagesim.exercises.stage import placed_together
from pagesim.exercises.values import has_nan
from pagesim.timeline.run import Timeline


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """One token, a full page, two pages, two sequences."""
    b = 8 if hidden else 4
    tables = [rng.sample(range(8), 5)] if hidden else [[5, 0, 3, 7, 2]]
    first, second = tables[0][:3], tables[0][3:]
    yield _case([first[:1]], [1], b, "one token")
    yield _case([first[:1]], [b], b, "a full page")
    yield _case([first[:2]], [b + 1], b, "two pages")
    yield _case([first[:2]], [2 * b], b, "two pages")
    yield _case([first, second[:1]], [2 * b + 1, 3], b, "two sequences")
    yield _case([second, first], [b + 3, 3 * b], b, "two sequences")
    yield _case([[decoding.FAR // b]], [b - 1], b, "a block far out")


def _case(tables: list[list[int]], lengths: list[int], block_size: int, tag: str) -> Case:
    told = f"tables {tables}, lengths {lengths}, blocks of {block_size} slots"
    return Case((tables, lengths, block_size, 0), told, tag)


def call(function: Callable[..., Any], case: Case) -> Any:
    """Launch the student's kernel."""
    return decoding.answer(function, case.args)


def why(case: Case, yours: Any, right: Any) -> str:
    """Who read what it should not have read, or else what is wrong with the sum."""
    if (read := yours["reads"]) != decoding.FINE:
        if WRAPPED in read:
            return too_early("(block * BLOCK + row) * DIM")
        tail = "the NaN comes from there" if has_nan(yours["answers"]) else "that is the error"
        return f"{read[0].upper()}{read[1:]}: {tail}."
    empty = [seq for seq, row in enumerate(yours["answers"]) if has_nan(row)]
    if empty and len(empty) < len(yours["answers"]):
        return f"Row {empty[0]} of out holds no numbers: row i of it begins at out + i * DIM."
    seq = decoding.first_wrong(yours, right)
    pages = -(-case.args[1][seq] // case.args[2])
    if pages > 1:
        return (
            f"Sequence {seq} has {pages} pages, and its program read the right slots: what came "
            "before a larger score must be rescaled by exp(m - new_m), ell and acc alike."
        )
    return (
        f"The program of sequence {seq} read the right slots: acc holds sums of exp(score - m) * "
        "value, which become an average when they are divided by ell."
    )


def play(case: Case) -> Timeline:
    """The sequences in their blocks."""
    tables, lengths, block_size, _ = case.args
    near = [[block % decoding.NUM_BLOCKS for block in table] for table in tables]
    return placed_together(near, lengths, block_size)


paged_decode = cell(__file__, "paged_decode", "paged_decode")

EXERCISE = Exercise(
    number="3.3",
    title="A paged kernel in Triton",
    stars=3,
    statement="""\
This is section 3's `attend` as a Triton kernel: one program for each sequence, one head. Fill the
four gaps of `paged_decode`.

`q` and `out` are `[num_seqs, DIM]`, the caches `[num_blocks, BLOCK, DIM]`, float32; `block_tables`
is int32 `[num_seqs, TABLE]`, `seq_lens` int32 `[num_seqs]`. All lie in one piece, row after row:
row `i` of the table begins at `block_tables + i * TABLE`. The offsets `at` of a page's keys and
values, `[BLOCK, DIM]`, are given; `tl.load(pointer, mask=…, other=0.0)` does not touch what
is masked. Make `block` 64 bits wide, `.to(tl.int64)`: in a large cache the offsets of a page do not
fit in 32.

The checker launches it in a cache that is NaN wherever there is no token. If you read a wrong slot,
it says which program did, and whose slot it was.""",
    reference=paged_decode,
    cases=cases,
    expected=decoding.right,
    why=why,
    mistakes={
        "page_for_block": Wrong(
            variant(
                paged_decode, "tl.load(block_tables + seq * TABLE + page).to(tl.int64)", "page"
            ),
            "Page i of a sequence is block i of the cache.",
            "one token",
        ),
        "first_row_of_the_table": Wrong(
            variant(paged_decode, "block_tables + seq * TABLE + page", "block_tables + page"),
            "block_tables is the table of my sequence.",
            "two sequences",
        ),
        "one_row_too_many": Wrong(
            variant(paged_decode, "page * BLOCK + row < length", "page * BLOCK + row <= length"),
            "A sequence of n tokens has the positions up to n.",
            "one token",
        ),
        "values_not_masked": Wrong(
            variant(
                paged_decode,
                "tl.load(v_cache + at, mask=seen[:, None], other=0.0)",
                "tl.load(v_cache + at)",
            ),
            "A weight of 0 cancels whatever value it meets.",
            "one token",
        ),
        "acc_not_rescaled": Wrong(
            variant(paged_decode, "acc * rescale", "acc"),
            "Only the sum is relative to the maximum.",
            "two pages",
        ),
        "not_divided": Wrong(
            variant(paged_decode, "acc / ell", "acc"),
            "acc is the average.",
            "a full page",
        ),
    },
    hints=(
        "Set the kernel beside section 3's attend, line by line. What is block_table[page] here, "
        "where the tables of all sequences lie one after another?",
        "1: load from block_tables + seq * TABLE + page, then .to(tl.int64). 2: position "
        "page * BLOCK + row is a token if it is below length; mask=seen[:, None]. "
        "3: rescale = tl.exp(m - new_m). 4: acc / ell.",
        "3: ell = ell * rescale + tl.sum(weights, axis=0) and acc = acc * rescale + "
        "tl.sum(weights[:, None] * values, axis=0). 4: tl.store(out + seq * DIM + dim, acc / ell).",
    ),
    vllm=(
        "csrc/attention/attention_kernels.cuh: paged_attention_kernel",
        "vllm/attention/ops/paged_attn.py: PagedAttention.forward_decode",
        "vllm/attention/ops/prefix_prefill.py: _fwd_kernel, which is Triton",
    ),
    play=play,
    same=decoding.same,
    call=call,
    seconds=30.0,
    needs_triton=True,
)
