"""# 5.4 Gather blocks for the bus ★★★

vLLM 0.6.4 swaps block by block: it makes a separate copy over the bus for each block of each layer.
Many small copies are slow. A **staging buffer** helps: a kernel first copies the blocks of a table
into one contiguous buffer, and then a single large copy takes them to the CPU. Complete that
kernel, four lines between the marks:

```python
gather_kernel(buffer_ptr, cache_ptr, table_ptr, numbers, TILE)
```

* `cache`: `[num_blocks, block_size, heads, head_dim]`, float32, contiguous. A block has
  `numbers = block_size · heads · head_dim` elements, so block b begins at element `b * numbers`;
* `table`: int64, the ids of the blocks to copy, in order;
* `buffer`: room for the blocks of the table, and for one more at the end. The last one is a guard:
  nothing may be written there.

One program copies `TILE` elements of one block. Two variables are given: `place` is the block's
place in the table and in the buffer, and `number` holds the places of the elements within the
block. `numbers` need not be a multiple of `TILE`. If it is not, the last program of each block has
fewer elements to copy.

Example: blocks of 6 elements, and the table `[2, 0]`. Elements 0 to 5 of the buffer come from
elements 12 to 17 of the cache, and elements 6 to 11 of the buffer come from elements 0 to 5 of the
cache.

The launcher `gather_blocks(cache, table, buffer)` is complete, and `check` calls it. Every block
that is not in the table holds NaN, and nothing outside the cache may be read. In one case, the
cache is so large that `b * numbers` does not fit into 32 bits.

## Hints
1. You need two addresses: where the block begins in the cache, and where it begins in the buffer.
2. `tl.load(table_ptr + place)` is the id of the block that this program copies.
3. Load from `cache_ptr + block * numbers + number`, and store to
   `buffer_ptr + place * numbers + number`. Use `mask=number < numbers` for the load and for the
   store.

## Wrong answers
* no_table (one block): The blocks of a sequence are next to each other in the cache.
* scattered (one block): A block has the same number in the buffer as in the cache.
* first_block (several blocks): All programs read the same entry of the table.
* tile_as_step (a block is not a multiple of a tile): A block is as large as a tile.
* no_mask (a block is not a multiple of a tile): Every program has a whole tile to copy.

## vLLM
* csrc/cache_kernels.cu: swap_blocks
* csrc/cache_kernels.cu: copy_blocks_kernel
* vllm/worker/cache_engine.py: CacheEngine.swap_out
"""

from typing import Any

import numpy as np

from pagesim.exercises import launching
from pagesim.exercises.kit import Array, Case, Cases, Random, Timeline, parted, placed
from pagesim.files.jsonl import JsonObject

Found = JsonObject
"""The buffer, guard included, as one list, and what was touched outside."""
Shape = tuple[int, int, int]
"""Tokens, heads and numbers of a block."""

GUARD, FINE = -1.0, "inside the tensors"
FAR = 2**28
"""A block whose 8 numbers begin at element 2**31: one more than the largest int32."""


def cases(rng: Random, hidden: bool) -> Cases:
    """One block, several, blocks that do not fill their tiles, and one far out."""
    sizes = [(2, (2, 1, 4), 1), (4, (2, 1, 4), 2), (4, (2, 1, 3), 2), (5, (3, 1, 5), 2)]
    sizes += [(6, (4, 2, 3), 3)]
    if hidden:
        sizes = [(3, (4, 1, 4), 1), (5, (3, 1, 5), 3), (8, (4, 2, 5), 4), (9, (1, 3, 7), 5)]
    for num_blocks, shape, length in sizes:
        table = [num_blocks - 1, *rng.sample(range(num_blocks - 1), length - 1)]
        tag = "one block" if length == 1 else "several blocks"
        tag = "a block is not a multiple of a tile" if np.prod(shape) % 8 else tag
        yield Case((num_blocks, shape, table), tag=tag)
    yield Case((2, (2, 1, 4), [FAR]), tag="a block far out")


def words(num_blocks: int, shape: Shape, table: list[int]) -> str:
    tokens, heads, dim = shape
    blocks = f"blocks of {tokens} tokens with {heads} x {dim} elements"
    far = f"table {table}, {blocks}, a cache with more blocks than that"
    return far if table == [FAR] else f"{num_blocks} {blocks}, table {table}"


def cached(num_blocks: int, shape: Shape, table: list[int]) -> Array:
    """Block b holds b·1000 and up; blocks outside of the table hold NaN."""
    numbers = int(np.prod(shape))
    cache = np.full((num_blocks, numbers), np.nan, dtype=np.float32)
    for block in table:
        cache[block] = 1000 * block + np.arange(numbers)
    return cache.reshape(num_blocks, *shape)


def oracle(num_blocks: int, shape: Shape, table: list[int]) -> Found:
    """The reference's gather, token by token, with the guard behind it."""
    from pagesim.kernels import reference

    if table == [FAR]:
        return {"buffer": [], "accesses": launching.ALL}
    cache = cached(num_blocks, shape, table)
    rows = reference.gather(cache, np.array(table), np.arange(len(table) * shape[0]))
    return {"buffer": [*rows.ravel().tolist(), *[GUARD] * cache[0].size], "accesses": FINE}


def call(gather: Any, num_blocks: int, shape: Shape, table: list[int]) -> Found:
    """Launch the student's kernel, and look at the buffer and at every access."""
    far = table == [FAR]
    if far and not launching.interpreted():
        return oracle(num_blocks, shape, table)
    blocks = cached(num_blocks, shape, [] if far else table)
    room = np.full((len(table) + 1, *shape), GUARD, np.float32)
    cache, ids, buffer = launching.tensors(blocks, np.array(table), room)
    trace = launching.launched(gather, cache=cache, table=ids, buffer=buffer)
    rows = [launching.FarRow("cache", cache, FAR * blocks[0].size, blocks[0].size)] if far else []
    [accesses] = (launching.far_rows(trace, "read", rows) if trace else {}).values() or [FINE]
    return {"buffer": [] if far else buffer.flatten().tolist(), "accesses": accesses}


def why(yours: Found, right: Found, shape: Shape, table: list[int]) -> str:
    numbers, accesses = int(np.prod(shape)), yours["accesses"]
    if accesses.endswith(launching.WRAPPED):
        return launching.too_early(f"block * {numbers}")
    if table == [FAR]:
        does = f"there is {accesses}" if accesses.startswith("a ") else f"it {accesses}"
        return f"The kernel must copy block {FAR}, but {does}."
    if yours["buffer"] == right["buffer"]:
        last = "its last program must stop there, not at the end of its tile"
        outside = f"The buffer is right, but there is {accesses}. A block has {numbers} elements"
        return f"{outside}, and {last}. Mask both the load and the store."
    at, number = divmod(parted(yours["buffer"], right["buffer"]), numbers)
    if at == len(table):
        return "Something was written behind the last block. Mask what is not in the block."
    there = f"element {table[at]} · {numbers} + {number} of the cache"
    of_buffer = f"Element {at} · {numbers} + {number} of the buffer must come from {there}"
    return f"{of_buffer}, because block {at} of the buffer is block {table[at]} of the cache."


def play(num_blocks: int, shape: Shape, table: list[int]) -> Timeline:
    return placed([block % num_blocks for block in table], len(table) * shape[0], shape[0])
