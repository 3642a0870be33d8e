# %% right: all blocks but one, and one token more
def best_pair(num_blocks, block_size):
    first = [1] * ((num_blocks - 1) * block_size)
    second = first + [2]
    return first, second

# %% right: different tokens, a list of two
def best_pair(num_blocks, block_size):
    n = (num_blocks - 1) * block_size
    return [list(range(n)), list(range(n + 1))]

# %% right: NumPy
import numpy as np


def best_pair(num_blocks, block_size):
    second = np.arange((num_blocks - 1) * block_size + 1)
    return second[:-1], second

# %% right: token by token, tuples
def best_pair(num_blocks, block_size):
    prompt = []
    for block in range(num_blocks - 1):
        for slot in range(block_size):
            prompt.append(block * block_size + slot)
    return tuple(prompt), tuple(prompt) + (0,)

# %% right: the first as full as can be, written otherwise
def best_pair(num_blocks, block_size):
    tokens = range(100, 100 + num_blocks * block_size)
    keep = num_blocks * block_size - block_size
    return [*tokens[:keep]], [*tokens[: keep + 1]]

# %% wrong: the same prompt twice, in all blocks
def best_pair(num_blocks, block_size):
    prompt = list(range(num_blocks * block_size))
    return prompt, prompt

# %% wrong: half of the pool for each
def best_pair(num_blocks, block_size):
    half = num_blocks // 2 * block_size
    first = list(range(half))
    return first, first[:-1] + [99]

# %% wrong: a whole block more
def best_pair(num_blocks, block_size):
    first = [1] * ((num_blocks - 1) * block_size)
    second = first + [2] * block_size
    return first, second

# %% wrong: the new token in front
def best_pair(num_blocks, block_size):
    first = [1] * ((num_blocks - 1) * block_size)
    second = [2] + first
    return first, second

# %% wrong: one block too many
def best_pair(num_blocks, block_size):
    first = [1] * (num_blocks * block_size)
    second = first + [2]
    return first, second

# %% wrong: the first is one token short of its last block
def best_pair(num_blocks, block_size):
    first = [1] * ((num_blocks - 1) * block_size - 1)
    second = first + [2, 3]
    return first, second

# %% wrong: the second is the first
def best_pair(num_blocks, block_size):
    first = [1] * ((num_blocks - 1) * block_size)
    second = list(first)
    return first, second

# %% wrong: the first block alone is shared
def best_pair(num_blocks, block_size):
    first = list(range(block_size))
    return first, first + [100]

# %% wrong: two blocks are kept free
def best_pair(num_blocks, block_size):
    first = [1] + [1] * (max(num_blocks - 2, 0) * block_size)
    second = first + [2]
    return first, second

# %% wrong: first and second exchanged
def best_pair(num_blocks, block_size):
    first = [1] * ((num_blocks - 1) * block_size)
    second = first + [2]
    return second, first
