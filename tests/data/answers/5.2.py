import numpy as np


# %% right: an iterator of free blocks, sorted pairs
def swap_out(tables, free, num_gpu_blocks):
    supply = iter(free)
    blocks = sorted({block for table in tables for block in table})
    moved = {block: next(supply) for block in blocks}
    pairs = [(block, moved[block] - num_gpu_blocks) for block in blocks]
    return [[moved[block] for block in table] for table in tables], pairs

# %% right: from the back of the free blocks
def swap_out(tables, free, num_gpu_blocks):
    free, moved = list(free), {}
    cpu_tables = []
    for table in tables:
        mine = []
        for block in table:
            if block not in moved:
                moved[block] = free.pop()
            mine.append(moved[block])
        cpu_tables.append(mine)
    return cpu_tables, [[a, b - num_gpu_blocks] for a, b in moved.items()]

# %% right: tuples
def swap_out(tables, free, num_gpu_blocks):
    order = tuple(dict.fromkeys(block for table in tables for block in table))
    target = dict(zip(order, free))
    pairs = tuple((block, target[block] - num_gpu_blocks) for block in order)
    return tuple(tuple(target[block] for block in table) for table in tables), pairs

# %% right: arrays
def swap_out(tables, free, num_gpu_blocks):
    blocks = np.unique(np.concatenate(tables))
    places = np.array(free[: len(blocks)])
    cpu_tables = [places[np.searchsorted(blocks, table)] for table in tables]
    return cpu_tables, np.stack([blocks, places - num_gpu_blocks], axis=1)

# %% right: NumPy integers in lists
def swap_out(tables, free, num_gpu_blocks):
    free = np.array(free)
    moved, pairs = {}, []
    for table in tables:
        for block in table:
            if block not in moved:
                moved[block] = free[len(pairs)]
                pairs.append((block, moved[block] - num_gpu_blocks))
    return [[moved[block] for block in table] for table in tables], pairs

# %% wrong: every table by itself, as vLLM
def swap_out(tables, free, num_gpu_blocks):
    supply, cpu_tables, pairs = iter(free), [], []
    for table in tables:
        mine = []
        for block in table:
            target = next(supply)
            mine.append(target)
            pairs.append((block, target - num_gpu_blocks))
        cpu_tables.append(mine)
    return cpu_tables, pairs

# %% wrong: ids in place of indices
def swap_out(tables, free, num_gpu_blocks):
    moved = {}
    for table in tables:
        for block in table:
            moved.setdefault(block, free[len(moved)])
    return [[moved[b] for b in table] for table in tables], list(moved.items())

# %% wrong: indices in the tables, too
# as "ids in place of indices", but
#-             moved.setdefault(block, free[len(moved)])
#+             moved.setdefault(block, free[len(moved)] - num_gpu_blocks)

# %% wrong: to and from exchanged
# as "ids in place of indices", but
#-     return [[moved[b] for b in table] for table in tables], list(moved.items())
#+     return [[moved[b] for b in table] for table in tables], [
#+         (b - num_gpu_blocks, a) for a, b in moved.items()
#+     ]

# %% wrong: shared in the tables, but copied once for every table
def swap_out(tables, free, num_gpu_blocks):
    moved, pairs = {}, []
    for table in tables:
        for block in table:
            moved.setdefault(block, free[len(moved)])
            pairs.append((block, moved[block] - num_gpu_blocks))
    return [[moved[b] for b in table] for table in tables], pairs

# %% wrong: shared by the place in the table
def swap_out(tables, free, num_gpu_blocks):
    cpu_tables = [[free[place] for place in range(len(table))] for table in tables]
    pairs = [(block, free[place] - num_gpu_blocks) for place, block in enumerate(tables[0])]
    return cpu_tables, pairs

# %% wrong: the first table is moved, the others keep what they share
def swap_out(tables, free, num_gpu_blocks):
    moved = {block: free[i] for i, block in enumerate(tables[0])}
    pairs = [(block, target - num_gpu_blocks) for block, target in moved.items()]
    return [[moved.get(b, b) for b in table] for table in tables], pairs

# %% wrong: the number of a block is kept
def swap_out(tables, free, num_gpu_blocks):
    blocks = sorted({b for table in tables for b in table})
    return [[b + num_gpu_blocks for b in table] for table in tables], [(b, b) for b in blocks]

# %% wrong: takes from the list that it was given
def swap_out(tables, free, num_gpu_blocks):
    moved = {}
    for table in tables:
        for block in table:
            if block not in moved:
                moved[block] = free.pop(0)
    pairs = [(a, b - num_gpu_blocks) for a, b in moved.items()]
    return [[moved[b] for b in table] for table in tables], pairs

# %% wrong: only what is shared is moved
def swap_out(tables, free, num_gpu_blocks):
    blocks = [b for b in tables[0] if all(b in table for table in tables)]
    moved = dict(zip(blocks, free))
    pairs = [(a, b - num_gpu_blocks) for a, b in moved.items()]
    return [[moved[b] for b in table if b in moved] for table in tables], pairs

# %% wrong: free blocks taken in ascending order of the GPU's ids, pairs in another
def swap_out(tables, free, num_gpu_blocks):
    blocks = sorted({b for table in tables for b in table})
    moved = dict(zip(blocks, free))
    pairs = [(b, t - num_gpu_blocks) for b, t in zip(blocks, sorted(moved.values()))]
    return [[moved[b] for b in table] for table in tables], pairs
