# %% right: a loop with a stop
def hit_tokens(num_tokens, cached, block_size):
    most = (num_tokens - 1) // block_size
    hits = 0
    while hits < min(most, len(cached)) and cached[hits]:
        hits += 1
    return hits * block_size

# %% right: takewhile
from itertools import takewhile


def hit_tokens(num_tokens, cached, block_size):
    run = sum(1 for _ in takewhile(bool, cached))
    return min(run, (num_tokens - 1) // block_size) * block_size

# %% right: index of the first hole, a block less where nothing would be left
def hit_tokens(num_tokens, cached, block_size):
    run = cached.index(False) if False in cached else len(cached)
    if run * block_size == num_tokens:
        run -= 1
    return run * block_size

# %% right: NumPy
import numpy as np


def hit_tokens(num_tokens, cached, block_size):
    usable = np.array(cached[: (num_tokens - 1) // block_size], dtype=int)
    return np.cumprod(usable).sum() * block_size

# %% right: recursion over the blocks
def hit_tokens(num_tokens, cached, block_size):
    if num_tokens <= block_size or not cached or not cached[0]:
        return 0
    return block_size + hit_tokens(num_tokens - block_size, cached[1:], block_size)

# %% wrong: no token need be left
# as "a loop with a stop", but
#-     most = (num_tokens - 1) // block_size
#+     most = num_tokens // block_size

# %% wrong: all cached blocks, with holes
def hit_tokens(num_tokens, cached, block_size):
    return sum(cached[: (num_tokens - 1) // block_size]) * block_size

# %% wrong: one token less instead of a block
def hit_tokens(num_tokens, cached, block_size):
    hits = 0
    for each in cached:
        if not each:
            break
        hits += 1
    return min(hits * block_size, num_tokens - 1)

# %% wrong: the last full block never counts
# as "a loop with a stop", but
#-     while hits < min(most, len(cached)) and cached[hits]:
#+     while hits < min(most, len(cached) - 1) and cached[hits]:

# %% wrong: blocks instead of tokens
# as "a loop with a stop", but
#-     return hits * block_size
#+     return hits

# %% wrong: the longest run anywhere
from itertools import groupby


def hit_tokens(num_tokens, cached, block_size):
    usable = cached[: (num_tokens - 1) // block_size]
    runs = [len(list(group)) for value, group in groupby(usable) if value]
    return max(runs, default=0) * block_size

# %% wrong: the run is counted from the end
# as "a loop with a stop", but
#-     while hits < min(most, len(cached)) and cached[hits]:
#+     while hits < min(most, len(cached)) and cached[::-1][hits]:

# %% wrong: the part of a block behind the hits too
# as "a loop with a stop", but
#-     return hits * block_size
#+     return num_tokens - 1 if hits == len(cached) else hits * block_size

# %% wrong: a block less where all is cached, whole or not
def hit_tokens(num_tokens, cached, block_size):
    if all(cached):
        return max(0, len(cached) - 1) * block_size
    return cached.index(False) * block_size

# %% wrong: all or nothing
def hit_tokens(num_tokens, cached, block_size):
    most = (num_tokens - 1) // block_size
    return most * block_size if all(cached[:most]) else 0
