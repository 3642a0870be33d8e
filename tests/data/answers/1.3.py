import numpy as np


# %% right: rows that are four pages
def stream(wanted, block_size):
    if wanted == "rows as good as pages":
        row = 4 * block_size
        return 10 * row, row, [(row - 1, 1)] * 60
    return 64, 16, [(1, 3), (6, 1), (3, 1), (9, 3)] * 15

# %% right: many requests
def stream(wanted, block_size):
    if wanted.startswith("rows"):
        return 1024, 128, [(127, 1) for _ in range(900)]
    return 32, 16, ([(14, 2), (2, 3), (1, 3)] * 20)

# %% right: everything as tuples
def stream(wanted, block_size):
    if wanted == "oracle worse than pow2":
        return 128, 32, ((14, 12), (22, 6), (4, 8), (1, 7)) * 15
    return 2048, 256, tuple((255, 1) for _ in range(50))

# %% right: arrays, and lists in place of pairs
def stream(wanted, block_size):
    if wanted == "oracle worse than pow2":
        return [np.int64(96), 32, np.tile([(1, 6), (12, 5), (8, 4), (6, 7)], (15, 1))]
    return [512, 128, [[127, 1]] * 64]

# %% right: long rows, four of them
def stream(wanted, block_size):
    if wanted == "rows as good as pages":
        return 2048, 512, [(511, 1)] * 80
    requests = []
    for _ in range(15):
        requests += [(2, 5), (7, 6), (23, 2), (30, 2)]
    return 96, 32, requests

# %% wrong: sure that it cannot be
def stream(wanted, block_size):
    if wanted == "rows as good as pages":
        return 512, 64, [(63, 1)] * 50
    return None

# %% wrong: a row of 320, which costs 512
def stream(wanted, block_size):
    if wanted == "rows as good as pages":
        return 3200, 320, [(319, 1)] * 60
    return 64, 16, [(1, 3), (6, 1), (3, 1), (9, 3)] * 15

# %% wrong: a pool that is no whole number of rows
def stream(wanted, block_size):
    if wanted == "rows as good as pages":
        return 640, 256, [(255, 1)] * 60
    return 64, 16, [(1, 3), (6, 1), (3, 1), (9, 3)] * 15

# %% wrong: 49 requests
def stream(wanted, block_size):
    if wanted == "rows as good as pages":
        return 512, 64, [(63, 1)] * 49
    return 32, 16, [(14, 2), (2, 3), (1, 3)] * 20

# %% wrong: equal shares, but few of the slots hold tokens
def stream(wanted, block_size):
    if wanted == "rows as good as pages":
        return 8192, 64, [(63, 1)] * 50
    return 32, 16, [(14, 2), (2, 3), (1, 3)] * 20

# %% wrong: more rows than prompts can be computed for in an iteration
def stream(wanted, block_size):
    if wanted == "rows as good as pages":
        return 8192, 1024, [(1023, 1)] * 100
    return 32, 16, [(14, 2), (2, 3), (1, 3)] * 20

# %% wrong: prompt and answer exchanged
def stream(wanted, block_size):
    if wanted == "rows as good as pages":
        return 512, 64, [(1, 63)] * 50
    return 32, 16, [(14, 2), (2, 3), (1, 3)] * 20

# %% wrong: requests that do not fill the row
def stream(wanted, block_size):
    if wanted == "rows as good as pages":
        return 512, 64, [(40, 8)] * 50
    return 32, 16, [(14, 2), (2, 3), (1, 3)] * 20

# %% wrong: random requests, for which the oracle is the better one
def stream(wanted, block_size):
    if wanted == "rows as good as pages":
        return 512, 64, [(63, 1)] * 50
    return 256, 64, [(20, 9), (5, 17), (30, 3)] * 20

# %% wrong: a row of 48, which costs 64
def stream(wanted, block_size):
    if wanted == "rows as good as pages":
        return 1000 // 48 * 48, 48, [(47, 1)] * 60
    return 32, 16, [(14, 2), (2, 3), (1, 3)] * 20

# %% wrong: a pool that is too large
def stream(wanted, block_size):
    if wanted == "rows as good as pages":
        return 16384, 1024, [(1023, 1)] * 100
    return 32, 16, [(14, 2), (2, 3), (1, 3)] * 20

# %% wrong: one stream for both
def stream(wanted, block_size):
    return 32, 16, [(14, 2), (2, 3), (1, 3)] * 20
