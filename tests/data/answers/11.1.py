# %% right: all lengths, the longest first
def hit_of_all(num_tokens, groups, block_size):
    def agrees(window, cached, hit):
        first = 0
        if window is not None:
            first = max(0, hit * block_size - window + 1) // block_size
        return all(cached[first:hit])

    for hit in range((num_tokens - 1) // block_size, 0, -1):
        if all(agrees(window, cached, hit) for window, cached in groups):
            return hit * block_size
    return 0

# %% right: rounds, each group looked up as vLLM does
def hit_of_all(num_tokens, groups, block_size):
    def look_up(window, cached, most):
        if window is None:
            run = 0
            while run < most and cached[run]:
                run += 1
            return run
        need, run = (window - 2) // block_size + 1, 0
        for block in range(most - 1, -1, -1):
            run = run + 1 if cached[block] else 0
            if run == need:
                return block + run
        return run

    hit = (num_tokens - 1) // block_size
    while True:
        before = hit
        for window, cached in groups:
            hit = look_up(window, cached, hit)
        if hit == before:
            return hit * block_size

# %% right: the lengths of each group as a set
def hit_of_all(num_tokens, groups, block_size):
    most = (num_tokens - 1) // block_size
    common = set(range(most + 1))
    for window, cached in groups:
        for hit in range(most + 1):
            seen = range(hit * block_size if window is None else min(window - 1, hit * block_size))
            blocks = {(hit * block_size - 1 - back) // block_size for back in seen}
            if not all(cached[block] for block in blocks):
                common.discard(hit)
    return max(common) * block_size

# %% right: recursion with one block less
def hit_of_all(num_tokens, groups, block_size):
    end = (num_tokens - 1) // block_size * block_size
    if end == 0:
        return 0
    for window, cached in groups:
        oldest = 0 if window is None else max(end + 1 - window, 0)
        if any(not cached[at // block_size] for at in range(oldest, end)):
            return hit_of_all(end, groups, block_size)
    return end

# %% right: full attention first, then the windows until nothing changes
from math import ceil


def hit_of_all(num_tokens, groups, block_size):
    hit = (num_tokens - 1) // block_size
    for window, cached in groups:
        if window is None and False in cached:
            hit = min(hit, cached.index(False))
    windows = [(ceil((w - 1) / block_size), cached) for w, cached in groups if w is not None]
    while not all(all(cached[max(0, hit - need):hit]) for need, cached in windows):
        hit -= 1
    return hit * block_size

# %% wrong: every group alone, and the minimum
def hit_of_all(num_tokens, groups, block_size):
    most = (num_tokens - 1) // block_size
    hits = []
    for window, cached in groups:
        need = most if window is None else -(-(window - 1) // block_size)
        hit = most
        while not all(cached[max(0, hit - need):hit]):
            hit -= 1
        hits.append(hit)
    return min(hits) * block_size

# %% wrong: one round
# as "rounds, each group looked up as vLLM does", but
#-         if hit == before:
#-             return hit * block_size
#+         return hit * block_size

# %% wrong: a window needs all blocks
# as "all lengths, the longest first", but
#-         if window is not None:
#+         if window is not None and False:

# %% wrong: only the last block of a window
# as "all lengths, the longest first", but
#-             first = max(0, hit * block_size - window + 1) // block_size
#+             first = hit - 1

# %% wrong: window tokens before the next one
# as "all lengths, the longest first", but
#-             first = max(0, hit * block_size - window + 1) // block_size
#+             first = max(0, hit * block_size - window) // block_size

# %% wrong: the window rounded down
# as "rounds, each group looked up as vLLM does", but
#-         need, run = (window - 2) // block_size + 1, 0
#+         need, run = max((window - 1) // block_size, 1), 0

# %% wrong: a run that touches the start is not enough
# as "rounds, each group looked up as vLLM does", but
#-                 return block + run
#-         return run
#+                 return block + run
#+         return 0

# %% wrong: no token is left
# as "all lengths, the longest first", but
#-     for hit in range((num_tokens - 1) // block_size, 0, -1):
#+     for hit in range(num_tokens // block_size, 0, -1):

# %% wrong: blocks in place of tokens
# as "all lengths, the longest first", but
#-             return hit * block_size
#+             return hit

# %% wrong: full attention is taken to have everything
# as "rounds, each group looked up as vLLM does", but
#-             while run < most and cached[run]:
#-                 run += 1
#-             return run
#+             return most

# %% wrong: the longest of all
# as "full attention first, then the windows until nothing changes", but
#-     while not all(all(cached[max(0, hit - need):hit]) for need, cached in windows):
#+     while windows and not any(all(cached[max(0, hit - need):hit]) for need, cached in windows):

# %% wrong: the blocks that all groups have
def hit_of_all(num_tokens, groups, block_size):
    hit = 0
    while hit < (num_tokens - 1) // block_size and all(cached[hit] for _, cached in groups):
        hit += 1
    return hit * block_size
