import numpy as np


# %% right: plays it
def copies(prompt, samples, block_size):
    num_blocks = -(-prompt // block_size)
    room = num_blocks * block_size - prompt
    free, owners, made = num_blocks, samples, []
    for _ in range(samples):
        if room and owners > 1:
            made.append((num_blocks - 1, free))
            free, owners = free + 1, owners - 1
    return made

# %% right: pairs by zip, a tuple
def copies(prompt, samples, block_size):
    full, partial = divmod(prompt, block_size)
    if not partial:
        return ()
    return tuple(zip([full] * (samples - 1), range(full + 1, full + samples)))

# %% right: an array of pairs
def copies(prompt, samples, block_size):
    n = samples - 1 if prompt % block_size else 0
    if n == 0:
        return []
    last = prompt // block_size
    return np.stack([np.full(n, last), np.arange(last + 1, last + 1 + n)], axis=1)

# %% right: a list of lists with NumPy integers
def copies(prompt, samples, block_size):
    last = np.int64(prompt // block_size)
    if prompt % block_size == 0:
        return []
    return [[last, last + i] for i in range(1, samples)]

# %% right: counts owners
def copies(prompt, samples, block_size):
    table = list(range((prompt + block_size - 1) // block_size))
    refs, made, next_free = samples, [], len(table)
    while refs > 1 and prompt % block_size > 0:
        made.append((table[-1], next_free))
        next_free += 1
        refs -= 1
    return made

# %% wrong: the last sample copies too
def copies(prompt, samples, block_size):
    if prompt % block_size == 0:
        return []
    last = prompt // block_size
    return [(last, last + 1 + i) for i in range(samples)]

# %% wrong: also where the last block is full
def copies(prompt, samples, block_size):
    last = (prompt - 1) // block_size
    return [(last, last + 1 + i) for i in range(samples - 1)]

# %% wrong: a full prompt goes by the block behind it
def copies(prompt, samples, block_size):
    last = prompt // block_size
    return [(last, last + 1 + i) for i in range(samples - 1)]

# %% wrong: all blocks are copied
def copies(prompt, samples, block_size):
    if prompt % block_size == 0:
        return []
    n = -(-prompt // block_size)
    made, free = [], n
    for _ in range(samples - 1):
        for block in range(n):
            made.append((block, free))
            free += 1
    return made

# %% wrong: always into the same block
# as "the last sample copies too", but
#-     return [(last, last + 1 + i) for i in range(samples)]
#+     return [(last, last + 1)] * (samples - 1)

# %% wrong: one from the other in turn
# as "the last sample copies too", but
#-     return [(last, last + 1 + i) for i in range(samples)]
#+     return [(last + i, last + i + 1) for i in range(samples - 1)]

# %% wrong: one copy however many samples
def copies(prompt, samples, block_size):
    if prompt % block_size == 0 or samples == 1:
        return []
    last = prompt // block_size
    return [(last, last + 1)]

# %% wrong: to and from exchanged
# as "the last sample copies too", but
#-     return [(last, last + 1 + i) for i in range(samples)]
#+     return [(last + 1 + i, last) for i in range(samples - 1)]

# %% wrong: the last free block first
# as "the last sample copies too", but
#-     return [(last, last + 1 + i) for i in range(samples)]
#+     return [(last, last + i) for i in range(samples - 1, 0, -1)]

# %% wrong: a prompt within one block has nothing to copy
def copies(prompt, samples, block_size):
    if prompt % block_size == 0 or prompt < block_size:
        return []
    last = prompt // block_size
    return [(last, last + 1 + i) for i in range(samples - 1)]

# %% wrong: one room is enough for all: copies only while the block has slots left
def copies(prompt, samples, block_size):
    last, filled = divmod(prompt, block_size)
    if not filled:
        return []
    return [(last, last + 1 + i) for i in range(min(samples - 1, block_size - filled))]
