import copy

import numpy as np


# %% right: the first page of both, the largest unused block
def two_wrong_tables(tables, lengths, num_blocks, block_size):
    used = sum(tables, [])
    unused = max(set(range(num_blocks)) - set(used))
    a, b = copy.deepcopy(tables), copy.deepcopy(tables)
    a[0][0] = unused
    b[1][0] = b[0][0]
    return a, b

# %% right: the NaN in sequence 1
def two_wrong_tables(tables, lengths, num_blocks, block_size):
    used = {b for t in tables for b in t}
    free = [b for b in range(num_blocks) if b not in used]
    noticed = [tables[0], [*tables[1][:-1], free[-1]]]
    unnoticed = [tables[0], [tables[0][0], *tables[1][1:]]]
    return noticed, unnoticed

# %% right: tuples of tuples
def two_wrong_tables(tables, lengths, num_blocks, block_size):
    first, second = map(tuple, tables)
    unused = next(b for b in range(num_blocks) if b not in first + second)
    return ((unused, *first[1:]), second), (first, (*second[:-1], first[0]))

# %% right: arrays of ids
def two_wrong_tables(tables, lengths, num_blocks, block_size):
    used = np.concatenate(tables)
    unused = np.setdiff1d(np.arange(num_blocks), used)[0]
    a = [np.array(table) for table in tables]
    b = [np.array(table) for table in tables]
    a[1][0] = unused
    b[1][0] = tables[0][0]
    return a, b

# %% right: a list of the two copies, each made by a loop
def two_wrong_tables(tables, lengths, num_blocks, block_size):
    answer = []
    for which in range(2):
        mine = []
        for table in tables:
            mine.append(table[:])
        if which == 0:
            block = 0
            while block in mine[0] or block in mine[1]:
                block += 1
            mine[0][(lengths[0] - 1) // block_size] = block
        else:
            mine[1][(lengths[1] - 1) // block_size] = mine[0][0]
        answer.append(mine)
    return answer

# %% wrong: changes the tables that it was given
def two_wrong_tables(tables, lengths, num_blocks, block_size):
    used = {b for t in tables for b in t}
    unused = next(b for b in range(num_blocks) if b not in used)
    noticed = [list(t) for t in tables]
    noticed[0][0] = unused
    tables[1][0] = tables[0][0]
    return noticed, tables

# %% wrong: a shallow copy
def two_wrong_tables(tables, lengths, num_blocks, block_size):
    used = {b for t in tables for b in t}
    noticed, unnoticed = tables.copy(), tables.copy()
    noticed[0][0] = next(b for b in range(num_blocks) if b not in used)
    unnoticed[1][0] = tables[0][0]
    return noticed, unnoticed

# %% wrong: a block that is not there
def two_wrong_tables(tables, lengths, num_blocks, block_size):
    a, b = copy.deepcopy(tables), copy.deepcopy(tables)
    a[0][0] = num_blocks
    b[1][0] = b[0][0]
    return a, b

# %% wrong: block -1
# as "a block that is not there", but
#-     a[0][0] = num_blocks
#+     a[0][0] = -1

# %% wrong: the second is the first in another sequence, and NaN too
def two_wrong_tables(tables, lengths, num_blocks, block_size):
    used = {b for t in tables for b in t}
    unused = next(b for b in range(num_blocks) if b not in used)
    a, b = copy.deepcopy(tables), copy.deepcopy(tables)
    a[0][0] = unused
    b[1][0] = unused
    return a, b

# %% wrong: the last block of sequence 0, which may be partly empty
def two_wrong_tables(tables, lengths, num_blocks, block_size):
    used = {b for t in tables for b in t}
    a, b = copy.deepcopy(tables), copy.deepcopy(tables)
    a[0][0] = next(b for b in range(num_blocks) if b not in used)
    b[1][0] = b[0][-1]
    return a, b

# %% wrong: the block of sequence 1 in the table of sequence 0
# as "the last block of sequence 0, which may be partly empty", but
#-     b[1][0] = b[0][-1]
#+     b[0][0] = b[1][-1]

# %% wrong: exchanges two ids
# as "the last block of sequence 0, which may be partly empty", but
#-     b[1][0] = b[0][-1]
#+     b[0][0], b[1][0] = b[1][0], b[0][0]

# %% wrong: nothing is changed in the second
# as "the last block of sequence 0, which may be partly empty", but
#-     b[1][0] = b[0][-1]
#+     b[0][0] = tables[0][0]

# %% wrong: in the other order
def two_wrong_tables(tables, lengths, num_blocks, block_size):
    used = {b for t in tables for b in t}
    a, b = copy.deepcopy(tables), copy.deepcopy(tables)
    a[0][0] = next(b for b in range(num_blocks) if b not in used)
    b[1][0] = tables[0][0]
    return b, a

# %% wrong: block 0 is taken to be unused, as in the example
def two_wrong_tables(tables, lengths, num_blocks, block_size):
    a, b = copy.deepcopy(tables), copy.deepcopy(tables)
    a[0][0] = 0
    b[1][0] = tables[0][0]
    return a, b

# %% wrong: the block behind the last one used, which may not be there
# as "block 0 is taken to be unused, as in the example", but
#-     a[0][0] = 0
#+     a[0][0] = max(max(t) for t in tables) + 1
