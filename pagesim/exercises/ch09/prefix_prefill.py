"""9.5: only the uncached part of a prompt, as a Triton kernel."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from pagesim.exercises import source
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.launching import arrays, decode_batch, launched
from pagesim.exercises.source import variant
from pagesim.exercises.values import close
from pagesim.story import Story
from pagesim.timeline.run import Timeline

HEAD_DIM, MOST_NEW = 8, 8

STATEMENT = f"""
The beginning of a prompt was found in the cache. Only the *new* tokens need queries, but each of
them attends to all keys before it, cached or new, and to its own. Complete the kernel: five lines
in three places.

* `q`: float32 `[new tokens, 1, DIM]`, the queries of all sequences' new tokens, sequence after
  sequence. Those of sequence s are the rows `query_start[s]` to `query_start[s + 1] - 1`;
* `seq_lens[s]`: the length of the whole sequence, cached tokens included. Its new tokens are its
  *last* ones;
* `k_cache`, `v_cache`: `[blocks, BLOCK, 1, DIM]`. The keys and values of the new tokens are
  already in them.

One program takes all new tokens of one sequence, at most ROWS = {MOST_NEW}, and walks over its
pages, with the softmax of chapter 3 in every row.

Example: a sequence of 7 tokens, of which 4 are cached. Its 3 queries are at the positions 4, 5 and
6; the first sees the keys 0 to 4, the last sees all 7.

The launcher `prefix_prefill(out, q, k_cache, v_cache, block_tables, query_start, seq_lens)` is
complete; it is what `check` calls. Every slot without a token holds NaN.
"""

REFERENCE = source.cell(__file__, "prefix_prefill", "prefix_prefill")
SAME = close(1e-4, 1e-5)


def _batch(tables: list[list[int]], lengths: list[int], new: list[int], block: int) -> Any:
    """The launcher's arguments but for out: caches, tables and the new tokens' queries."""
    import torch

    blocks = max(max(table) for table in tables) + 1
    batch = decode_batch(tables, lengths, blocks, block, head_dim=HEAD_DIM)
    device = batch["q"].device
    generator = torch.Generator().manual_seed(1)
    batch["q"] = torch.randn(sum(new), 1, HEAD_DIM, generator=generator).to(device)
    starts = [sum(new[:number]) for number in range(len(new) + 1)]
    batch["query_start"] = torch.tensor(starts, dtype=torch.int32, device=device)
    return batch


def expected(*args: Any) -> Any:
    """The float64 reference: each new token as if it decoded."""
    from pagesim.kernels import reference

    q, k_cache, v_cache, tables, lengths, start = arrays(_batch(*args))
    rows = reference.one_row_per_query(start, tables, lengths)
    return reference.gather_attention(q, k_cache, v_cache, *rows)[:, 0]


def call(prefix_prefill: Callable[..., Any], case: Case) -> Any:
    import torch

    batch = _batch(*case.args)
    out = torch.full_like(batch["q"], float("nan"))
    launched(prefix_prefill, out=out, **batch)
    return out[:, 0].cpu()


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    shown = [
        ([[0]], [1], [1], 4, "one token"),
        ([[1]], [3], [3], 4, "nothing cached"),
        ([[2, 0]], [7], [3], 4, "four cached tokens"),
        ([[3, 1, 2]], [9], [1], 4, "one new token"),
        ([[3, 1], [0, 2]], [6, 7], [2, 3], 4, "two sequences"),
    ]
    if hidden:
        shown = [
            ([[1, 0]], [6], [2], 4, "hidden"),
            ([[4, 1, 3], [0, 2, 5]], [17, 9], [5, 8], 8, "hidden"),
            ([[5, 2], [7, 1], [3, 0]], [4, 3, 2], [1, 3, 2], 2, "hidden"),
        ]
    for tables, lengths, new, block, tag in shown:
        told = f"tables {tables}, {lengths} tokens, of which {new} are new, blocks of {block}"
        yield Case((tables, lengths, new, block), told, tag)


def why(case: Case, yours: Any, right: Any) -> str:
    _, lengths, new, _ = case.args
    wrong = next(i for i, (a, b) in enumerate(zip(yours, right, strict=True)) if not SAME(a, b))
    seq = 0
    while wrong >= new[seq]:
        wrong, seq = wrong - new[seq], seq + 1
    position = lengths[seq] - new[seq] + wrong
    return (
        f"New token {wrong} of sequence {seq} is at position {lengths[seq]} - {new[seq]} + {wrong} "
        f"= {position}: it sees the keys 0 to {position}, and no others."
    )


def play(case: Case) -> Timeline:
    """A prompt arrives whose beginning another one has left in the cache."""
    _, lengths, new, block = case.args
    cached = (lengths[0] - new[0]) // block * block
    story = Story(gpu_blocks=8, block_size=block, caching=True)
    if cached:
        first = story.arrive(range(cached))
        story.manager.mark_blocks_as_computed(first.group, cached)
    story.arrive(range(lengths[0]))
    return story.run.annotate(title=f"{lengths[0]} tokens arrive, {cached} of them are cached")


EXERCISE = Exercise(
    number="9.5",
    title="Prefill behind a cached prefix",
    stars=3,
    statement=STATEMENT,
    reference=REFERENCE,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "position_from_0": Wrong(
            variant(REFERENCE, "position = length - count + row", "position = row"),
            "The first new token is at position 0.",
            "four cached tokens",
        ),
        "not_itself": Wrong(
            variant(REFERENCE, "key[None, :] <= position", "key[None, :] < position"),
            "A token sees the tokens before it, not itself.",
            "one token",
        ),
        "no_causal_mask": Wrong(
            variant(
                REFERENCE,
                "key[None, :] <= position[:, None]",
                "(key < length)[None, :] & (row < ROWS)[:, None]",
            ),
            "All tokens of a prompt see each other.",
            "nothing cached",
        ),
        "queries_from_0": Wrong(
            variant(REFERENCE, "(begin + row)[:, None]", "row[:, None]"),
            "The queries of every sequence begin at row 0.",
            "two sequences",
        ),
        "acc_not_rescaled": Wrong(
            variant(REFERENCE, "acc * rescale[:, None] +", "acc +"),
            "What was added once stays as it is.",
            "four cached tokens",
        ),
    },
    hints=(
        "The new tokens are the last `count` of `length`. Which position has the first of them?",
        "A token at position p sees the keys 0 to p. A row of the tile is a query, a column a key.",
        "position = length - count + row; seen = key[None, :] <= position[:, None]; ell and acc as "
        "in chapter 3, along axis 1, with rescale[:, None] for acc.",
    ),
    vllm=(
        "vllm/attention/ops/prefix_prefill.py: context_attention_fwd",
        "vllm/attention/ops/paged_attn.py: PagedAttention.forward_prefix",
    ),
    play=play,
    same=SAME,
    call=call,
    seconds=30.0,
    needs_triton=True,
)
