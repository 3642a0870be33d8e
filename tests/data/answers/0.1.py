import math
from collections import deque

import numpy as np


# %% right: takes block after block from a deque, which it returns
def predict(first, second, num_blocks, block_size):
    free = deque(range(num_blocks))
    tables = []
    for sentence in (first, second):
        table = []
        for place, word in enumerate(sentence.split()):
            if place % block_size == 0:
                table.append(free.popleft())
        tables.append(table)
    return tables[0], tables[1], free

# %% right: three ranges
def predict(first, second, num_blocks, block_size):
    a = -(-len(first.split()) // block_size)
    b = -(-len(second.split()) // block_size)
    return range(a), range(a, a + b), range(a + b, num_blocks)

# %% right: arrays
def predict(first, second, num_blocks, block_size):
    words = np.array([len(first.split()), len(second.split())])
    ends = np.cumsum(np.ceil(words / block_size).astype(int))
    return tuple(np.split(np.arange(num_blocks), ends))

# %% right: a list of lists, with math.ceil
def predict(first, second, num_blocks, block_size):
    free = [*range(num_blocks)]
    answer = []
    for text in [first, second]:
        n = math.ceil(len(text.split()) / block_size)
        answer.append([free.pop(0) for _ in range(n)])
    return [*answer, free]

# %% right: tuples, the second sentence counted by its spaces
def predict(first, second, num_blocks, block_size):
    blocks = tuple(range(num_blocks))
    a = (first.count(" ") + block_size) // block_size
    b = (second.count(" ") + block_size) // block_size
    return blocks[:a], blocks[a : a + b], blocks[a + b :]

# %% wrong: a full last block is followed by an empty one
def predict(first, second, num_blocks, block_size):
    free = list(range(num_blocks))
    a = len(first.split()) // block_size + 1
    b = len(second.split()) // block_size + 1
    return free[:a], free[a : a + b], free[a + b :]

# %% wrong: rounds down
def predict(first, second, num_blocks, block_size):
    free = list(range(num_blocks))
    a = len(first.split()) // block_size
    b = len(second.split()) // block_size
    return free[:a], free[a : a + b], free[a + b :]

# %% wrong: rounds to the nearest
def predict(first, second, num_blocks, block_size):
    free = list(range(num_blocks))
    a = max(1, round(len(first.split()) / block_size))
    b = max(1, round(len(second.split()) / block_size))
    return free[:a], free[a : a + b], free[a + b :]

# %% wrong: the second sentence fills up the last block of the first
def predict(first, second, num_blocks, block_size):
    n, m = len(first.split()), len(second.split())
    free = list(range(num_blocks))
    used = -(-(n + m) // block_size)
    return free[: -(-n // block_size)], free[n // block_size : used], free[used:]

# %% wrong: counts characters
def predict(first, second, num_blocks, block_size):
    free = list(range(num_blocks))
    a = -(-len(first) // block_size)
    b = -(-len(second) // block_size)
    return free[:a], free[a : a + b], free[a + b :]

# %% wrong: takes from the back of the free list
def predict(first, second, num_blocks, block_size):
    free = list(range(num_blocks))
    a = [free.pop() for _ in range(-(-len(first.split()) // block_size))]
    b = [free.pop() for _ in range(-(-len(second.split()) // block_size))]
    return a, b, free

# %% wrong: each sentence has a pool of its own
def predict(first, second, num_blocks, block_size):
    free = list(range(num_blocks))
    a = -(-len(first.split()) // block_size)
    b = -(-len(second.split()) // block_size)
    return free[:a], free[:b], free[max(a, b) :]

# %% wrong: the second sentence begins at block 1 whatever the first took
# as "each sentence has a pool of its own", but
#-     return free[:a], free[:b], free[max(a, b) :]
#+     return free[:a], free[1 : 1 + b], free[a + b :]

# %% wrong: the free list goes one too far
def predict(first, second, num_blocks, block_size):
    a = -(-len(first.split()) // block_size)
    b = -(-len(second.split()) // block_size)
    return list(range(a)), list(range(a, a + b)), list(range(a + b, num_blocks + 1))

# %% wrong: the free list as a set
# as "each sentence has a pool of its own", but
#-     return free[:a], free[:b], free[max(a, b) :]
#+     return free[:a], free[a : a + b], set(free[a + b :])

# %% wrong: every block of four slots, as in the chapter
def predict(first, second, num_blocks, block_size):
    free = list(range(num_blocks))
    a = -(-len(first.split()) // 4)
    b = -(-len(second.split()) // 4)
    return free[:a], free[a : a + b], free[a + b :]
