from pagesim import kernels  # first: it turns on Triton's interpreter where there is no GPU

import triton
import triton.language as tl


@triton.jit
def gather_kernel(buffer_ptr, cache_ptr, table_ptr, numbers, TILE: tl.constexpr):
    """One program: TILE elements of one block. A block has `numbers` of them."""
    place = tl.program_id(0)  # of the block in the buffer
    number = tl.program_id(1) * TILE + tl.arange(0, TILE)  # of the element in its block
    ### BEGIN SOLUTION
    block = tl.load(table_ptr + place)
    ### no_table: block = place
    ### first_block: block = tl.load(table_ptr)
    inside = number < numbers
    ### no_mask: inside = number >= 0
    values = tl.load(cache_ptr + block * numbers + number, mask=inside)
    tl.store(buffer_ptr + place * numbers + number, values, mask=inside)
    ### scattered: tl.store(buffer_ptr + block * numbers + number, values, mask=inside)
    ### tile_as_step: tl.store(buffer_ptr + place * TILE + number, values, mask=inside)
    ### END SOLUTION


def gather_blocks(cache, table, buffer):
    """Copy the blocks of a table into `buffer`, one after the other.

    cache: [num_blocks, block_size, heads, head_dim]; table: int64 [n]; buffer: the shape of
    n + 1 blocks. Its last block is a guard, and must stay as it is.
    """
    numbers, tile = cache[0].numel(), 8
    grid = (len(table), triton.cdiv(numbers, tile))
    gather_kernel[grid](buffer, cache, table, numbers, TILE=tile)
