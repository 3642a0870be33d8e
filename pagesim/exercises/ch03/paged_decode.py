"""# 3.3 A paged kernel in Triton ★★★

In section 3 you wrote attention block by block, as a loop in NumPy. Here the same loop is a Triton
kernel, as in section 5: one program for each sequence, and one head. Fill in the four gaps of
`paged_decode`.

`q` and `out` are `[num_seqs, DIM]` and the caches are `[num_blocks, BLOCK, DIM]`, all float32.
`block_tables` is int32 `[num_seqs, TABLE]` and `seq_lens` is int32 `[num_seqs]`. All of these
tensors are contiguous, row after row, so row `i` of the tables begins at
`block_tables + i * TABLE`.

`at` is given. It has the places of the block's keys and values in the caches, `[BLOCK, DIM]`.
`tl.load(pointer, mask=…, other=0.0)` reads only where the mask is true, and gives 0.0 elsewhere.
Make `block` 64 bits wide with `.to(tl.int64)`: in a large cache, the places do not fit into 32
bits.

`check` launches the kernel with a cache that holds NaN wherever there is no token. If you read a
wrong slot, `check` tells you which program did, and whose slot it was.

## Hints
1. Put the kernel beside the loop of section 3 and compare them line by line. The loop reads
   `block_table[entry]`. Where is this element here, where the tables of all sequences are in one
   tensor?
2. Gap 1: load from `block_tables + seq * TABLE + page`, then `.to(tl.int64)`. Gap 2: position
   `page * BLOCK + row` is a token if it is below `length`. Call this mask `seen`, and load keys and
   values with `mask=seen[:, None]`. Gap 3: `rescale = tl.exp(m - new_m)`. Gap 4: store `acc / ell`.
3. Gap 3: `ell = ell * rescale + tl.sum(weights, axis=0)` and
   `acc = acc * rescale + tl.sum(weights[:, None] * values, axis=0)`. Gap 4:
   `tl.store(out + seq * DIM + dim, acc / ell)`.

## Wrong answers
* page_for_block (one token): The keys of logical block i are in block i of the cache.
* first_row_of_the_table (two sequences): block_tables is the table of my sequence.
* one_row_too_many (one token): A sequence of n tokens has the positions up to n.
* values_not_masked (one token): A weight of 0 cancels any value.
* acc_not_rescaled (two pages): Of the two sums, only ell is relative to the maximum.
* not_divided (a full page): acc is already the average.

## vLLM
* csrc/attention/attention_kernels.cuh: paged_attention_kernel
* vllm/attention/ops/paged_attn.py: PagedAttention.forward_decode
* vllm/attention/ops/prefix_prefill.py: _fwd_kernel, which is Triton
"""

from pagesim.exercises.ch03 import decoding
from pagesim.exercises.kit import Case, Cases, Random, Timeline, has_nan, placed_together
from pagesim.exercises.launching import WRAPPED, too_early

call, oracle, same = decoding.call, decoding.oracle, decoding.same


def cases(rng: Random, hidden: bool) -> Cases:
    """One token, a full page, two pages, two sequences."""
    b = 8 if hidden else 4
    table = rng.sample(range(8), 5) if hidden else [5, 0, 3, 7, 2]
    first, second = table[:3], table[3:]
    yield Case(([first[:1]], [1], b, 0), tag="one token")
    yield Case(([first[:1]], [b], b, 0), tag="a full page")
    yield Case(([first[:2]], [b + 1], b, 0), tag="two pages")
    yield Case(([first[:2]], [2 * b], b, 0), tag="two pages")
    yield Case(([first, second[:1]], [2 * b + 1, 3], b, 0), tag="two sequences")
    yield Case(([second, first], [b + 3, 3 * b], b, 0), tag="two sequences")
    yield Case(([[decoding.FAR // b]], [b - 1], b, 0), tag="a block far out")


def words(tables: decoding.Tables, lengths: list[int], block_size: int) -> str:
    return f"tables {tables}, lengths {lengths}, blocks of {block_size} slots"


def why(yours: decoding.Answer, right: decoding.Answer, lengths: list[int], block_size: int) -> str:
    if (read := yours["reads"]) != decoding.FINE:
        if WRAPPED in read:
            return too_early("(block * BLOCK + row) * DIM")
        tail = "that is where NaN comes from" if has_nan(yours["answers"]) else "that is the error"
        return f"{read[0].upper()}{read[1:]}: {tail}."
    empty = [seq for seq, row in enumerate(yours["answers"]) if has_nan(row)]
    if empty and len(empty) < len(yours["answers"]):
        return f"Row {empty[0]} of out was not written: row i begins at out + i * DIM."
    seq = decoding.first_wrong(yours, right)
    if (pages := -(-lengths[seq] // block_size)) > 1:
        has = f"Sequence {seq} has {pages} blocks, and its program read the right slots"
        rule = "When a larger score comes, multiply both ell and acc by exp(m - new_m)"
        return f"{has}. But the output is wrong. {rule}."
    right_slots = f"The program of sequence {seq} read the right slots"
    sums = "acc holds sums of exp(score - m) * value"
    return f"{right_slots}. But {sums}; divide them by ell to get an average."


def play(tables: decoding.Tables, lengths: list[int], block_size: int) -> Timeline:
    near = [[block % decoding.NUM_BLOCKS for block in table] for table in tables]
    return placed_together(near, lengths, block_size)
