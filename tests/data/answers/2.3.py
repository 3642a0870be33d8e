from collections import deque

import numpy as np


# %% right: a deque, taken and given at its left
def free_list_after(num_blocks, ops):
    free, tables = deque(range(num_blocks)), {}
    for what, name, *blocks in ops:
        if what == "in":
            tables[name] = [free.popleft() for _ in range(blocks[0])]
        else:
            free.extendleft(tables.pop(name))
    return free

# %% right: a stack, whose top is its end
def free_list_after(num_blocks, ops):
    stack, tables = list(range(num_blocks - 1, -1, -1)), {}
    for op in ops:
        if op[0] == "in":
            tables[op[1]] = [stack.pop() for _ in range(op[2])]
        else:
            stack += tables[op[1]]
    return stack[::-1]

# %% right: tuples
def free_list_after(num_blocks, ops):
    free, tables = tuple(range(num_blocks)), {}
    for op in ops:
        if op[0] == "in":
            tables[op[1]], free = free[: op[2]], free[op[2] :]
        else:
            free = tables[op[1]][::-1] + free
    return free

# %% right: arrays
def free_list_after(num_blocks, ops):
    free, tables = np.arange(num_blocks), {}
    for op in ops:
        if op[0] == "in":
            tables[op[1]], free = np.split(free, [op[2]])
        else:
            free = np.concatenate([np.flip(tables.pop(op[1])), free])
    return free

# %% right: NumPy integers in a list
def free_list_after(num_blocks, ops):
    free, tables = list(np.arange(num_blocks)), {}
    for op in ops:
        if op[0] == "in":
            tables[op[1]] = [free.pop(0) for _ in range(op[2])]
        else:
            free = [*reversed(tables[op[1]]), *free]
    return free

# %% wrong: given back at the end
def free_list_after(num_blocks, ops):
    free, tables = list(range(num_blocks)), {}
    for op in ops:
        if op[0] == "in":
            tables[op[1]], free = free[: op[2]], free[op[2] :]
        else:
            free += tables.pop(op[1])
    return free

# %% wrong: given back at the end, last block first
# as "given back at the end", but
#-             free += tables.pop(op[1])
#+             free += tables.pop(op[1])[::-1]

# %% wrong: the table comes back as it was
# as "given back at the end", but
#-             free += tables.pop(op[1])
#+             free = tables.pop(op[1]) + free

# %% wrong: sorted
# as "given back at the end", but
#-             free += tables.pop(op[1])
#+             free = sorted(free + tables.pop(op[1]))

# %% wrong: taken from the end
def free_list_after(num_blocks, ops):
    free, tables = list(range(num_blocks)), {}
    for op in ops:
        if op[0] == "in":
            tables[op[1]] = [free.pop() for _ in range(op[2])]
        else:
            for block in tables.pop(op[1]):
                free.insert(0, block)
    return free

# %% wrong: a table given back from its last block on
def free_list_after(num_blocks, ops):
    free, tables = deque(range(num_blocks)), {}
    for op in ops:
        if op[0] == "in":
            tables[op[1]] = [free.popleft() for _ in range(op[2])]
        else:
            for block in reversed(tables.pop(op[1])):
                free.appendleft(block)
    return list(free)

# %% wrong: the smallest free block is taken
# as "taken from the end", but
#-             tables[op[1]] = [free.pop() for _ in range(op[2])]
#+             tables[op[1]] = sorted(free)[: op[2]]
#+             free = [block for block in free if block not in tables[op[1]]]

# %% wrong: only the first block comes back
# as "given back at the end", but
#-             free += tables.pop(op[1])
#+             free.insert(0, tables.pop(op[1])[0])

# %% wrong: one who leaves is forgotten
def free_list_after(num_blocks, ops):
    free = list(range(num_blocks))
    for op in ops:
        if op[0] == "in":
            free = free[op[2] :]
    return free

# %% wrong: blocks are written into the table backwards
# as "taken from the end", but
#-             tables[op[1]] = [free.pop() for _ in range(op[2])]
#+             tables[op[1]] = []
#+             for _ in range(op[2]):
#+                 tables[op[1]].insert(0, free.pop(0))

# %% wrong: who came last leaves first, whoever it is
def free_list_after(num_blocks, ops):
    free, here = list(range(num_blocks)), []
    for op in ops:
        if op[0] == "in":
            here.append(free[: op[2]])
            free = free[op[2] :]
        else:
            free = here.pop()[::-1] + free
    return free

# %% wrong: a name that comes back keeps its first table
def free_list_after(num_blocks, ops):
    free, tables = list(range(num_blocks)), {}
    for op in ops:
        if op[0] == "in":
            tables.setdefault(op[1], free[: op[2]])
            free = free[op[2] :]
        else:
            for block in tables[op[1]]:
                free.insert(0, block)
    return free
