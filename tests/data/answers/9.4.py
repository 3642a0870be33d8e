# %% right: arithmetic
def found_again(num_tokens, num_computed, num_free, num_taken, block_size):
    full = num_computed // block_size
    in_front = num_free
    if num_computed % block_size:
        in_front += 1
    lost = max(0, num_taken - in_front)
    hits = min(full - lost, (num_tokens - 1) // block_size)
    return hits * block_size

# %% right: the queue written out
from collections import deque


def found_again(num_tokens, num_computed, num_free, num_taken, block_size):
    full, rest = divmod(num_computed, block_size)
    queue = deque(["free"] * num_free)
    if rest:
        queue.appendleft("rest")
    queue.extend(reversed(range(full)))
    for _ in range(num_taken):
        queue.popleft()
    hits = 0
    while hits in queue and (hits + 1) * block_size < num_tokens:
        hits += 1
    return hits * block_size

# %% right: what is left of the queue, a slice
def found_again(num_tokens, num_computed, num_free, num_taken, block_size):
    table = list(range(-(-num_computed // block_size)))
    full = table[: num_computed // block_size]
    queue = [b for b in table if b not in full] + [None] * num_free + full[::-1]
    left = [b for b in queue[num_taken:] if b in full]
    return min(len(left) * block_size, (num_tokens - 1) // block_size * block_size)

# %% right: with a sign trick, NumPy's clip
import numpy as np


def found_again(num_tokens, num_computed, num_free, num_taken, block_size):
    blocks = -(-num_computed // block_size)
    left_over = blocks + num_free - num_taken
    most = min(num_computed // block_size, (num_tokens - 1) // block_size)
    return np.clip(left_over, 0, most) * block_size

# %% right: block after block from the back
def found_again(num_tokens, num_computed, num_free, num_taken, block_size):
    hits = num_computed // block_size
    taken = num_taken - num_free - int(num_computed % block_size > 0)
    while taken > 0:
        hits, taken = hits - 1, taken - 1
    while hits * block_size >= num_tokens:
        hits -= 1
    return hits * block_size

# %% wrong: the block that is not full goes to the back too
# as "arithmetic", but
#-     if num_computed % block_size:
#-         in_front += 1

# %% wrong: its own blocks stand before the free ones
# as "arithmetic", but
#-     in_front = num_free
#+     in_front = 0

# %% wrong: the beginning goes first: any loss is a loss of all
# as "arithmetic", but
#-     hits = min(full - lost, (num_tokens - 1) // block_size)
#+     hits = min(full if not lost else 0, (num_tokens - 1) // block_size)

# %% wrong: no token is left to compute
# as "arithmetic", but
#-     hits = min(full - lost, (num_tokens - 1) // block_size)
#+     hits = full - lost

# %% wrong: the block that is not full is found too
# as "arithmetic", but
#-     return hits * block_size
#+     return hits * block_size if lost or num_taken else min(num_computed, num_tokens - 1)

# %% wrong: all tokens of the prompt, computed or not
# as "arithmetic", but
#-     full = num_computed // block_size
#+     full = num_tokens // block_size

# %% wrong: the block that is not full is counted as full
# as "arithmetic", but
#-     full = num_computed // block_size
#+     full = -(-num_computed // block_size)

# %% wrong: blocks instead of tokens
# as "arithmetic", but
#-     return hits * block_size
#+     return hits

# %% wrong: a full block always stands in front of the one that is not
# as "arithmetic", but
#-         in_front += 1
#+         in_front -= 1

# %% wrong: one more is taken than there is
# as "arithmetic", but
#-     lost = max(0, num_taken - in_front)
#+     lost = max(0, num_taken + 1 - in_front)
