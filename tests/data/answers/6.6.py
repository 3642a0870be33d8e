# %% right: a scene for each
def show_fault(evictor, num_blocks):
    filler = list(range(100, 100 + 2 * (num_blocks - 1)))
    if evictor == "A":
        return [[1, 1, 2, 2], filler, [1, 1, 2, 2]], "heads"
    if evictor == "B":
        return [[1, 1], filler, [3, 3], [1, 1]], "newest"
    return [[1, 1], filler, [1, 1], [3, 3], [1, 1]], "lowest"

# %% right: tried at random until one differs
import random

from pagesim.exercises.ch06.find_the_bug import found


def show_fault(evictor, num_blocks):
    rng = random.Random(0)
    while True:
        prompts = []
        for _ in range(5):
            blocks = rng.randint(1, num_blocks)
            prompts.append([t for _ in range(blocks) for t in [rng.randint(1, 2)] * 2])
        if found(prompts, num_blocks) != found(prompts, num_blocks, evictor):
            return prompts, {"A": "heads", "B": "newest", "C": "lowest"}[evictor]

# %% right: tuples and a dictionary
def show_fault(evictor, num_blocks):
    filler = tuple(range(50, 48 + 2 * num_blocks))
    a, b, new = (1, 2), (3, 4), (5, 6)
    scenes = {
        "A": ((a + b, filler, a + b), "heads"),
        "B": ((a, filler, new, a), "newest"),
        "C": ((a, filler, a, new, a), "lowest"),
    }
    return scenes[evictor]

# %% right: B by what stays: the filler comes back
def show_fault(evictor, num_blocks):
    rest = [9] * (2 * num_blocks - 2)
    match evictor:
        case "A":
            prompts, cause = [[1, 1, 2, 2], list(range(20, 18 + 2 * num_blocks)), [1, 1, 2, 2]], "heads"
        case "B":
            prompts, cause = [[1, 1], rest, [3, 3], rest + [4]], "newest"
        case _:
            prompts, cause = [[1, 1], rest, [1, 1], [3, 3], [1, 1]], "lowest"
    return [prompts, cause]

# %% right: NumPy arrays as prompts
import numpy as np


def show_fault(evictor, num_blocks):
    filler = np.arange(100, 98 + 2 * num_blocks)
    one, two = np.array([1, 1]), np.array([3, 3])
    if evictor == "A":
        long = np.array([1, 1, 2, 2])
        return [long, filler, long], "heads"
    if evictor == "B":
        return [one, filler, two, one], "newest"
    return [one, filler, one, two, one], "lowest"

# %% wrong: the example of the statement
def show_fault(evictor, num_blocks):
    cause = {"A": "heads", "B": "newest", "C": "lowest"}[evictor]
    return [[1, 1, 2, 2], [3, 3], [1, 1, 2, 2]], cause

# %% wrong: causes of B and C exchanged
def show_fault(evictor, num_blocks):
    filler = list(range(100, 100 + 2 * (num_blocks - 1)))
    if evictor == "A":
        return [[1, 1, 2, 2], filler, [1, 1, 2, 2]], "heads"
    if evictor == "B":
        return [[1, 1], filler, [3, 3], [1, 1]], "lowest"
    return [[1, 1], filler, [1, 1], [3, 3], [1, 1]], "newest"

# %% wrong: right for 3 blocks alone
# as "a scene for each", but
#-     filler = list(range(100, 100 + 2 * (num_blocks - 1)))
#+     filler = list(range(100, 100 + 4))

# %% wrong: the filler takes the whole pool, and nothing is left to differ
# as "a scene for each", but
#-     filler = list(range(100, 100 + 2 * (num_blocks - 1)))
#+     filler = list(range(100, 100 + 2 * num_blocks))

# %% wrong: always the same cause
def show_fault(evictor, num_blocks):
    filler = list(range(100, 100 + 2 * (num_blocks - 1)))
    if evictor == "A":
        return [[1, 1, 2, 2], filler, [1, 1, 2, 2]], "heads"
    if evictor == "B":
        return [[1, 1], filler, [3, 3], [1, 1]], "heads"
    return [[1, 1], filler, [1, 1], [3, 3], [1, 1]], "heads"

# %% wrong: six prompts
# as "a scene for each", but
#-         return [[1, 1, 2, 2], filler, [1, 1, 2, 2]], "heads"
#+         return [[1, 1, 2, 2], filler, [1, 1, 2, 2], [1, 1], [1, 1], [1, 1]], "heads"

# %% wrong: the prompt never comes back
# as "a scene for each", but
#-         return [[1, 1], filler, [3, 3], [1, 1]], "newest"
#+         return [[1, 1], filler, [3, 3]], "newest"

# %% wrong: C: block 0 is not used again, so the oldest is the lowest
# as "a scene for each", but
#-     return [[1, 1], filler, [1, 1], [3, 3], [1, 1]], "lowest"
#+     return [[1, 1], filler, [3, 3], [1, 1]], "lowest"

# %% wrong: blocks that are not full
# as "a scene for each", but
#-         return [[1, 1, 2, 2], filler, [1, 1, 2, 2]], "heads"
#+         return [[1], filler, [1]], "heads"

# %% wrong: cause first
# as "a scene for each", but
#-         return [[1, 1, 2, 2], filler, [1, 1, 2, 2]], "heads"
#+         return "heads", [[1, 1, 2, 2], filler, [1, 1, 2, 2]]
