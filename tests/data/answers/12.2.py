# %% right: a loop over chunks
def worth_loading(model, machine, chunk):
    load = model["bytes_per_token"] / machine["bytes_per_second"]
    compute = 2 * model["parameters"] / machine["flops_per_second"]
    if load >= compute:
        return 0
    n = chunk
    while machine["wait"] + n * load >= n * compute:
        n += chunk
    return n

# %% right: floor and ceil
import math


def worth_loading(model, machine, chunk):
    load = model["bytes_per_token"] / machine["bytes_per_second"]
    compute = 2 * model["parameters"] / machine["flops_per_second"]
    if compute <= load:
        return 0
    equal = machine["wait"] / (compute - load)
    return max(math.ceil(equal / chunk), 1) * chunk

# %% right: tokens first, then chunks
def worth_loading(model, machine, chunk):
    gain = 2 * model["parameters"] / machine["flops_per_second"]
    gain -= model["bytes_per_token"] / machine["bytes_per_second"]
    if not gain > 0:
        return 0
    tokens = int(machine["wait"] / gain) + 1
    return -(-tokens // chunk) * chunk

# %% right: all in speeds
def worth_loading(model, machine, chunk):
    tokens_loaded = machine["bytes_per_second"] / model["bytes_per_token"]
    tokens_computed = machine["flops_per_second"] / (2 * model["parameters"])
    if tokens_computed >= tokens_loaded:
        return 0
    ahead = machine["wait"] * tokens_computed
    n = ahead / (1 - tokens_computed / tokens_loaded)
    return int((n // chunk + 1) * chunk)

# %% right: range
def worth_loading(model, machine, chunk):
    def load(n):
        return machine["wait"] + n * model["bytes_per_token"] / machine["bytes_per_second"]

    def compute(n):
        return n * 2 * model["parameters"] / machine["flops_per_second"]

    return next((n for n in range(chunk, 10**6, chunk) if load(n) < compute(n)), 0)

# %% wrong: one operation per parameter
# as "a loop over chunks", but
#-     compute = 2 * model["parameters"] / machine["flops_per_second"]
#+     compute = model["parameters"] / machine["flops_per_second"]

# %% wrong: no wait
# as "a loop over chunks", but
#-     while machine["wait"] + n * load >= n * compute:
#+     while n * load >= n * compute:

# %% wrong: the wait is for computing
# as "floor and ceil", but
#-     equal = machine["wait"] / (compute - load)
#+     equal = machine["wait"] / compute

# %% wrong: chunks in place of tokens
# as "floor and ceil", but
#-     return max(math.ceil(equal / chunk), 1) * chunk
#+     return max(math.ceil(equal / chunk), 1)

# %% wrong: rounded to the nearest chunk
# as "floor and ceil", but
#-     return max(math.ceil(equal / chunk), 1) * chunk
#+     return max(round(equal / chunk), 1) * chunk

# %% wrong: one chunk more
# as "floor and ceil", but
#-     return max(math.ceil(equal / chunk), 1) * chunk
#+     return (math.ceil(equal / chunk) + 1) * chunk

# %% wrong: nothing to wait for is 0 tokens
# as "floor and ceil", but
#-     return max(math.ceil(equal / chunk), 1) * chunk
#+     return math.ceil(equal / chunk) * chunk

# %% wrong: never is infinity
# as "a loop over chunks", but
#-         return 0
#+         return float("inf")

# %% wrong: never is minus one
# as "a loop over chunks", but
#-         return 0
#+         return -1

# %% wrong: bytes of the weights
# as "tokens first, then chunks", but
#-     gain -= model["bytes_per_token"] / machine["bytes_per_second"]
#+     gain -= 2 * model["parameters"] / machine["bytes_per_second"]

# %% wrong: any number of tokens
# as "range", but
#-     return next((n for n in range(chunk, 10**6, chunk) if load(n) < compute(n)), 0)
#+     return next((n for n in range(1, 10**6) if load(n) < compute(n)), 0)

# %% wrong: beyond a fixed number there is none
# as "range", but
#-     return next((n for n in range(chunk, 10**6, chunk) if load(n) < compute(n)), 0)
#+     return next((n for n in range(chunk, 1000, chunk) if load(n) < compute(n)), 0)
