# %% right: the fewest tokens, but not three times the same
def pick_victim(running):
    best = None
    for place, (tokens, blocks, times) in enumerate(running):
        key = (times >= 2, tokens)
        if best is None or key < best[0]:
            best = key, place
    return best[1]

# %% right: the fewest blocks, then the fewest tokens, of those that were not yet preempted twice
def pick_victim(running):
    best, least = 0, (True, 10**9, 10**9)
    for i in range(len(running)):
        tokens, blocks, times = running[i]
        if (times > 1, blocks, tokens) < least:
            best, least = i, (times > 1, blocks, tokens)
    return best

# %% right: NumPy: tokens, and a fine for each time
import numpy as np


def pick_victim(running):
    tokens, _, times = np.array(running).T
    return np.argmin(tokens + 1000 * (times >= 2))

# %% right: sorted
def pick_victim(running):
    order = sorted(range(len(running)), key=lambda i: (running[i][2] > 1, running[i][0], -i))
    return order[0]

# %% right: a place counted from the end
def pick_victim(running):
    fresh = [row for row in running if row[2] < 2] or running
    return running.index(min(fresh)) - len(running)

# %% wrong: vLLM's rule
def pick_victim(running):
    return len(running) - 1

# %% wrong: the oldest
def pick_victim(running):
    return 0

# %% wrong: the fewest tokens, again and again
def pick_victim(running):
    return min(range(len(running)), key=lambda i: running[i][0])

# %% wrong: the most tokens
def pick_victim(running):
    return max(range(len(running)), key=lambda i: running[i][0])

# %% wrong: the most blocks, which gives most room
def pick_victim(running):
    blocks = [row[1] for row in running]
    return blocks.index(max(blocks))

# %% wrong: the number of tokens instead of the place
def pick_victim(running):
    return min(running)[0]

# %% wrong: the row instead of its place
def pick_victim(running):
    return min(running, key=lambda row: (row[2] >= 2, row[0]))

# %% wrong: the middle
def pick_victim(running):
    return len(running) // 2

# %% wrong: preempted often before: it is used to it
def pick_victim(running):
    return max(range(len(running)), key=lambda i: (running[i][2], -running[i][0]))

# %% wrong: places counted from 1
def pick_victim(running):
    order = sorted(range(len(running)), key=lambda i: (running[i][2] >= 2, running[i][0]))
    return order[0] + 1
