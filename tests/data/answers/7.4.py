# %% right: a loop over running, victims popped from its end
def next_step(waiting, running, free, block_size):
    free = list(free)
    computed = []
    for name, tokens in waiting:
        need = (tokens + block_size - 1) // block_size
        if need > len(free):
            break
        del free[:need]
        computed.append((name, tokens))
    if computed:
        return computed, [], free
    rest = list(running)
    preempted = []
    while rest:
        name, tokens, table = rest.pop(0)
        alive = True
        while not free:
            if rest:
                victim = rest.pop()
                preempted.append(victim[0])
                for block in victim[2]:
                    free.insert(0, block)
            else:
                preempted.append(name)
                for block in table:
                    free.insert(0, block)
                alive = False
                break
        if not alive:
            continue
        if (tokens - 1) % block_size == 0:
            free.pop(0)
        computed.append((name, 1))
    return computed, preempted, free

# %% right: deques
from collections import deque


def next_step(waiting, running, free, block_size):
    pool, computed, preempted = deque(free), [], []
    for name, tokens in waiting:
        pages = -(-tokens // block_size)
        if len(pool) < pages:
            break
        for _ in range(pages):
            pool.popleft()
        computed.append((name, tokens))
    queue = deque() if computed else deque(running)
    while queue:
        me = queue.popleft()
        while not pool:
            victim = queue.pop() if queue else me
            preempted.append(victim[0])
            pool.extendleft(victim[2])
            if victim is me:
                return computed, preempted, list(pool)
        if len(me[2]) * block_size < me[1]:
            pool.popleft()
        computed.append((me[0], 1))
    return computed, preempted, list(pool)

# %% right: two indices into running, lists instead of tuples
def next_step(waiting, running, free, block_size):
    admitted, at = [], 0
    for name, tokens in waiting:
        need = tokens // block_size + bool(tokens % block_size)
        if at + need > len(free):
            break
        at += need
        admitted.append([name, tokens])
    if admitted:
        return [admitted, [], free[at:]]
    free, out, victims = free[:], [], []
    first, last = 0, len(running)
    while first < last:
        name, tokens, table = running[first]
        while not free and last > first:
            last -= 1
            victims.append(running[last][0])
            free = running[last][2][::-1] + free
        if last == first:
            break
        if tokens - 1 == len(table) * block_size:
            free = free[1:]
        out.append([name, 1])
        first += 1
    return [out, victims, free]

# %% right: a helper for each half
def _prompts(waiting, free, block_size):
    taken = []
    for name, tokens in waiting:
        n = -(-tokens // block_size)
        if n > len(free):
            return taken, free
        taken, free = taken + [(name, tokens)], free[n:]
    return taken, free


def _decodes(running, free, block_size):
    running, done, gone = list(running), [], []
    while running:
        if not free:
            name, _, table = running.pop()
            gone.append(name)
            free = list(reversed(table)) + free
            continue
        name, tokens, _ = running.pop(0)
        if tokens % block_size == 1 or block_size == 1:
            free = free[1:]
        done.append((name, 1))
    return done, gone, free


def next_step(waiting, running, free, block_size):
    taken, left = _prompts(waiting, list(free), block_size)
    if taken:
        return taken, [], left
    return _decodes(running, list(free), block_size)

# %% right: NumPy's array for the free list
import numpy as np


def next_step(waiting, running, free, block_size):
    free = np.array(free, dtype=int)
    computed, preempted = [], []
    for name, tokens in waiting:
        need = int(np.ceil(tokens / block_size))
        if need > free.size:
            break
        free = free[need:]
        computed.append((name, tokens))
    left = [] if computed else list(running)
    while left:
        if free.size == 0:
            name, _, table = left.pop()
            preempted.append(name)
            free = np.concatenate((np.array(table)[::-1], free))
        else:
            name, tokens, _ = left.pop(0)
            computed.append((name, 1))
            free = free[int((tokens - 1) % block_size == 0) :]
    return computed, preempted, free

# %% wrong: prompts and decodes in one step
# as "a loop over running, victims popped from its end", but
#-     if computed:
#-         return computed, [], free

# %% wrong: a prompt that fits overtakes
# as "a loop over running, victims popped from its end", but
#-             break
#+             continue

# %% wrong: a victim's blocks go behind the free ones
# as "a loop over running, victims popped from its end", but
#-                 for block in victim[2]:
#-                     free.insert(0, block)
#+                 free.extend(victim[2])

# %% wrong: a victim's blocks go back in the order of the table
# as "a loop over running, victims popped from its end", but
#-                 for block in victim[2]:
#-                     free.insert(0, block)
#+                 free[:0] = victim[2]

# %% wrong: a block is needed only where the own one is full
# as "a loop over running, victims popped from its end", but
#-         while not free:
#+         while not free and (tokens - 1) % block_size == 0:

# %% wrong: the token is counted as if it had its slot
# as "a loop over running, victims popped from its end", but
#-         if (tokens - 1) % block_size == 0:
#+         if tokens % block_size == 0:

# %% wrong: the oldest is the victim
# as "a loop over running, victims popped from its end", but
#-                 victim = rest.pop()
#+                 victim = rest.pop(0)

# %% wrong: a sequence never gives way itself
# as "a loop over running, victims popped from its end", but
#-                 preempted.append(name)
#-                 for block in table:
#-                     free.insert(0, block)

# %% wrong: one victim is enough, and the sequence then waits
# as "a loop over running, victims popped from its end", but
#                      free.insert(0, block)
#+                 alive = False
#+                 break
#              else:

# %% wrong: the block that is free is taken by everyone
# as "a loop over running, victims popped from its end", but
#-         if (tokens - 1) % block_size == 0:
#-             free.pop(0)
#+         free.pop(0)
