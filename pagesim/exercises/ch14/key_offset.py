"""# 14.2 An address in the key cache ★★

vLLM's CUDA kernels keep keys in the layout `[num_blocks, num_heads, head_size / x, block_size, x]`,
in one piece, numbers along the last axis side by side. Write `offset_k(block, head, dim, slot,
num_heads, head_size, block_size, x)`: the offset, in elements from the beginning of the cache, of
the number that belongs to this physical block, KV head, dimension of the head and slot of the
block.

In a cache of 2 heads of 8, blocks of 4 and x = 4, `offset_k(0, 0, 5, 1, 2, 8, 4, 4)` is 21.

## Hints
1. How far apart are dim 0 and dim 1 of a token? And slot 0 and slot 1 of the same dim?
2. Split dim into piece = dim // x and rest = dim % x. The five indices are then block, head, piece,
   slot, rest, in the order of the axes.
3. Begin with block, multiply by the size of the next axis and add its index, four times: (((block *
   num_heads + head) * (head_size // x) + piece) * block_size + slot) * x + rest.

## Wrong answers
* natural_order (the next slot): A token's key lies in one piece.
* x_and_pieces_swapped (the next dimension): The innermost axis counts the pieces, and each has one
  number of x.
* x_and_slots_swapped (the next dimension): The slots of a block lie side by side, as in V.
* one_head (the next block): A block has the numbers of one head.

## vLLM
* csrc/attention/attention_kernels.cuh: paged_attention_kernel, its k_ptr
* csrc/cache_kernels.cu: reshape_and_cache_kernel, its tgt_key_idx
* vllm/attention/ops/paged_attn.py: PagedAttention.split_kv_cache
"""

from itertools import product

import numpy as np

from pagesim.exercises.kit import Case, Cases, Random


def offset_k(
    block: int, head: int, dim: int, slot: int,
    num_heads: int, head_size: int, block_size: int, x: int,
) -> int:  # fmt: skip
    """The offset, in elements, of one number of the cache [blocks, heads, D/x, block_size, x]."""
    ### BEGIN SOLUTION
    piece, rest = divmod(dim, x)
    ### x_and_pieces_swapped: rest, piece = divmod(dim, head_size // x)
    offset = block * num_heads + head
    ### one_head: offset = block + head
    offset = offset * (head_size // x) + piece
    ### natural_order:
    offset = offset * block_size + slot
    ### x_and_slots_swapped: offset = offset * x + rest
    return offset * x + rest
    ### natural_order: return offset * head_size + dim
    ### x_and_slots_swapped: return offset * block_size + slot
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
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
        yield Case((*at, *sizes), tag=tag)
    for at in product(range(2), range(2), range(8), range(3)):
        yield Case((*at, *sizes), tag="any")
    for _ in range(20):
        sizes = rng.choice((1, 8)), rng.choice((64, 80, 128)), rng.choice((8, 16, 32)), 8
        yield Case((*(rng.randrange(n) for n in (1000, *sizes[:3])), *sizes), tag="any")


def words(block: int, head: int, dim: int, slot: int, *sizes: int) -> str:
    heads, head_size, block_size, x = sizes
    cache = f"{heads} heads of {head_size}, blocks of {block_size}, x = {x}"
    return f"block {block}, head {head}, dim {dim}, slot {slot}; {cache}"


def oracle(block: int, head: int, dim: int, slot: int, *sizes: int) -> int:
    """Number a block in the layout of the course, turn its axes as vLLM does, and look."""
    heads, head_size, block_size, x = sizes
    natural = np.arange(block_size * heads * head_size).reshape(block_size, heads, -1, x)
    turned = natural.transpose(1, 2, 0, 3).reshape(-1)
    number = natural[slot, head, dim // x, dim % x]
    return block * turned.size + int(np.flatnonzero(turned == number)[0])


def why(head_size: int, block_size: int, x: int, tag: str) -> str:
    turns = f"The next {x} dimensions come when all {block_size} slots had their turn"
    steps = {
        "the next dimension": f"{x} dimensions of a token lie side by side: the next is 1 further.",
        "the next slot": f"Behind {x} numbers of one token come {x} of the next: {x} further.",
        "the next piece": f"{turns}: {block_size} * {x} further.",
        "the next head": f"A head of a block has {head_size} * {block_size} numbers.",
        "the next block": "A block has the numbers of all its heads.",
    }
    return steps.get(tag, "The axes are block, head, dim // x, slot and dim % x, in this order.")
