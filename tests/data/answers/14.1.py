import numpy as np


# %% right: without max and min
def lane(head_size, block_size, query_bytes, cache_bytes, number):
    group = 32 // block_size if block_size < 32 else 1
    bytes_of_lane = 16 // group
    vec = bytes_of_lane // query_bytes if bytes_of_lane >= query_bytes else 1
    tokens = 16 // query_bytes if 16 // query_bytes < block_size else block_size
    sharing = block_size // tokens
    rows = [r for r in range(head_size) if r % (32 // sharing) == number // sharing]
    return group, vec, 16 // cache_bytes, rows

# %% right: an array of rows
def lane(head_size, block_size, query_bytes, cache_bytes, number):
    group = max(1, 32 // block_size)
    vec = max(1, 16 // (group * query_bytes))
    sharing = max(1, block_size * query_bytes // 16)
    rows = np.arange(number // sharing, head_size, 32 // sharing)
    return group, vec, 16 // cache_bytes, rows

# %% right: a range, in a list
def lane(head_size, block_size, query_bytes, cache_bytes, number):
    group = max(32 // block_size, 1)
    vec = max(16 // group // query_bytes, 1)
    lanes = block_size // min(16 // query_bytes, block_size)
    return [group, vec, 16 // cache_bytes, range(number // lanes, head_size, 32 // lanes)]

# %% right: walks through the rows as the warp does
def lane(head_size, block_size, query_bytes, cache_bytes, number):
    group = max(32 // block_size, 1)
    vec = max(16 // (group * query_bytes), 1)
    tokens = min(16 // query_bytes, block_size)
    rows, first = [], 0
    while first < head_size:
        begin = number * tokens  # in the elements of a warp's reading
        row = first + begin // block_size
        if row < head_size:
            rows.append(row)
        first += 32 * tokens // block_size
    return group, vec, 16 // cache_bytes, rows

# %% right: NumPy integers, a tuple of rows
def lane(head_size, block_size, query_bytes, cache_bytes, number):
    group = np.maximum(32 // np.int64(block_size), 1)
    vec = np.maximum(16 // (group * query_bytes), 1)
    tokens = np.minimum(16 // query_bytes, block_size)
    lanes = block_size // tokens
    rows = tuple(range(int(number // lanes), head_size, int(32 // lanes)))
    return group, vec, np.int64(16 // cache_bytes), rows

# %% wrong: a group of no lanes for blocks of more than 32
def lane(head_size, block_size, query_bytes, cache_bytes, number):
    group = 32 // block_size
    vec = max(16 // (max(group, 1) * query_bytes), 1)
    tokens = min(16 // query_bytes, block_size)
    lanes = block_size // tokens
    return group, vec, 16 // cache_bytes, list(range(number // lanes, head_size, 32 // lanes))

# %% wrong: no element at all where the group is large
def lane(head_size, block_size, query_bytes, cache_bytes, number):
    group = max(32 // block_size, 1)
    vec = 16 // (group * query_bytes)
    tokens = min(16 // query_bytes, block_size)
    lanes = block_size // tokens
    return group, vec, 16 // cache_bytes, list(range(number // lanes, head_size, 32 // lanes))

# %% wrong: more tokens at once than a row has
def lane(head_size, block_size, query_bytes, cache_bytes, number):
    group = max(32 // block_size, 1)
    vec = max(16 // (group * query_bytes), 1)
    lanes = block_size // (16 // query_bytes) or 1
    step = 32 * (16 // query_bytes) // block_size
    rows = list(range(number * (16 // query_bytes) // block_size, head_size, step))
    rows = rows if block_size >= 16 // query_bytes else rows[:1]
    return group, vec, 16 // cache_bytes, rows

# %% wrong: x from the bytes of the query
def lane(head_size, block_size, query_bytes, cache_bytes, number):
    group = max(32 // block_size, 1)
    vec = max(16 // (group * query_bytes), 1)
    tokens = min(16 // query_bytes, block_size)
    lanes = block_size // tokens
    return group, vec, 16 // query_bytes, list(range(number // lanes, head_size, 32 // lanes))

# %% wrong: the lane reads V by the bytes of the cache
def lane(head_size, block_size, query_bytes, cache_bytes, number):
    group = max(32 // block_size, 1)
    vec = max(16 // (group * query_bytes), 1)
    tokens = min(16 // cache_bytes, block_size)
    lanes = block_size // tokens
    return group, vec, 16 // cache_bytes, list(range(number // lanes, head_size, 32 // lanes))

# %% wrong: VEC_SIZE by the bytes of the cache
# as "no element at all where the group is large", but
#-     vec = 16 // (group * query_bytes)
#+     vec = max(16 // (group * cache_bytes), 1)

# %% wrong: rows side by side, not in turn
def lane(head_size, block_size, query_bytes, cache_bytes, number):
    group = max(32 // block_size, 1)
    vec = max(16 // (group * query_bytes), 1)
    lanes = block_size // min(16 // query_bytes, block_size)
    each = head_size // (32 // lanes)
    first = number // lanes * each
    return group, vec, 16 // cache_bytes, list(range(first, first + each))

# %% wrong: remainder in place of division
def lane(head_size, block_size, query_bytes, cache_bytes, number):
    group = max(32 // block_size, 1)
    vec = max(16 // (group * query_bytes), 1)
    lanes = block_size // min(16 // query_bytes, block_size)
    rows_at_once = 32 // lanes
    return group, vec, 16 // cache_bytes, list(range(number % rows_at_once, head_size, rows_at_once))

# %% wrong: rows beyond the head
def lane(head_size, block_size, query_bytes, cache_bytes, number):
    group = max(32 // block_size, 1)
    vec = max(16 // (group * query_bytes), 1)
    lanes = block_size // min(16 // query_bytes, block_size)
    step = 32 // lanes
    rows = [number // lanes + i * step for i in range(-(-head_size // step))]
    return group, vec, 16 // cache_bytes, rows

# %% wrong: a lane reads 16 bytes of q by itself
def lane(head_size, block_size, query_bytes, cache_bytes, number):
    group = max(32 // block_size, 1)
    lanes = block_size // min(16 // query_bytes, block_size)
    return (
        group, 16 // query_bytes, 16 // cache_bytes, list(range(number // lanes, head_size, 32 // lanes)),
    )

# %% wrong: the last rows cut off where the head is no multiple of a warp's rows
# as "rows beyond the head", but
#-     rows = [number // lanes + i * step for i in range(-(-head_size // step))]
#+     rows = [number // lanes + i * step for i in range(head_size // step)]
