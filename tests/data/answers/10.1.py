# %% right: two loops
def tokens_of_a_step(running, waiting, budget, max_num_seqs):
    scheduled = []
    for name, tokens, computed in running:
        n = min(tokens - computed, budget)
        if n > 0:
            scheduled.append((name, n))
            budget -= n
    seqs = len(running)
    for name, tokens, hit in waiting:
        if seqs >= max_num_seqs or budget == 0:
            break
        n = min(tokens - hit, budget)
        scheduled.append((name, n))
        budget -= n
        seqs += 1
    return scheduled

# %% right: one loop over both
def tokens_of_a_step(running, waiting, budget, max_num_seqs):
    rows = list(running) + list(waiting[: max_num_seqs - len(running)])
    out = []
    for name, tokens, done in rows:
        n = min(tokens - done, budget)
        budget -= n
        if n:
            out.append([name, n])
    return out

# %% right: running sums
from itertools import accumulate


def tokens_of_a_step(running, waiting, budget, max_num_seqs):
    rows = [*running, *waiting][: max(max_num_seqs, len(running))]
    ends = [min(end, budget) for end in accumulate(t - c for _, t, c in rows)]
    parts = [end - start for start, end in zip([0, *ends], ends)]
    return [(row[0], part) for row, part in zip(rows, parts) if part]

# %% right: a generator and NumPy
import numpy as np


def tokens_of_a_step(running, waiting, budget, max_num_seqs):
    rows = running + waiting[: max_num_seqs - len(running)]
    lacks = np.array([tokens - done for _, tokens, done in rows], dtype=int)
    before = np.cumsum(lacks) - lacks
    gets = np.clip(budget - before, 0, lacks)
    return tuple((row[0], n) for row, n in zip(rows, gets) if n > 0)

# %% right: a deque of rows
from collections import deque


def tokens_of_a_step(running, waiting, budget, max_num_seqs):
    left, scheduled = deque(waiting), {}
    rows = deque(running)
    places = max_num_seqs - len(running)
    while budget > 0:
        if not rows:
            if not left or places == 0:
                break
            rows.append(left.popleft())
            places -= 1
        name, tokens, done = rows.popleft()
        scheduled[name] = min(budget, tokens - done)
        budget -= scheduled[name]
    return list(scheduled.items())

# %% wrong: V0: prompts first, and alone
def tokens_of_a_step(running, waiting, budget, max_num_seqs):
    out = []
    for name, tokens, hit in waiting[: max_num_seqs - len(running)]:
        n = min(tokens - hit, budget)
        if n > 0:
            out.append((name, n))
            budget -= n
    return out or [(name, 1) for name, _, _ in running][:budget]

# %% wrong: what is cached is computed too
# as "two loops", but
#-         n = min(tokens - hit, budget)
#+         n = min(tokens, budget)

# %% wrong: what is cached is charged to the budget
# as "two loops", but
#-         budget -= n
#+         budget = max(0, budget - n - hit)

# %% wrong: a running request computes one token
# as "two loops", but
#-         n = min(tokens - computed, budget)
#+         n = min(1, budget)

# %% wrong: a prompt that does not fit the budget waits
# as "two loops", but
#-         n = min(tokens - hit, budget)
#+         n = tokens - hit
#+         if n > budget:
#+             break

# %% wrong: it is passed over, and a smaller one goes first
# as "two loops", but
#-         n = min(tokens - hit, budget)
#+         n = tokens - hit
#+         if n > budget:
#+             continue

# %% wrong: max_num_seqs waiting ones, whatever runs
# as "two loops", but
#-     seqs = len(running)
#+     seqs = 0

# %% wrong: running ones that decode go before running prompts
# as "two loops", but
#-     for name, tokens, computed in running:
#+     for name, tokens, computed in sorted(running, key=lambda row: row[1] - row[2] > 1):

# %% wrong: requests without tokens are listed with 0
# as "two loops", but
#-         if n > 0:
#-             scheduled.append((name, n))
#-             budget -= n
#+         scheduled.append((name, n))
#+         budget -= n

# %% wrong: one request beyond the places
# as "two loops", but
#-         if seqs >= max_num_seqs or budget == 0:
#+         if seqs > max_num_seqs or budget == 0:
