from itertools import chain

import numpy as np


# %% right: fills a row of -1
def slot_mapping(batch, block_size, num_tokens):
    row = [-1] * num_tokens
    place = 0
    for table, computed, length in batch:
        for p in range(computed, length):
            row[place] = table[p // block_size] * block_size + p % block_size
            place += 1
    return row

# %% right: an array
def slot_mapping(batch, block_size, num_tokens):
    row = np.full(num_tokens, -1)
    place = 0
    for table, computed, length in batch:
        p = np.arange(computed, length)
        row[place : place + len(p)] = np.array(table)[p // block_size] * block_size + p % block_size
        place += len(p)
    return row

# %% right: all slots of a sequence, then those from computed on
def slot_mapping(batch, block_size, num_tokens):
    slots = []
    for table, computed, length in batch:
        mine = [b * block_size + i for b in table for i in range(block_size)]
        slots.extend(mine[computed:length])
    while len(slots) < num_tokens:
        slots.append(-1)
    return slots

# %% right: a tuple, chained
def slot_mapping(batch, block_size, num_tokens):
    parts = (
        (t[p // block_size] * block_size + p % block_size for p in range(c, n)) for t, c, n in batch
    )
    slots = tuple(chain.from_iterable(parts))
    return slots + (-1,) * (num_tokens - len(slots))

# %% right: NumPy integers in a list
def slot_mapping(batch, block_size, num_tokens):
    slots = []
    for table, computed, length in batch:
        for p in np.arange(computed, length):
            slots.append(table[p // block_size] * block_size + p % block_size)
    return [*slots, *[-1] * (num_tokens - len(slots))]

# %% wrong: all tokens, also those that are in the cache
def slot_mapping(batch, block_size, num_tokens):
    slots = []
    for table, computed, length in batch:
        for p in range(length):
            slots.append(table[p // block_size] * block_size + p % block_size)
    return (slots + [-1] * num_tokens)[: max(num_tokens, len(slots))]

# %% wrong: no padding
def slot_mapping(batch, block_size, num_tokens):
    return [
        t[p // block_size] * block_size + p % block_size for t, c, n in batch for p in range(c, n)
    ]

# %% wrong: padded with 0
def slot_mapping(batch, block_size, num_tokens):
    slots = [
        t[p // block_size] * block_size + p % block_size for t, c, n in batch for p in range(c, n)
    ]
    return slots + [0] * (num_tokens - len(slots))

# %% wrong: padded in front
# as "padded with 0", but
#-     return slots + [0] * (num_tokens - len(slots))
#+     return [-1] * (num_tokens - len(slots)) + slots

# %% wrong: positions counted from what is computed
def slot_mapping(batch, block_size, num_tokens):
    slots = [
        t[p // block_size] * block_size + p % block_size
        for t, c, n in batch
        for p in range(n - c)
    ]
    return slots + [-1] * (num_tokens - len(slots))

# %% wrong: a decode writes behind its last token
def slot_mapping(batch, block_size, num_tokens):
    slots = []
    for table, computed, length in batch:
        positions = range(computed, length)
        if len(positions) == 1 and computed:
            positions = [length]
        for p in positions:
            page = min(p // block_size, len(table) - 1)
            slots.append(table[page] * block_size + p % block_size)
    return slots + [-1] * (num_tokens - len(slots))

# %% wrong: whatever is not a new prompt is a decode
def slot_mapping(batch, block_size, num_tokens):
    slots = []
    for table, computed, length in batch:
        for p in range(length) if computed == 0 else [length - 1]:
            slots.append(table[p // block_size] * block_size + p % block_size)
    return slots + [-1] * (num_tokens - len(slots))

# %% wrong: the padding goes in between, to the length of the longest
def slot_mapping(batch, block_size, num_tokens):
    longest = max(n - c for _, c, n in batch)
    slots = []
    for t, c, n in batch:
        mine = [t[p // block_size] * block_size + p % block_size for p in range(c, n)]
        slots += mine + [-1] * (longest - len(mine))
    return slots[:num_tokens] + [-1] * (num_tokens - len(slots))

# %% wrong: chunks begin at the block's beginning
def slot_mapping(batch, block_size, num_tokens):
    slots = []
    for table, computed, length in batch:
        for i, p in enumerate(range(computed, length)):
            slots.append(table[p // block_size] * block_size + i % block_size)
    return slots + [-1] * (num_tokens - len(slots))

# %% wrong: decodes in front
def slot_mapping(batch, block_size, num_tokens):
    slots = []
    for table, computed, length in sorted(batch, key=lambda part: part[2] - part[1]):
        for p in range(computed, length):
            slots.append(table[p // block_size] * block_size + p % block_size)
    return slots + [-1] * (num_tokens - len(slots))

# %% wrong: one too many, the token behind
def slot_mapping(batch, block_size, num_tokens):
    slots = []
    for table, computed, length in batch:
        for p in range(computed + 1, length + 1):
            slots.append(table[min(p // block_size, len(table) - 1)] * block_size + p % block_size)
    return slots + [-1] * (num_tokens - len(slots))
