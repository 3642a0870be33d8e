"""# 6.5 Prefill behind a cached prefix ★★★

The beginning of a prompt was found in the cache, so only its *new* tokens need queries. But each of
these attends to all keys before it, cached or new, and to its own. Complete the kernel: five lines
in three places.

* `q`: float32 `[new tokens, 1, DIM]`, the queries of the new tokens of all sequences, sequence
  after sequence. The queries of sequence s are the rows `query_start[s]` to
  `query_start[s + 1] - 1`;
* `seq_lens[s]`: the length of the whole sequence, cached tokens included. Its new tokens are its
  *last* ones;
* `k_cache`, `v_cache`: `[blocks, BLOCK, 1, DIM]`. The keys and values of the new tokens are already
  in these caches.

One program computes all new tokens of one sequence, at most ROWS = 8. It goes through the blocks of
the sequence, and every row of its tile keeps an online softmax, as in chapter 3.

Example: a sequence has 7 tokens, 4 of them cached. Its 3 queries are at the positions 4, 5 and 6.
The first of them sees the keys 0 to 4, and the last sees all 7.

The launcher `prefix_prefill(out, q, k_cache, v_cache, block_tables, query_start, seq_lens)` is
complete, and `check` calls it. Every slot without a token holds NaN.

## Hints
1. The new tokens are the last `count` of `length` tokens. What is the position of the first of
   them? And in which row of `q` is its query?
2. Row i of the tile is for the query in row `begin + i` of `q`, and each column is for a key. A
   token at position p sees the keys 0 to p.
3. `position = length - count + row`, `offset = (begin + row)[:, None] * DIM + dim[None, :]`, and
   `seen = key[None, :] <= position[:, None]`. Update `ell` and `acc` as in chapter 3, along axis 1,
   with `rescale[:, None]` for `acc`.

## Wrong answers
* position_from_0 (four cached tokens): The first new token is at position 0.
* not_itself (one token): A token sees the tokens before it, but not itself.
* no_causal_mask (nothing cached): All tokens of a prompt see each other.
* queries_from_0 (two sequences): The queries of every sequence begin at row 0.
* acc_not_rescaled (four cached tokens): What I have already added up no longer changes.

## vLLM
* vllm/attention/ops/prefix_prefill.py: context_attention_fwd
* vllm/attention/ops/paged_attn.py: PagedAttention.forward_prefix
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from pagesim.exercises.kit import Case, Cases, Random, Story, Timeline, close, parted
from pagesim.exercises.launching import arrays, decode_batch, launched

Rows = npt.NDArray[np.floating]
Ints = list[int]
same = close(1e-4, 1e-5)


def cases(rng: Random, hidden: bool) -> Cases:
    """Tables, lengths, how many of the tokens are new, and the block size."""
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
    for *case, tag in shown:
        yield Case(tuple(case), tag=str(tag))


def words(tables: list[Ints], lengths: Ints, new: Ints, block: int) -> str:
    return f"tables {tables}, {lengths} tokens, of which {new} are new, blocks of {block}"


def batch(tables: list[Ints], lengths: Ints, new: Ints, block: int) -> dict[str, Any]:
    """The launcher's arguments but for out: caches, tables and the new tokens' queries."""
    import torch

    blocks = max(max(table) for table in tables) + 1
    found = decode_batch(tables, lengths, blocks, block, head_dim=8)
    device, generator = found["q"].device, torch.Generator().manual_seed(1)
    found["q"] = torch.randn(sum(new), 1, 8, generator=generator).to(device)
    starts = [sum(new[:number]) for number in range(len(new) + 1)]
    return found | {"query_start": torch.tensor(starts, dtype=torch.int32, device=device)}


def call(prefix_prefill: Callable[..., None], *case: Any) -> Any:
    """Launch the student's kernel."""
    import torch

    given = batch(*case)
    out = torch.full_like(given["q"], float("nan"))
    launched(prefix_prefill, out=out, **given)
    return out[:, 0].cpu()


def oracle(tables: list[Ints], lengths: Ints, new: Ints, block: int) -> Rows:
    """The float64 reference: each new token as if it decoded."""
    from pagesim.kernels import reference

    q, k_cache, v_cache, table, length, start = arrays(batch(tables, lengths, new, block))
    rows = reference.one_row_per_query(start, table, length)
    return reference.gather_attention(q, k_cache, v_cache, *rows)[:, 0]


def why(yours: Rows, right: Rows, lengths: Ints, new: Ints) -> str:
    wrong, seq = parted(yours, right, same), 0
    while wrong >= new[seq]:
        wrong, seq = wrong - new[seq], seq + 1
    position = lengths[seq] - new[seq] + wrong
    at = f"{lengths[seq]} - {new[seq]} + {wrong} = {position}"
    sees = f"It sees the keys 0 to {position} and no others"
    told = f"New token {wrong} of sequence {seq} is at position {at}. {sees}"
    return f"{told}. If these are the keys that you chose, the fault is in ell or acc."


def play(lengths: Ints, new: Ints, block: int) -> Timeline:
    """A prompt arrives whose beginning another one has left in the cache."""
    cached = (lengths[0] - new[0]) // block * block
    story = Story(gpu_blocks=8, block_size=block, caching=True)
    if cached:
        first = story.arrive(range(cached))
        story.manager.mark_blocks_as_computed(first.group, cached)
    story.arrive(range(lengths[0]))
    return story.run.annotate(title=f"{lengths[0]} tokens arrive, {cached} of them are cached")
