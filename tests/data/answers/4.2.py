import numpy as np


# %% right: one place where a block is taken
def append(tables, refs, free, length, who, block_size):
    def take():
        block = free.pop(0)
        refs[block] = 1
        return block

    table, made = tables[who], []
    if length % block_size == 0:
        table.append(take())
    elif refs[table[-1]] > 1:
        old = table[-1]
        refs[old] -= 1
        table[-1] = take()
        made.append((old, table[-1]))
    return made

# %% right: by the number of blocks, a tuple
def append(tables, refs, free, length, who, block_size):
    if len(tables[who]) * block_size == length:
        new, free[:] = free[0], free[1:]
        tables[who] = tables[who] + [new]
        refs[new] = 1
        return ()
    old = tables[who].pop()
    if refs[old] == 1:
        tables[who].append(old)
        return ()
    new = free[0]
    del free[0]
    tables[who].append(new)
    refs[old], refs[new] = refs[old] - 1, 1
    return ((old, new),)

# %% right: the page that the token goes to
def append(tables, refs, free, length, who, block_size):
    page = length // block_size
    if page == len(tables[who]):
        tables[who].append(free.pop(0))
        refs[tables[who][page]] = refs.get(tables[who][page], 0) + 1
        return []
    old = tables[who][page]
    if refs[old] < 2:
        return []
    new = free.pop(0)
    refs.update({old: refs[old] - 1, new: 1})
    tables[who][page] = new
    return [[old, new]]

# %% right: owners counted in the tables
def append(tables, refs, free, length, who, block_size):
    table = tables[who]
    made = []
    if length % block_size == 0:
        table.append(free.pop(0))
    elif sum(table[-1] in other for other in tables.values()) > 1:
        made = [(table[-1], free[0])]
        table[-1] = free.pop(0)
    refs.clear()
    for other in tables.values():
        for block in other:
            refs[block] = refs.get(block, 0) + 1
    return made

# %% right: NumPy integers
def append(tables, refs, free, length, who, block_size):
    old = np.int64(tables[who][-1])
    if length % block_size and refs[old] == 1:
        return []
    new = np.int64(free.pop(0))
    refs[int(new)] = 1
    if length % block_size == 0:
        tables[who].append(new)
        return []
    refs[int(old)] -= 1
    tables[who][-1] = new
    return [(old, new)]

# %% wrong: never copies
def append(tables, refs, free, length, who, block_size):
    if length % block_size == 0:
        block = free.pop(0)
        refs[block] = 1
        tables[who].append(block)
    return []

# %% wrong: the old block keeps its count
def append(tables, refs, free, length, who, block_size):
    table = tables[who]
    if length % block_size == 0:
        block = free.pop(0)
        refs[block] = 1
        table.append(block)
        return []
    old = table[-1]
    if refs[old] == 1:
        return []
    table[-1] = free.pop(0)
    refs[table[-1]] = 1
    return [(old, table[-1])]

# %% wrong: a copy of a full block, too
def append(tables, refs, free, length, who, block_size):
    table, made = tables[who], []
    old = table[-1]
    if refs[old] > 1:
        refs[old] -= 1
        table[-1] = free.pop(0)
        refs[table[-1]] = 1
        made = [(old, table[-1])]
    if length % block_size == 0:
        block = free.pop(0)
        refs[block] = 1
        table.append(block)
    return made

# %% wrong: every shared block of the table is copied
def append(tables, refs, free, length, who, block_size):
    table, made = tables[who], []
    if length % block_size == 0:
        table.append(free.pop(0))
        refs[table[-1]] = 1
        return []
    for i, old in enumerate(table):
        if refs[old] > 1:
            refs[old] -= 1
            table[i] = free.pop(0)
            refs[table[i]] = 1
            made.append((old, table[i]))
    return made if refs[table[-1]] == 1 else []

# %% wrong: copies also for the only owner
def append(tables, refs, free, length, who, block_size):
    table = tables[who]
    if length % block_size == 0:
        table.append(free.pop(0))
        refs[table[-1]] = 1
        return []
    old = table[-1]
    refs[old] -= 1
    table[-1] = free.pop(0)
    refs[table[-1]] = 1
    return [(old, table[-1])]

# %% wrong: from the back of the free list
def append(tables, refs, free, length, who, block_size):
    table = tables[who]
    if length % block_size == 0:
        table.append(free.pop())
        refs[table[-1]] = 1
        return []
    old = table[-1]
    if refs[old] == 1:
        return []
    refs[old] -= 1
    table[-1] = free.pop()
    refs[table[-1]] = 1
    return [(old, table[-1])]

# %% wrong: full at length % block_size == 1
# as "copies also for the only owner", but
#-     if length % block_size == 0:
#+     if length % block_size == 1 % block_size and length > 1:
#
#      old = table[-1]
#+     if refs[old] == 1:
#+         return []

# %% wrong: the new block is not counted
def append(tables, refs, free, length, who, block_size):
    table = tables[who]
    if length % block_size == 0:
        table.append(free.pop(0))
        return []
    old = table[-1]
    if refs.get(old, 1) == 1:
        return []
    refs[old] -= 1
    table[-1] = free.pop(0)
    return [(old, table[-1])]

# %% wrong: the copy is behind the old block in the table
# as "from the back of the free list", but
#-         table.append(free.pop())
#+         table.append(free.pop(0))
#
#-     table[-1] = free.pop()
#+     table.append(free.pop(0))

# %% wrong: all owners move along
def append(tables, refs, free, length, who, block_size):
    table = tables[who]
    if length % block_size == 0:
        table.append(free.pop(0))
        refs[table[-1]] = 1
        return []
    old = table[-1]
    if refs[old] == 1:
        return []
    new = free.pop(0)
    refs[new] = refs.pop(old)
    for other in tables.values():
        other[:] = [new if block == old else block for block in other]
    return [(old, new)]

# %% wrong: the block is read but stays in the free list
def append(tables, refs, free, length, who, block_size):
    table = tables[who]
    if length % block_size == 0:
        table.append(free.pop(0))
        refs[table[-1]] = 1
        return []
    old = table[-1]
    if refs[old] == 1:
        return []
    refs[old] -= 1
    table[-1] = free[0]
    refs[free[0]] = 1
    return [(old, free[0])]

# %% wrong: the pair the other way round
# as "copies also for the only owner", but
#      old = table[-1]
#+     if refs[old] == 1:
#+         return []
#
#-     return [(old, table[-1])]
#+     return [(table[-1], old)]

# %% wrong: only two owners are thought of
# as "copies also for the only owner", but
#-     refs[old] -= 1
#+     if refs[old] == 1:
#+         return []
#+     refs[old] = 1

# %% wrong: does nothing
def append(tables, refs, free, length, who, block_size):
    return []

# %% wrong: takes a block one token early
def append(tables, refs, free, length, who, block_size):
    table, made = tables[who], []
    if length % block_size and refs[table[-1]] > 1:
        old = table[-1]
        refs[old] -= 1
        table[-1] = free.pop(0)
        refs[table[-1]] = 1
        made = [(old, table[-1])]
    if (length + 1) // block_size >= len(table):
        table.append(free.pop(0))
        refs[table[-1]] = 1
    return made

# %% wrong: returns the pair itself
# as "copies also for the only owner", but
#      old = table[-1]
#+     if refs[old] == 1:
#+         return []
#
#-     return [(old, table[-1])]
#+     return old, table[-1]
