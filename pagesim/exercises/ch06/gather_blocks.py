"""6.4: a Triton kernel that gathers scattered blocks, so that one transfer moves them all."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from pagesim.exercises import source
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.launching import ALL, WRAPPED, FarRow, far_rows, launched, too_early
from pagesim.exercises.source import variant
from pagesim.exercises.stage import placed
from pagesim.timeline.run import Timeline

STATEMENT = """
vLLM 0.6.4 swaps block by block: each block of each layer is a copy of its own over the bus, and
many small copies are slow. The way out is a **staging buffer**: a kernel copies the blocks of a
table next to each other, and one large copy takes them to the CPU. Complete that kernel, four lines
between the marks:

```python
gather_kernel(buffer_ptr, cache_ptr, table_ptr, numbers, TILE)
```

* `cache`: `[num_blocks, block_size, heads, head_dim]`, float32, contiguous. A block has
  `numbers = block_size · heads · head_dim` elements, so block b begins at element `b * numbers`;
* `table`: int64, the ids of the blocks that are wanted, in their order;
* `buffer`: room for the blocks of the table and one more behind them. That last one is a guard:
  nothing may be written there.

One program copies `TILE` elements of one block. `number` has their places in the block. `numbers`
need not be a multiple of `TILE`: then the last program of each block has fewer.

Example: blocks of 6 elements, table `[2, 0]`. Elements 0 to 5 of the buffer come from elements 12
to 17 of the cache, elements 6 to 11 from elements 0 to 5.

The launcher `gather_blocks(cache, table, buffer)` is complete; it is what `check` calls. Every
block that is not in the table holds NaN. Nothing may be read outside of the cache either, and once
the cache is so large that `b * numbers` does not fit in 32 bits.
"""

REFERENCE = source.cell(__file__, "gather_blocks", "gather_blocks")
GUARD = -1.0
FAR = 2**28
"""A block whose 8 numbers begin at element 2**31: one more than the largest int32."""
FINE = "inside of the tensors"


def _cache(num_blocks: int, shape: tuple[int, ...], table: list[int]) -> Any:
    """Block b holds b·1000 and up; blocks outside of the table hold NaN."""
    import numpy as np

    numbers = int(np.prod(shape))
    cache = np.full((num_blocks, numbers), np.nan, dtype=np.float32)
    for block in table:
        cache[block] = 1000 * block + np.arange(numbers)
    return cache.reshape(num_blocks, *shape)


def expected(num_blocks: int, shape: tuple[int, ...], table: list[int]) -> Any:
    """The reference's gather, token by token, with the guard behind it."""
    import numpy as np

    from pagesim.kernels import reference

    if table == [FAR]:
        return {"buffer": [], "accesses": ALL}
    cache = _cache(num_blocks, shape, table)
    rows = reference.gather(cache, np.array(table), np.arange(len(table) * shape[0]))
    buffer = [*rows.reshape(-1).tolist(), *[GUARD] * int(np.prod(shape))]
    return {"buffer": buffer, "accesses": FINE}


def call(gather_blocks: Callable[..., Any], case: Case) -> Any:
    """The buffer after a launch, guard included, as one list, and what was touched outside."""
    import torch

    from pagesim import kernels

    num_blocks, shape, table = case.args
    far = table == [FAR]
    if far and kernels.backend.decide().mode != "interpreted":
        return expected(*case.args)  # only the interpreter can be asked without such a cache
    device = kernels.backend.device()
    buffer = torch.full((len(table) + 1, *shape), GUARD, device=device)
    cache = torch.from_numpy(_cache(num_blocks, shape, [] if far else table)).to(device)
    ids = torch.tensor(table, device=device)
    trace = launched(gather_blocks, cache=cache, table=ids, buffer=buffer)
    size = cache[0].numel()
    rows = [FarRow("cache", cache, FAR * size, size)] if far else []
    said = far_rows(trace, "read", rows) if trace else {}
    accesses = said.get("outside") or said.get("cache") or FINE
    return {"buffer": [] if far else buffer.cpu().flatten().tolist(), "accesses": accesses}


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    sizes = [(2, (2, 1, 4), 1), (4, (2, 1, 4), 2), (4, (2, 1, 3), 2), (5, (3, 1, 5), 2)]
    sizes += [(6, (4, 2, 3), 3)]
    if hidden:
        sizes = [(3, (4, 1, 4), 1), (5, (3, 1, 5), 3), (8, (4, 2, 5), 4), (9, (1, 3, 7), 5)]
    for num_blocks, shape, length in sizes:
        table = [num_blocks - 1, *rng.sample(range(num_blocks - 1), length - 1)]
        tokens, heads, dim = shape
        yield Case(
            (num_blocks, shape, table),
            f"{num_blocks} blocks of {tokens} tokens with {heads} x {dim} numbers, table {table}",
            _tag(shape, length),
        )
    told = f"table [{FAR}], blocks of 2 tokens with 1 x 4 numbers, a cache of more blocks than that"
    yield Case((2, (2, 1, 4), [FAR]), told, "a block far out")


def _tag(shape: tuple[int, int, int], length: int) -> str:
    if shape[0] * shape[1] * shape[2] % 8:
        return "a block is not a multiple of a tile"
    return "one block" if length == 1 else "several blocks"


def why(case: Case, yours: Any, right: Any) -> str:
    _, shape, table = case.args
    numbers = shape[0] * shape[1] * shape[2]
    said = yours["accesses"]
    if said.endswith(WRAPPED):
        return too_early(f"block * {numbers}")
    if table == [FAR]:
        return f"Block {FAR} is to be copied, and there is {said}."
    pairs = zip(yours["buffer"], right["buffer"], strict=True)
    place = next((i for i, (a, b) in enumerate(pairs) if a != b), None)
    if place is None:
        return (
            f"The buffer is right, but there is {said}: a block has {numbers} numbers, and its "
            "last program goes on to the end of its tile. Mask the load as well as the store."
        )
    at, number = divmod(place, numbers)
    if at == len(table):
        return "Something was written behind the last block: mask what is not in the block."
    return (
        f"Element {number} of the buffer's block {at} is element {number} of block {table[at]} of "
        f"the cache: {table[at]} · {numbers} + {number} there, {at} · {numbers} + {number} here."
    )


def play(case: Case) -> Timeline:
    num_blocks, shape, table = case.args
    return placed([block % num_blocks for block in table], len(table) * shape[0], shape[0])


EXERCISE = Exercise(
    number="6.4",
    title="Gather blocks for the bus",
    stars=3,
    statement=STATEMENT,
    reference=REFERENCE,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "no_table": Wrong(
            variant(REFERENCE, "tl.load(table_ptr + place)", "place"),
            "The blocks of a sequence lie next to each other.",
            "one block",
        ),
        "scattered": Wrong(
            variant(REFERENCE, "buffer_ptr + place * numbers", "buffer_ptr + block * numbers"),
            "A block keeps its number in the buffer.",
            "one block",
        ),
        "first_block": Wrong(
            variant(REFERENCE, "tl.load(table_ptr + place)", "tl.load(table_ptr)"),
            "All programs read the same entry of the table.",
            "several blocks",
        ),
        "tile_as_step": Wrong(
            variant(REFERENCE, "buffer_ptr + place * numbers", "buffer_ptr + place * TILE"),
            "A block is as large as a tile.",
            "a block is not a multiple of a tile",
        ),
        "no_mask": Wrong(
            variant(REFERENCE, "number < numbers", "number >= 0"),
            "Every program has a whole tile to copy.",
            "a block is not a multiple of a tile",
        ),
    },
    hints=(
        "Two addresses are needed: where the block lies in the cache, and where it goes.",
        "tl.load(table_ptr + place) is the id of the block that this program copies.",
        "Load from cache_ptr + block * numbers + number, store to buffer_ptr + place * numbers + "
        "number, both with mask=number < numbers.",
    ),
    vllm=(
        "csrc/cache_kernels.cu: swap_blocks",
        "csrc/cache_kernels.cu: copy_blocks_kernel",
        "vllm/worker/cache_engine.py: CacheEngine.swap_out",
    ),
    play=play,
    call=call,
    seconds=30.0,
    needs_triton=True,
)
