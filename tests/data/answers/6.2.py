# %% right: a loop, and a stop
def evict(cached):
    candidate = cached[0]
    for entry in cached[1:]:
        if entry[2] > candidate[2]:
            break
        if entry[1] > candidate[1]:
            candidate = entry
    return candidate[0]

# %% right: a while loop over places
def evict(cached):
    best, i = 0, 1
    while i < len(cached) and cached[i][2] <= cached[best][2]:
        if cached[i][1] > cached[best][1]:
            best = i
        i += 1
    return cached[best][0]

# %% right: an iterator
def evict(cached):
    rest = iter(cached)
    block, tokens, used = next(rest)
    for other, length, time in rest:
        if time > used:
            return block
        block, tokens, used = (other, length, time) if length > tokens else (block, tokens, used)
    return block

# %% right: recursion
def evict(cached):
    if len(cached) == 1 or cached[1][2] > cached[0][2]:
        return cached[0][0]
    first, second = cached[:2]
    kept = second if second[1] > first[1] else first
    return evict([kept, *cached[2:]])

# %% right: NumPy's rows, a NumPy integer
import numpy as np


def evict(cached):
    ids, tokens, used = (np.array(column) for column in zip(*cached))
    at = 0
    for i in range(1, len(ids)):
        if used[i] > used[at]:
            break
        at = i if tokens[i] > tokens[at] else at
    return ids[at]

# %% wrong: the rule that was meant: the oldest, then the longest
def evict(cached):
    return min(cached, key=lambda row: (row[2], -row[1]))[0]

# %% wrong: the longest prefix of all
def evict(cached):
    return max(cached, key=lambda row: row[1])[0]

# %% wrong: goes on behind a block used later
# as "a loop, and a stop", but
#-             break
#+             continue

# %% wrong: stops at an equally old one
# as "a loop, and a stop", but
#-         if entry[2] > candidate[2]:
#+         if entry[2] >= candidate[2]:

# %% wrong: an equally long one takes its place
# as "a loop, and a stop", but
#-         if entry[1] > candidate[1]:
#+         if entry[1] >= candidate[1]:

# %% wrong: the shorter prefix
# as "a loop, and a stop", but
#-         if entry[1] > candidate[1]:
#+         if entry[1] < candidate[1]:

# %% wrong: the time is compared with the first one's, not the candidate's
# as "a loop, and a stop", but
#-         if entry[2] > candidate[2]:
#+         if entry[2] > cached[0][2]:

# %% wrong: an older one takes its place at once
# as "a loop, and a stop", but
#-         if entry[1] > candidate[1]:
#+         if entry[2] < candidate[2] or entry[1] > candidate[1]:

# %% wrong: first come, first gone
def evict(cached):
    return cached[0][0]

# %% wrong: the candidate's tokens are not kept up to date
def evict(cached):
    block, tokens, used = cached[0]
    for other, length, time in cached[1:]:
        if time > used:
            break
        if length > tokens:
            block, used = other, time
    return block
