from collections import deque

import numpy as np


# %% right: a comprehension
def slots(table, num_tokens, block_size):
    return [table[p // block_size] * block_size + p % block_size for p in range(num_tokens)]

# %% right: arrays
def slots(table, num_tokens, block_size):
    p = np.arange(num_tokens)
    return np.asarray(table)[p // block_size] * block_size + p % block_size

# %% right: block by block, cut at the end; NumPy integers in a list
def slots(table, num_tokens, block_size):
    answer = []
    for block in np.array(table):
        for offset in range(block_size):
            answer.append(block * block_size + offset)
    return answer[:num_tokens]

# %% right: a tuple, with divmod
def slots(table, num_tokens, block_size):
    pairs = (divmod(p, block_size) for p in range(num_tokens))
    return tuple(table[page] * block_size + offset for page, offset in pairs)

# %% right: a deque
def slots(table, num_tokens, block_size):
    answer = deque()
    page, offset = 0, 0
    while len(answer) < num_tokens:
        answer.append(table[page] * block_size + offset)
        offset += 1
        if offset == block_size:
            page, offset = page + 1, 0
    return answer

# %% wrong: the block's id is not multiplied
def slots(table, num_tokens, block_size):
    return [table[p // block_size] + p % block_size for p in range(num_tokens)]

# %% wrong: the table is not asked
def slots(table, num_tokens, block_size):
    return [p // block_size * block_size + p % block_size for p in range(num_tokens)]

# %% wrong: division and remainder exchanged
def slots(table, num_tokens, block_size):
    return [table[p % len(table)] * block_size + p // len(table) for p in range(num_tokens)]

# %% wrong: the first block goes on
def slots(table, num_tokens, block_size):
    return [table[0] * block_size + p for p in range(num_tokens)]

# %% wrong: all slots of all blocks
def slots(table, num_tokens, block_size):
    return [block * block_size + i for block in table for i in range(block_size)]

# %% wrong: tokens counted from 1
def slots(table, num_tokens, block_size):
    return [table[(p - 1) // block_size] * block_size + p % block_size for p in range(1, num_tokens + 1)]

# %% wrong: always 16 slots
def slots(table, num_tokens, block_size):
    return [table[p // 16] * 16 + p % 16 for p in range(num_tokens)]

# %% wrong: in ascending order
def slots(table, num_tokens, block_size):
    return sorted(table[p // block_size] * block_size + p % block_size for p in range(num_tokens))

# %% wrong: a byte for each slot
def slots(table, num_tokens, block_size):
    p = np.arange(num_tokens)
    blocks = np.array(table, dtype=np.int8)[p // block_size]
    return blocks * np.int8(block_size) + (p % block_size).astype(np.int8)

# %% wrong: the table from behind
def slots(table, num_tokens, block_size):
    return [table[-1 - p // block_size] * block_size + p % block_size for p in range(num_tokens)]

# %% wrong: the last block only as far as a full one
def slots(table, num_tokens, block_size):
    answer = []
    for block in table[: max(1, num_tokens // block_size)]:
        answer += range(block * block_size, (block + 1) * block_size)
    return answer[:num_tokens]
