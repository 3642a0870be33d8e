# %% right: with a deque
from collections import deque


def tables_after(windows, steps, num_blocks, block_size):
    tables = [[] for _ in windows]
    free = deque(range(1, num_blocks))
    computed = 0
    for tokens in steps:
        for window, table in zip(windows, tables):
            if window is not None:
                first = max(0, computed + 1 - window)
                for entry in range(first // block_size):
                    if table[entry] != 0:
                        free.appendleft(table[entry])
                        table[entry] = 0
        computed += tokens
        for table in tables:
            while len(table) * block_size < computed:
                table.append(free.popleft())
    return tables, list(free)

# %% right: a list that is used from its end
def tables_after(windows, steps, num_blocks, block_size):
    tables = [[] for _ in windows]
    stack = list(range(num_blocks - 1, 0, -1))
    for i, tokens in enumerate(steps):
        done = sum(steps[:i])
        for group, window in enumerate(windows):
            for entry, block in enumerate(tables[group]):
                if window and block and (entry + 1) * block_size <= done - window + 1:
                    stack.append(block)
                    tables[group][entry] = 0
        for table in tables:
            while len(table) < -(-(done + tokens) // block_size):
                table.append(stack.pop())
    return tables, stack[::-1]

# %% right: from the last entry to the first, put together in front
def tables_after(windows, steps, num_blocks, block_size):
    tables, free, computed = [[] for w in windows], list(range(1, num_blocks)), 0
    for tokens in steps:
        for window, table in zip(windows, tables):
            gone = []
            for entry in reversed(range(len(table))):
                last = (entry + 1) * block_size - 1
                if window and table[entry] and last < computed - (window - 1):
                    gone.append(table[entry])
                    table[entry] = 0
            free[:0] = gone
        computed += tokens
        for table in tables:
            while len(table) < (computed + block_size - 1) // block_size:
                table.append(free.pop(0))
    return tables, free

# %% right: remembers how many entries are gone
def tables_after(windows, steps, num_blocks, block_size):
    tables = [[] for _ in windows]
    gone = [0] * len(windows)
    free = list(range(1, num_blocks))
    computed = 0
    for tokens in steps:
        for g, window in enumerate(windows):
            if window is None:
                continue
            until = max(gone[g], (computed - window + 1) // block_size)
            free = tables[g][gone[g]:until][::-1] + free
            tables[g][gone[g]:until] = [0] * (until - gone[g])
            gone[g] = until
        computed += tokens
        for table in tables:
            need = -(-computed // block_size) - len(table)
            table += free[:need]
            free = free[need:]
    return tables, free

# %% right: an endless window for full attention
# as "with a deque", but
#-             if window is not None:
#-                 first = max(0, computed + 1 - window)
#+             if True:
#+                 first = max(0, computed + 1 - (window or float("inf")))
#-                 for entry in range(first // block_size):
#+                 for entry in range(int(first // block_size)):

# %% wrong: new blocks first
def tables_after(windows, steps, num_blocks, block_size):
    tables = [[] for _ in windows]
    free = list(range(1, num_blocks))
    computed = 0
    for tokens in steps:
        for table in tables:
            while len(table) * block_size < computed + tokens:
                table.append(free.pop(0))
        for window, table in zip(windows, tables):
            for entry in range(max(0, computed + 1 - (window or computed + 1)) // block_size):
                if table[entry]:
                    free.insert(0, table[entry])
                    table[entry] = 0
        computed += tokens
    return tables, free

# %% wrong: to the end of the queue
# as "with a deque", but
#-                         free.appendleft(table[entry])
#+                         free.append(table[entry])

# %% wrong: the window without the token's own
# as "with a deque", but
#-                 first = max(0, computed + 1 - window)
#+                 first = max(0, computed - window)

# %% wrong: given back too early
# as "with a deque", but
#-                 first = max(0, computed + 1 - window)
#+                 first = max(0, computed + 2 - window)

# %% wrong: the first entry first
# as "from the last entry to the first, put together in front", but
#-             for entry in reversed(range(len(table))):
#+             for entry in range(len(table)):

# %% wrong: the null block is free as well
# as "with a deque", but
#-     free = deque(range(1, num_blocks))
#+     free = deque(range(num_blocks))

# %% wrong: the null block is given back again
# as "with a deque", but
#-                     if table[entry] != 0:
#+                     if True:

# %% wrong: what the end of the step does not see
# as "with a deque", but
#-                 first = max(0, computed + 1 - window)
#+                 first = max(0, computed + tokens - window)
#-                 for entry in range(first // block_size):
#+                 for entry in range(min(first // block_size, len(table))):

# %% wrong: nothing is given back
# as "with a deque", but
#-             if window is not None:
#+             if False:

# %% wrong: entries are removed
# as "from the last entry to the first, put together in front", but
#-                     table[entry] = 0
#+                     del table[entry]

# %% wrong: full attention has the window of the others
# as "with a deque", but
#-             if window is not None:
#+             window = window or min((w for w in windows if w), default=computed + 1)
#+             if window:

# %% wrong: the groups take in reverse
# as "with a deque", but
#-         for table in tables:
#+         for table in tables[::-1]:
