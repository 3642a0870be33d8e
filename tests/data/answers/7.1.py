# %% right: a loop with three accounts
def admit(waiting, free_blocks, token_budget, seq_budget, watermark_blocks, block_size):
    admitted = []
    for i, n in enumerate(waiting):
        need = (n + block_size - 1) // block_size
        if free_blocks - need < watermark_blocks:
            break
        if n > token_budget:
            break
        if len(admitted) >= seq_budget:
            break
        admitted.append(i)
        free_blocks -= need
        token_budget -= n
    return admitted

# %% right: running sums, and how long they fit
import itertools
import math


def admit(waiting, free_blocks, token_budget, seq_budget, watermark_blocks, block_size):
    blocks = itertools.accumulate(math.ceil(n / block_size) for n in waiting)
    tokens = itertools.accumulate(waiting)
    fits = [
        b <= free_blocks - watermark_blocks and t <= token_budget and k <= seq_budget
        for k, (b, t) in enumerate(zip(blocks, tokens), 1)
    ]
    return [i for i, _ in itertools.takewhile(lambda pair: pair[1], enumerate(fits))]

# %% right: NumPy
import numpy as np


def admit(waiting, free_blocks, token_budget, seq_budget, watermark_blocks, block_size):
    waiting = np.array(waiting)
    need = -(-waiting // block_size)
    ok = np.cumsum(need) <= free_blocks - watermark_blocks
    ok &= np.cumsum(waiting) <= token_budget
    ok &= np.arange(len(waiting)) < seq_budget
    return np.flatnonzero(np.logical_and.accumulate(ok))

# %% right: a while loop, and a range, since the admitted ones are always the first
def admit(waiting, free_blocks, token_budget, seq_budget, watermark_blocks, block_size):
    usable, n = free_blocks - watermark_blocks, 0
    while n < len(waiting) and n < seq_budget:
        usable -= -(-waiting[n] // block_size)
        token_budget -= waiting[n]
        if usable < 0 or token_budget < 0:
            break
        n += 1
    return range(n)

# %% right: recursion from the back, a tuple
def admit(waiting, free_blocks, token_budget, seq_budget, watermark_blocks, block_size):
    def fits(k):
        head = waiting[:k]
        blocks = sum(n // block_size + (n % block_size > 0) for n in head)
        return (
            k <= seq_budget
            and sum(head) <= token_budget
            and free_blocks - blocks >= watermark_blocks
        )

    most = max(k for k in range(len(waiting) + 1) if k == 0 or fits(k))
    return tuple(range(most))

# %% wrong: whole blocks only, rounded down
# as "a loop with three accounts", but
#-         need = (n + block_size - 1) // block_size
#+         need = n // block_size

# %% wrong: always one block more
# as "a loop with three accounts", but
#-         need = (n + block_size - 1) // block_size
#+         need = n // block_size + 1

# %% wrong: the watermark must be exceeded
# as "a loop with three accounts", but
#-         if free_blocks - need < watermark_blocks:
#+         if free_blocks - need <= watermark_blocks:

# %% wrong: a prompt that does not fit is passed over
# as "a loop with three accounts", but
#          if free_blocks - need < watermark_blocks:
#-             break
#+             continue

# %% wrong: passed over where the token budget is too small
# as "a loop with three accounts", but
#          if n > token_budget:
#-             break
#+             continue

# %% wrong: the token budget is never used up
# as "a loop with three accounts", but
#-         token_budget -= n

# %% wrong: blocks are never used up
# as "a loop with three accounts", but
#-         free_blocks -= need

# %% wrong: one sequence too many
# as "a loop with three accounts", but
#-         if len(admitted) >= seq_budget:
#+         if len(admitted) > seq_budget:

# %% wrong: lengths instead of places
# as "a loop with three accounts", but
#-         admitted.append(i)
#+         admitted.append(n)

# %% wrong: prompts share a block: all tokens together are rounded up
def admit(waiting, free_blocks, token_budget, seq_budget, watermark_blocks, block_size):
    admitted, tokens = [], 0
    for i, n in enumerate(waiting):
        tokens += n
        if -(-tokens // block_size) > free_blocks - watermark_blocks:
            break
        if tokens > token_budget or i >= seq_budget:
            break
        admitted.append(i)
    return admitted
