# %% right: one prompt more than blocks
def one_round(num_blocks, block_size):
    prompts = []
    for i in range(num_blocks + 1):
        prompts.append([i] * block_size)
    return prompts

# %% right: different tokens, NumPy
import numpy as np


def one_round(num_blocks, block_size):
    return np.arange((num_blocks + 1) * block_size).reshape(num_blocks + 1, block_size)

# %% right: tuples
def one_round(num_blocks, block_size):
    return tuple((7, ) * (block_size - 1) + (i,) for i in range(num_blocks + 1))

# %% right: the order of the circle turned round
def one_round(num_blocks, block_size):
    return [[number] * block_size for number in reversed(range(num_blocks + 1))]

# %% right: each prompt a range
def one_round(num_blocks, block_size):
    starts = [100 * number for number in range(num_blocks + 1)]
    return [range(start, start + block_size) for start in starts]

# %% wrong: as many prompts as blocks
# as "one prompt more than blocks", but
#-     for i in range(num_blocks + 1):
#+     for i in range(num_blocks):

# %% wrong: two prompts more than blocks
# as "one prompt more than blocks", but
#-     for i in range(num_blocks + 1):
#+     for i in range(num_blocks + 2):

# %% wrong: the same prompt again and again
# as "one prompt more than blocks", but
#-         prompts.append([i] * block_size)
#+         prompts.append([1] * block_size)

# %% wrong: blocks that are not full
# as "one prompt more than blocks", but
#-         prompts.append([i] * block_size)
#+         prompts.append([i] * (block_size - 1))

# %% wrong: one token more than a block, which takes two
# as "one prompt more than blocks", but
#-         prompts.append([i] * block_size)
#+         prompts.append([i] * block_size + [0])

# %% wrong: there and back again
# as "one prompt more than blocks", but
#-     return prompts
#+     return prompts + prompts[::-1]

# %% wrong: one prompt that is larger than the pool
def one_round(num_blocks, block_size):
    return [list(range((num_blocks + 1) * block_size))]

# %% wrong: prompts of two blocks with the same beginning
def one_round(num_blocks, block_size):
    return [[0] * block_size + [i] * block_size for i in range(1, num_blocks + 1)]

# %% wrong: each prompt twice in a row
# as "one prompt more than blocks", but
#-         prompts.append([i] * block_size)
#+         prompts += [[i] * block_size, [i] * block_size]

# %% wrong: only as many different ones as fit, one of them twice
# as "one prompt more than blocks", but
#-         prompts.append([i] * block_size)
#+         prompts.append([i % num_blocks] * block_size)
