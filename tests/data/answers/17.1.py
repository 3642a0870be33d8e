# %% right: two requests, each with as few tokens as possible
from pagesim.exercises.ch17.smallest import measure


def smallest(num_blocks, block_size):
    for total in range(4, 40):
        for prompt in range(1, total):
            for output in range(1, total - prompt):
                for other in range(1, total - prompt - output):
                    last = total - prompt - output - other
                    requests = [(prompt, output), (other, last)]
                    if last > 0:
                        preemptions, ended = measure(requests, num_blocks, block_size)
                        if preemptions > 0 and ended == 2:
                            return requests

# %% right: thought, not searched
def smallest(num_blocks, block_size):
    if num_blocks == 2:
        return [(block_size, 2), (1, 2)]
    return [(1, block_size + 1), (1, block_size + 1)]

# %% right: the small one first
def smallest(num_blocks, block_size):
    if num_blocks % 2:
        return [[1, block_size + 1], [1, block_size + 1]]
    return [[1, 2], [block_size, 2]]

# %% right: itertools
from itertools import count, product

from pagesim.exercises.ch17.smallest import measure


def smallest(num_blocks, block_size):
    for total in count(1):
        for sizes in product(range(1, total), repeat=4):
            if sum(sizes) == total:
                requests = [sizes[:2], sizes[2:]]
                preemptions, ended = measure(requests, num_blocks, block_size)
                if preemptions and ended == 2:
                    return requests

# %% right: the best of some shapes
from pagesim.exercises.ch17.smallest import measure


def smallest(num_blocks, block_size):
    shapes = [
        [((num_blocks - 1) * block_size, 2), (1, 2)],
        [(1, block_size + 1), (1, block_size + 1)],
        [(block_size, 2)] + [(1, 2)] * (num_blocks - 1),
    ]
    good = [s for s in shapes if measure(s, num_blocks, block_size) == (1, len(s))]
    return min(good, key=lambda s: sum(p + o for p, o in s))

# %% wrong: one that outgrows the pool
def smallest(num_blocks, block_size):
    return [(num_blocks * block_size, 2)]

# %% wrong: prompts that do not fit together
def smallest(num_blocks, block_size):
    return [(block_size, 2)] * (num_blocks + 1)

# %% wrong: full from the beginning
def smallest(num_blocks, block_size):
    return [(num_blocks * block_size, 1), (1, 1)]

# %% wrong: one token of output
def smallest(num_blocks, block_size):
    return [((num_blocks - 1) * block_size, 1), (1, 1)]

# %% wrong: a token too many
def smallest(num_blocks, block_size):
    return [((num_blocks - 1) * block_size, 3), (1, 3)]

# %% wrong: two large ones
def smallest(num_blocks, block_size):
    return [(block_size, block_size * num_blocks - block_size)] * 2

# %% wrong: an empty prompt
def smallest(num_blocks, block_size):
    return [((num_blocks - 1) * block_size, 2), (0, 3)]

# %% wrong: numbers, not pairs
def smallest(num_blocks, block_size):
    return [block_size, 2, 1, 2]

# %% wrong: as many requests as there are blocks
def smallest(num_blocks, block_size):
    return [(1, block_size + 1)] * num_blocks

# %% wrong: the number of tokens
def smallest(num_blocks, block_size):
    return block_size + 5
