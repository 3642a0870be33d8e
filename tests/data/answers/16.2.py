# %% right: the set of slots
def same_result(order, num_tokens, block_size, window):
    first = max(0, num_tokens - window) if window is not None else 0
    tokens = range(first, num_tokens)
    slots = {order[t // block_size] * block_size + t % block_size for t in tokens}
    return slots == set(tokens)

# %% right: sorted lists
def same_result(order, num_tokens, block_size, window):
    start = 0 if window is None or window > num_tokens else num_tokens - window
    read = []
    for position in range(start, num_tokens):
        page, offset = divmod(position, block_size)
        read.append(block_size * order[page] + offset)
    return sorted(read) == list(range(start, num_tokens))

# %% right: NumPy, a NumPy bool
import numpy as np


def same_result(order, num_tokens, block_size, window):
    tokens = np.arange(num_tokens)[-window if window else None :]
    slots = np.array(order)[tokens // block_size] * block_size + tokens % block_size
    return np.all(np.sort(slots) == tokens)

# %% right: every slot read must be one of those
def same_result(order, num_tokens, block_size, window):
    first = max(0, num_tokens - (num_tokens if window is None else window))
    return all(
        first <= order[p // block_size] * block_size + p % block_size < num_tokens
        for p in range(first, num_tokens)
    )

# %% right: page by page: how many slots of each page are read, and from where
def same_result(order, num_tokens, block_size, window):
    first = 0 if window is None else max(0, num_tokens - window)

    def part(entry):
        begin = max(first - entry * block_size, 0)
        end = min(num_tokens - entry * block_size, block_size)
        return (begin, end) if begin < end else None

    return all(part(entry) == part(page) for entry, page in enumerate(order))

# %% wrong: the order never matters
def same_result(order, num_tokens, block_size, window):
    return True

# %% wrong: only the old order is the same
def same_result(order, num_tokens, block_size, window):
    return order == sorted(order)

# %% wrong: the last page must stay
def same_result(order, num_tokens, block_size, window):
    return order[-1] == len(order) - 1

# %% wrong: all pages must be full
def same_result(order, num_tokens, block_size, window):
    return order == sorted(order) or (num_tokens % block_size == 0 and window is None)

# %% wrong: the window is forgotten
# as "the set of slots", but
#-     first = max(0, num_tokens - window) if window is not None else 0
#+     first = 0

# %% wrong: the window without the newest token
# as "the set of slots", but
#-     first = max(0, num_tokens - window) if window is not None else 0
#+     first = max(0, num_tokens - window - 1) if window is not None else 0

# %% wrong: a window wider than the sequence
# as "the set of slots", but
#-     first = max(0, num_tokens - window) if window is not None else 0
#+     first = (num_tokens - window) if window is not None else 0

# %% wrong: whole pages of the window
# as "the set of slots", but
#-     first = max(0, num_tokens - window) if window is not None else 0
#+     first = max(0, num_tokens - window) // block_size * block_size if window is not None else 0

# %% wrong: the first of the window's pages may be anywhere
def same_result(order, num_tokens, block_size, window):
    first = 0 if window is None else max(0, num_tokens - window)
    pages = range(first // block_size, len(order))
    last_stays = order[-1] == len(order) - 1 or num_tokens % block_size == 0
    return last_stays and {order[p] for p in pages} == set(pages)

# %% wrong: only slots without a token matter, not the window's beginning
def same_result(order, num_tokens, block_size, window):
    first = 0 if window is None else max(0, num_tokens - window)
    slots = [order[t // block_size] * block_size + t % block_size for t in range(first, num_tokens)]
    return max(slots) < num_tokens
