"""4.2: where a number of the key cache lies."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import Any

from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.source import variant


def offset_k(
    block: int, head: int, dim: int, slot: int,
    num_heads: int, head_size: int, block_size: int, x: int,
) -> int:  # fmt: skip
    """The offset, in elements, of one number of the cache [blocks, heads, D/x, block_size, x]."""
    ### BEGIN SOLUTION
    piece, rest = divmod(dim, x)
    offset = block * num_heads + head
    offset = offset * (head_size // x) + piece
    offset = offset * block_size + slot
    return offset * x + rest
    ### END SOLUTION


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """One axis after the other, then all numbers of a small cache, then some of a large one."""
    sizes = (3, 12, 3, 4) if hidden else (2, 8, 4, 4)
    for at, tag in (
        ((0, 0, 0, 0), "the first number"),
        ((0, 0, 1, 0), "the next dimension"),
        ((0, 0, 0, 1), "the next slot"),
        ((0, 0, sizes[3], 0), "the next piece"),
        ((0, 1, 0, 0), "the next head"),
        ((1, 0, 0, 0), "the next block"),
    ):
        yield _case(at, sizes, tag)
    for at in product(range(2), range(2), range(8), range(3)):
        yield _case(at, sizes, "any")
    for _ in range(20):
        sizes = rng.choice((1, 8)), rng.choice((64, 80, 128)), rng.choice((8, 16, 32)), 8
        some = [rng.randrange(n) for n in (1000, sizes[0], sizes[1], sizes[2])]
        yield _case(tuple(some), sizes, "any")


def _case(at: tuple[int, ...], sizes: tuple[int, ...], tag: str) -> Case:
    block, head, dim, slot = at
    told = (
        f"block {block}, head {head}, dim {dim}, slot {slot}; {sizes[0]} heads of {sizes[1]}, "
        f"blocks of {sizes[2]}, x = {sizes[3]}"
    )
    return Case((*at, *sizes), told, tag)


def expected(
    block: int, head: int, dim: int, slot: int,
    num_heads: int, head_size: int, block_size: int, x: int,
) -> Any:  # fmt: skip
    """Number a block in the layout of the course, turn its axes as vLLM does, and look."""
    import numpy as np

    shape = block_size, num_heads, head_size // x, x
    natural = np.arange(block_size * num_heads * head_size).reshape(shape)
    turned = natural.transpose(1, 2, 0, 3).reshape(-1)
    number = natural[slot, head, dim // x, dim % x]
    return block * turned.size + int(np.flatnonzero(turned == number)[0])


def why(case: Case, yours: Any, right: Any) -> str:
    """The step that an axis of the layout has."""
    _, _, _, _, _, head_size, block_size, x = case.args
    said = {
        "the next dimension": f"{x} dimensions of a token lie side by side: the next is 1 further.",
        "the next slot": f"Behind {x} numbers of one token come {x} of the next: {x} further.",
        "the next piece": (
            f"The next {x} dimensions come when all {block_size} slots had their turn: "
            f"{block_size} * {x} further."
        ),
        "the next head": f"A head of a block has {head_size} * {block_size} numbers.",
        "the next block": "A block has the numbers of all its heads.",
    }
    return said.get(
        case.tag, "The axes are block, head, dim // x, slot and dim % x, in this order."
    )


EXERCISE = Exercise(
    number="4.2",
    title="An address in the key cache",
    stars=2,
    statement="""\
vLLM's CUDA kernels keep keys in the layout `[num_blocks, num_heads, head_size / x, block_size, x]`,
in one piece, numbers along the last axis side by side. Write `offset_k(block, head, dim, slot,
num_heads, head_size, block_size, x)`: the offset, in elements from the beginning of the cache, of
the number that belongs to this physical block, KV head, dimension of the head and slot of the
block.

In a cache of 2 heads of 8, blocks of 4 and x = 4, `offset_k(0, 0, 5, 1, 2, 8, 4, 4)` is 21.""",
    reference=offset_k,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "natural_order": Wrong(
            variant(
                offset_k,
                """offset = offset * (head_size // x) + piece
    offset = offset * block_size + slot
    return offset * x + rest""",
                """offset = offset * block_size + slot
    return offset * head_size + dim""",
            ),
            "A token's key lies in one piece.",
            "the next slot",
        ),
        "x_and_pieces_swapped": Wrong(
            variant(
                offset_k,
                "piece, rest = divmod(dim, x)",
                "rest, piece = divmod(dim, head_size // x)",
            ),
            "The innermost axis counts the pieces, and each has one number of x.",
            "the next dimension",
        ),
        "x_and_slots_swapped": Wrong(
            variant(
                offset_k,
                """offset = offset * block_size + slot
    return offset * x + rest""",
                """offset = offset * x + rest
    return offset * block_size + slot""",
            ),
            "The slots of a block lie side by side, as in V.",
            "the next dimension",
        ),
        "one_head": Wrong(
            variant(offset_k, "block * num_heads + head", "block + head"),
            "A block has the numbers of one head.",
            "the next block",
        ),
    },
    hints=(
        "How far apart are dim 0 and dim 1 of a token? And slot 0 and slot 1 of the same dim?",
        "Split dim into piece = dim // x and rest = dim % x. The five indices are then block, "
        "head, piece, slot, rest, in the order of the axes.",
        "Begin with block, multiply by the size of the next axis and add its index, four times: "
        "(((block * num_heads + head) * (head_size // x) + piece) * block_size + slot) * x + rest.",
    ),
    vllm=(
        "csrc/attention/attention_kernels.cuh: paged_attention_kernel, its k_ptr",
        "csrc/cache_kernels.cu: reshape_and_cache_kernel, its tgt_key_idx",
        "vllm/attention/ops/paged_attn.py: PagedAttention.split_kv_cache",
    ),
)
