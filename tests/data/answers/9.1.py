from collections import deque

import numpy as np


# %% right: a deque, block by block
def free_queue_after(num_blocks, ops, block_size):
    free, tables = deque(range(1, num_blocks)), {}
    for op in ops:
        if op[0] == "in":
            needed = (op[2] + block_size - 1) // block_size
            tables[op[1]] = op[2], [free.popleft() for _ in range(needed)]
        else:
            tokens, table = tables[op[1]]
            for place in reversed(range(len(table))):
                if (place + 1) * block_size > tokens:
                    free.appendleft(table[place])
                else:
                    free.append(table[place])
    return free

# %% right: tuples
def free_queue_after(num_blocks, ops, block_size):
    free, tables = tuple(range(1, num_blocks)), {}
    for what, name, *more in ops:
        if what == "in":
            n = -(-more[0] // block_size)
            tables[name], free = (free[:n], more[0]), free[n:]
        else:
            table, tokens = tables.pop(name)
            full = tokens // block_size
            free = table[full:] + free + tuple(reversed(table[:full]))
    return free

# %% right: an array
def free_queue_after(num_blocks, ops, block_size):
    free, tables = np.arange(1, num_blocks), {}
    for op in ops:
        if op[0] == "in":
            n = int(np.ceil(op[2] / block_size))
            tables[op[1]] = free[:n], op[2] // block_size
            free = free[n:]
        else:
            table, full = tables[op[1]]
            free = np.concatenate([table[full:], free, table[:full][::-1]])
    return free

# %% right: only the last block can be partly filled
def free_queue_after(num_blocks, ops, block_size):
    free, tables = list(range(1, num_blocks)), {}
    for op in ops:
        if op[0] == "in":
            full, rest = divmod(op[2], block_size)
            table = [free.pop(0) for _ in range(full + (rest > 0))]
            tables[op[1]] = table, rest
        else:
            table, rest = tables.pop(op[1])
            if rest:
                free.insert(0, table.pop())
            free.extend(table[::-1])
    return free

# %% right: NumPy integers in a list
def free_queue_after(num_blocks, ops, block_size):
    free, tables = list(np.arange(1, num_blocks)), {}
    for op in ops:
        if op[0] == "in":
            n = -(-op[2] // block_size)
            tables[op[1]] = [(b, (i + 1) * block_size <= op[2]) for i, b in enumerate(free[:n])]
            del free[:n]
        else:
            back = tables[op[1]][::-1]
            free = [b for b, full in back if not full] + free + [b for b, full in back if full]
    return free

# %% wrong: block 0 is free too
def free_queue_after(num_blocks, ops, block_size):
    free, tables = list(range(num_blocks)), {}
    for op in ops:
        if op[0] == "in":
            n = -(-op[2] // block_size)
            tables[op[1]], free = (free[:n], op[2] // block_size), free[n:]
        else:
            table, full = tables.pop(op[1])
            free = table[full:] + free + table[:full][::-1]
    return free

# %% wrong: the stack of V0
def free_queue_after(num_blocks, ops, block_size):
    free, tables = list(range(1, num_blocks)), {}
    for op in ops:
        if op[0] == "in":
            n = -(-op[2] // block_size)
            tables[op[1]], free = free[:n], free[n:]
        else:
            free = tables.pop(op[1])[::-1] + free
    return free

# %% wrong: all to the back
# as "the stack of V0", but
#-             free = tables.pop(op[1])[::-1] + free
#+             free = free + tables.pop(op[1])[::-1]

# %% wrong: full ones from the first to the last
# as "block 0 is free too", but
#-     free, tables = list(range(num_blocks)), {}
#+     free, tables = list(range(1, num_blocks)), {}
#
#-             free = table[full:] + free + table[:full][::-1]
#+             free = table[full:] + free + table[:full]

# %% wrong: front and back exchanged
# as "block 0 is free too", but
#-     free, tables = list(range(num_blocks)), {}
#+     free, tables = list(range(1, num_blocks)), {}
#
#-             free = table[full:] + free + table[:full][::-1]
#+             free = table[:full][::-1] + free + table[full:]

# %% wrong: the last block never counts as full
# as "the stack of V0", but
#-             free = tables.pop(op[1])[::-1] + free
#+             *full, last = tables.pop(op[1])
#+             free = [last] + free + full[::-1]

# %% wrong: one block more when the prompt fills its last
# as "block 0 is free too", but
#-     free, tables = list(range(num_blocks)), {}
#+     free, tables = list(range(1, num_blocks)), {}
#
#-             n = -(-op[2] // block_size)
#+             n = op[2] // block_size + 1

# %% wrong: the first of a table goes in front of all others at the back
def free_queue_after(num_blocks, ops, block_size):
    free, tables = deque(range(1, num_blocks)), {}
    for op in ops:
        if op[0] == "in":
            n = -(-op[2] // block_size)
            tables[op[1]] = op[2] // block_size, [free.popleft() for _ in range(n)]
        else:
            full, table = tables.pop(op[1])
            for place, block in enumerate(table):
                if place < full:
                    free.append(block)
                else:
                    free.appendleft(block)
    return list(free)

# %% wrong: takes the smallest ids
# as "block 0 is free too", but
#-     free, tables = list(range(num_blocks)), {}
#+     free, tables = list(range(1, num_blocks)), {}
#
#-             tables[op[1]], free = (free[:n], op[2] // block_size), free[n:]
#+             taken = sorted(free)[:n]
#+             tables[op[1]] = taken, op[2] // block_size
#+             free = [b for b in free if b not in taken]

# %% wrong: blocks of four
def free_queue_after(num_blocks, ops, block_size):
    free, tables = list(range(1, num_blocks)), {}
    for op in ops:
        if op[0] == "in":
            n = -(-op[2] // 4)
            tables[op[1]], free = (free[:n], op[2] // 4), free[n:]
        else:
            table, full = tables.pop(op[1])
            free = table[full:] + free + table[:full][::-1]
    return free
