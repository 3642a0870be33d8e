import numpy as np


# %% right: strides
def offset_k(block, head, dim, slot, num_heads, head_size, block_size, x):
    per_piece = block_size * x
    per_head = head_size * block_size
    return (
        block * num_heads * per_head + head * per_head + dim // x * per_piece + slot * x + dim % x
    )

# %% right: NumPy's own
def offset_k(block, head, dim, slot, num_heads, head_size, block_size, x):
    shape = (block + 1, num_heads, head_size // x, block_size, x)
    return np.ravel_multi_index((block, head, dim // x, slot, dim % x), shape)

# %% right: Horner, in a loop
def offset_k(block, head, dim, slot, num_heads, head_size, block_size, x):
    at = 0
    for size, index in (
        (1, block), (num_heads, head), (head_size // x, dim // x), (block_size, slot), (x, dim % x)
    ):
        at = at * size + index
    return at

# %% right: a dot product, a NumPy integer
def offset_k(block, head, dim, slot, num_heads, head_size, block_size, x):
    sizes = np.array([num_heads, head_size // x, block_size, x, 1])
    strides = np.cumprod(sizes[::-1])[::-1]
    return np.dot([block, head, dim // x, slot, dim % x], strides)

# %% right: a piece removed from the dim
def offset_k(block, head, dim, slot, num_heads, head_size, block_size, x):
    rest = dim % x
    return (block * num_heads + head) * head_size * block_size + (dim - rest) * block_size + slot * x + rest

# %% wrong: the natural order
def offset_k(block, head, dim, slot, num_heads, head_size, block_size, x):
    return ((block * block_size + slot) * num_heads + head) * head_size + dim

# %% wrong: no x
def offset_k(block, head, dim, slot, num_heads, head_size, block_size, x):
    return ((block * num_heads + head) * head_size + dim) * block_size + slot

# %% wrong: slot before piece
def offset_k(block, head, dim, slot, num_heads, head_size, block_size, x):
    return ((block * num_heads + head) * block_size + slot) * head_size + dim

# %% wrong: division and remainder of dim exchanged
def offset_k(block, head, dim, slot, num_heads, head_size, block_size, x):
    at = (block * num_heads + head) * (head_size // x) + dim % x
    return (at * block_size + slot) * x + dim // x

# %% wrong: head_size in place of head_size // x
def offset_k(block, head, dim, slot, num_heads, head_size, block_size, x):
    at = (block * num_heads + head) * head_size + dim // x
    return (at * block_size + slot) * x + dim % x

# %% wrong: the slot counts once
def offset_k(block, head, dim, slot, num_heads, head_size, block_size, x):
    at = (block * num_heads + head) * head_size * block_size
    return at + dim // x * block_size * x + slot + dim % x

# %% wrong: heads counted before blocks
def offset_k(block, head, dim, slot, num_heads, head_size, block_size, x):
    at = (head * num_heads + block) * (head_size // x) + dim // x
    return (at * block_size + slot) * x + dim % x

# %% wrong: dim without its remainder
def offset_k(block, head, dim, slot, num_heads, head_size, block_size, x):
    at = (block * num_heads + head) * (head_size // x) + dim // x
    return (at * block_size + slot) * x

# %% wrong: the number of blocks of a head forgotten
def offset_k(block, head, dim, slot, num_heads, head_size, block_size, x):
    at = (block + head) * (head_size // x) + dim // x
    return (at * block_size + slot) * x + dim % x

# %% wrong: always 8
def offset_k(block, head, dim, slot, num_heads, head_size, block_size, x):
    at = (block * num_heads + head) * (head_size // 8) + dim // 8
    return (at * block_size + slot) * 8 + dim % 8

# %% wrong: in bytes
def offset_k(block, head, dim, slot, num_heads, head_size, block_size, x):
    at = (block * num_heads + head) * (head_size // x) + dim // x
    return 2 * ((at * block_size + slot) * x + dim % x)

# %% wrong: blocks of 16 slots
def offset_k(block, head, dim, slot, num_heads, head_size, block_size, x):
    at = (block * num_heads + head) * (head_size // x) + dim // x
    return (at * 16 + slot) * x + dim % x
