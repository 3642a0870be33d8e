"""# 14.2 An address in the key cache ★★

vLLM's CUDA kernels store keys in the layout
`[num_blocks, num_heads, head_size / x, block_size, x]`: the `head_size` elements of a key are cut
into pieces of `x`, and the third axis counts the pieces. The cache is contiguous, and elements
along the last axis are side by side.

Write `offset_k(block, head, dim, slot, num_heads, head_size, block_size, x)`. The function returns
where one element of a key is, as an offset from the beginning of the cache, counted in elements.
The element is given by its physical block, its KV head, its dimension in the head, and its slot in
the block.

Example: in a cache of 2 heads of 8 dimensions, with blocks of 4 and x = 4,
`offset_k(0, 0, 5, 1, 2, 8, 4, 4)` is 21.

## Hints
1. How far apart are dim 0 and dim 1 of a token? How far apart are slot 0 and slot 1 of the same
   dim?
2. Split `dim` into `piece = dim // x` and `rest = dim % x`. In the order of the axes, the five
   indices are then block, head, piece, slot and rest.
3. Begin with `block`. Then multiply by the size of the next axis and add its index, four times:
   `(((block * num_heads + head) * (head_size // x) + piece) * block_size + slot) * x + rest`.

## Wrong answers
* natural_order (the next slot): The elements of a token's key are all side by side.
* x_and_pieces_swapped (the next dimension): The innermost axis counts the pieces, and the axis
  before it counts the x elements of each.
* x_and_slots_swapped (the next dimension): The slots of a block are side by side, as in V.
* one_head (the next block): A block has the elements of one head.

## vLLM
* csrc/attention/attention_kernels.cuh: paged_attention_kernel, its k_ptr
* csrc/cache_kernels.cu: reshape_and_cache_kernel, its tgt_key_idx
* vllm/attention/ops/paged_attn.py: PagedAttention.split_kv_cache
"""

from itertools import product

from pagesim.exercises.kit import Case, Cases, Random


def offset_k(
    block: int, head: int, dim: int, slot: int,
    num_heads: int, head_size: int, block_size: int, x: int,
) -> int:  # fmt: skip
    """The offset, in elements, of one element of the cache [blocks, heads, D/x, block_size, x]."""
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
    """Walk through a block in the order of vLLM's axes, and count."""
    heads, head_size, block_size, x = sizes
    pieces = range(head_size // x)
    turned = list(product(range(heads), pieces, range(block_size), range(x)))
    return block * len(turned) + turned.index((head, dim // x, slot, dim % x))


def why(head_size: int, block_size: int, x: int, tag: str) -> str:
    turns = f"The next {x} dimensions come only after all {block_size} slots"
    steps = {
        "the next dimension": f"{x} dimensions of a token are side by side: the next is 1 further.",
        "the next slot": f"After {x} elements of a slot come {x} of the next slot, {x} further.",
        "the next piece": f"{turns}, so they are {block_size} * {x} further.",
        "the next head": f"One head of a block has {head_size} * {block_size} elements.",
        "the next block": "A block has the elements of all its heads.",
    }
    return steps.get(tag, "The axes are block, head, dim // x, slot and dim % x, in this order.")
