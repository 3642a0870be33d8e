# %% right: every size measured
from pagesim.exercises.ch15.best_partition import measure


def best_size(lengths, kv_heads, places):
    longest = (max(lengths) + 15) // 16 * 16
    best, least = 128, None
    for size in range(128, max(128, longest) + 1, 16):
        time = measure(lengths, kv_heads, places, size)
        if least is None or time < least:
            best, least = size, time
    return best

# %% right: the largest of the best
import math

from pagesim.exercises.ch15.best_partition import measure


def best_size(lengths, kv_heads, places):
    longest = 16 * math.ceil(max(lengths) / 16)
    times = {s: measure(lengths, kv_heads, places, s) for s in range(128, max(longest, 128) + 1, 16)}
    fewest = min(times.values())
    return max(s for s, time in times.items() if time == fewest)

# %% right: NumPy's argmin, a NumPy integer
import numpy as np

from pagesim.exercises.ch15.best_partition import measure


def best_size(lengths, kv_heads, places):
    top = max(128, -(-max(lengths) // 16) * 16)
    sizes = np.arange(128, top + 1, 16)
    times = [measure(lengths, kv_heads, places, int(size)) for size in sizes]
    return sizes[np.argmin(times)]

# %% right: its own simulation of the places, with a sorted list
def best_size(lengths, kv_heads, places):
    def time(size):
        busy = [0] * places
        for n in lengths:
            parts = [min(size, n - at) for at in range(0, n, size)]
            for _ in range(kv_heads):
                for tokens in parts:
                    first = busy.index(min(busy))
                    busy[first] += -(-tokens // 16) + (4 if len(parts) > 1 else 0)
        return max(busy)

    sizes = range(128, max(128, -(-max(lengths) // 16) * 16) + 1, 16)
    return min((time(size), size) for size in sizes)[1]

# %% right: sorted by time
from pagesim.exercises.ch15.best_partition import measure


def best_size(lengths, kv_heads, places):
    sizes = [128]
    while sizes[-1] + 16 < max(lengths) + 16:
        sizes.append(sizes[-1] + 16)
    return sorted(sizes, key=lambda s: measure(lengths, kv_heads, places, s))[0]

# %% wrong: always the smallest
def best_size(lengths, kv_heads, places):
    return 128

# %% wrong: vLLM's 512, whatever the batch
def best_size(lengths, kv_heads, places):
    return min(512, max(128, -(-max(lengths) // 16) * 16))

# %% wrong: the longest sequence in one partition
def best_size(lengths, kv_heads, places):
    return max(128, -(-max(lengths) // 16) * 16)

# %% wrong: all tokens shared evenly over the places
def best_size(lengths, kv_heads, places):
    share = sum(lengths) * kv_heads / places
    size = int(-(-share // 16) * 16)
    return min(max(size, 128), -(-max(lengths) // 16) * 16)

# %% wrong: not a multiple of 16
# as "every size measured", but
#-     return best
#+     return best + 8

# %% wrong: powers of two alone
# as "every size measured", but
#-     for size in range(128, max(128, longest) + 1, 16):
#+     for size in [128 * 2**k for k in range(20) if 128 * 2**k <= longest]:

# %% wrong: without the heads
# as "every size measured", but
#-         time = measure(lengths, kv_heads, places, size)
#+         time = measure(lengths, 1, places, size)

# %% wrong: by the longest sequence alone
# as "every size measured", but
#-         time = measure(lengths, kv_heads, places, size)
#+         time = measure([max(lengths)], kv_heads, places, size)

# %% wrong: the time instead of the size
# as "every size measured", but
#-     return best
#+     return least

# %% wrong: as many partitions as there are places for each sequence and head
def best_size(lengths, kv_heads, places):
    parts = max(1, places // (kv_heads * len(lengths)))
    size = -(-max(lengths) // parts)
    return max(128, -(-size // 16) * 16)
