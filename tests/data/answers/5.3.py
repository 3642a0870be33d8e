import math

import numpy as np


# %% right: by halves
def break_even(model, card):
    kv = 4 * model["layers"] * model["kv_heads"] * model["head_dim"]
    weights = 2 * model["parameters"]

    def faster(n):
        step = max(weights / card["bytes_per_second"], n * weights / card["flops_per_second"])
        return step < 2 * n * kv / card["swap_bytes_per_second"]

    if not faster(10_000):
        return 0
    low, high = 0, 10_000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if faster(middle) else (middle, high)
    return high

# %% right: closed form
def break_even(model, card):
    kv = 4 * model["layers"] * model["kv_heads"] * model["head_dim"]
    swap = 2 * kv / card["swap_bytes_per_second"]
    compute = 2 * model["parameters"] / card["flops_per_second"]
    if compute >= swap:
        return 0
    n = math.floor(2 * model["parameters"] / card["bytes_per_second"] / swap) + 1
    return n if n <= 10_000 else 0

# %% right: arrays, a NumPy integer
def break_even(model, card):
    n = np.arange(1, 10_001)
    kv = 4 * model["layers"] * model["kv_heads"] * model["head_dim"]
    swap = 2 * n * kv / card["swap_bytes_per_second"]
    read = 2 * model["parameters"] / card["bytes_per_second"]
    compute = n * 2 * model["parameters"] / card["flops_per_second"]
    faster = np.maximum(read, compute) < swap
    return n[faster][0] if faster.any() else 0

# %% right: a whole float
def break_even(model, card):
    kv = 4 * model["layers"] * model["kv_heads"] * model["head_dim"]
    swap = 2 * kv / card["swap_bytes_per_second"]
    if 2 * model["parameters"] / card["flops_per_second"] >= swap:
        return 0
    n = np.ceil(2 * model["parameters"] / card["bytes_per_second"] / swap)
    return int(n) if n <= 1e4 else 0

# %% right: two rates
def break_even(model, card):
    numbers = model["layers"] * model["kv_heads"] * model["head_dim"] * 2
    bytes_both_ways = numbers * 2 * 2
    for n in range(1, 10_001):
        seconds = n * bytes_both_ways / card["swap_bytes_per_second"]
        if model["parameters"] * 2 / card["bytes_per_second"] < seconds:
            if n * model["parameters"] * 2 / card["flops_per_second"] < seconds:
                return n
    return 0

# %% wrong: one way only
def break_even(model, card):
    kv = 4 * model["layers"] * model["kv_heads"] * model["head_dim"]
    for n in range(1, 10_001):
        read = 2 * model["parameters"] / card["bytes_per_second"]
        compute = n * 2 * model["parameters"] / card["flops_per_second"]
        if max(read, compute) < n * kv / card["swap_bytes_per_second"]:
            return n
    return 0

# %% wrong: keys without values
def break_even(model, card):
    kv = 2 * model["layers"] * model["kv_heads"] * model["head_dim"]
    for n in range(1, 10_001):
        read = 2 * model["parameters"] / card["bytes_per_second"]
        compute = n * 2 * model["parameters"] / card["flops_per_second"]
        if max(read, compute) < 2 * n * kv / card["swap_bytes_per_second"]:
            return n
    return 0

# %% wrong: one layer
# as "keys without values", but
#-     kv = 2 * model["layers"] * model["kv_heads"] * model["head_dim"]
#+     kv = 4 * model["kv_heads"] * model["head_dim"]

# %% wrong: reading the weights is forgotten
def break_even(model, card):
    kv = 4 * model["layers"] * model["kv_heads"] * model["head_dim"]
    for n in range(1, 10_001):
        compute = n * 2 * model["parameters"] / card["flops_per_second"]
        if compute < 2 * n * kv / card["swap_bytes_per_second"]:
            return n
    return 0

# %% wrong: computing is forgotten
# as "one way only", but
#-         compute = n * 2 * model["parameters"] / card["flops_per_second"]
#-         if max(read, compute) < n * kv / card["swap_bytes_per_second"]:
#+         if read < 2 * n * kv / card["swap_bytes_per_second"]:

# %% wrong: the sum in place of the longer one
# as "one way only", but
#-         if max(read, compute) < n * kv / card["swap_bytes_per_second"]:
#+         if read + compute < 2 * n * kv / card["swap_bytes_per_second"]:

# %% wrong: the shorter one
# as "one way only", but
#-         if max(read, compute) < n * kv / card["swap_bytes_per_second"]:
#+         if min(read, compute) < 2 * n * kv / card["swap_bytes_per_second"]:

# %% wrong: the other question
# as "one way only", but
#-         if max(read, compute) < n * kv / card["swap_bytes_per_second"]:
#+         if max(read, compute) > 2 * n * kv / card["swap_bytes_per_second"]:

# %% wrong: the swapped bytes by the memory of the card
# as "one way only", but
#-         if max(read, compute) < n * kv / card["swap_bytes_per_second"]:
#+         if max(read, compute) < 2 * n * kv / card["bytes_per_second"]:

# %% wrong: a weight read in one byte
def break_even(model, card):
    kv = 4 * model["layers"] * model["kv_heads"] * model["head_dim"]
    for n in range(1, 10_001):
        read = model["parameters"] / card["bytes_per_second"]
        compute = n * 2 * model["parameters"] / card["flops_per_second"]
        if max(read, compute) < 2 * n * kv / card["swap_bytes_per_second"]:
            return n
    return 0

# %% wrong: one operation for each parameter
# as "one way only", but
#-         compute = n * 2 * model["parameters"] / card["flops_per_second"]
#-         if max(read, compute) < n * kv / card["swap_bytes_per_second"]:
#+         compute = n * model["parameters"] / card["flops_per_second"]
#+         if max(read, compute) < 2 * n * kv / card["swap_bytes_per_second"]:

# %% wrong: 10,000 where there is none
def break_even(model, card):
    kv = 4 * model["layers"] * model["kv_heads"] * model["head_dim"]
    for n in range(1, 10_001):
        read = 2 * model["parameters"] / card["bytes_per_second"]
        compute = n * 2 * model["parameters"] / card["flops_per_second"]
        if max(read, compute) < 2 * n * kv / card["swap_bytes_per_second"]:
            return n
    return 10_000

# %% wrong: None where there is none
# as "10,000 where there is none", but
#-     return 10_000

# %% wrong: gives up at 1,000 tokens
# as "keys without values", but
#-     kv = 2 * model["layers"] * model["kv_heads"] * model["head_dim"]
#-     for n in range(1, 10_001):
#+     kv = 4 * model["layers"] * model["kv_heads"] * model["head_dim"]
#+     for n in range(1, 1_000):
