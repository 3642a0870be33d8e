import math

import numpy as np


# %% right: not
def needs_a_block(length, block_size):
    return not length % block_size

# %% right: blocks before and after
def needs_a_block(length, block_size):
    return math.ceil((length + 1) / block_size) > math.ceil(length / block_size)

# %% right: one of NumPy's bools
def needs_a_block(length, block_size):
    return np.mod(length, block_size) == 0

# %% right: fills the blocks one token at a time
def needs_a_block(length, block_size):
    room = 0
    for _ in range(length):
        if room == 0:
            room = block_size
        room -= 1
    return room == 0

# %% right: the multiple
def needs_a_block(length, block_size):
    full_blocks = length // block_size
    return full_blocks * block_size == length

# %% wrong: the remainder is 1
def needs_a_block(length, block_size):
    return length % block_size == 1

# %% wrong: one too early
def needs_a_block(length, block_size):
    return (length + 1) % block_size == 0

# %% wrong: the other way round
def needs_a_block(length, block_size):
    return length % block_size != 0

# %% wrong: the first block only
def needs_a_block(length, block_size):
    return length == block_size

# %% wrong: whatever is longer than a block
def needs_a_block(length, block_size):
    return length >= block_size

# %% wrong: for powers of two only
def needs_a_block(length, block_size):
    return length & (block_size - 1) == 0

# %% wrong: blocks of four
def needs_a_block(length, block_size):
    return length % 4 == 0

# %% wrong: blocks counted downwards, one too early
def needs_a_block(length, block_size):
    return (length + 1) // block_size > length // block_size

# %% wrong: the remainder itself
def needs_a_block(length, block_size):
    return length % block_size

# %% wrong: a full first block does not count
def needs_a_block(length, block_size):
    return length > block_size and length % block_size == 0

# %% wrong: not for blocks of one
def needs_a_block(length, block_size):
    return block_size > 1 and length % block_size == 0
