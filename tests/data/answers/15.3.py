# %% right: first and last page
def pages_of_partition(i, size, block_size, num_tokens):
    first = i * size
    last = min(first + size, num_tokens) - 1
    if last < first:
        return []
    return list(range(first // block_size, last // block_size + 1))

# %% right: a set of pages, sorted
def pages_of_partition(i, size, block_size, num_tokens):
    tokens = range(i * size, min((i + 1) * size, num_tokens))
    return sorted({token // block_size for token in tokens})

# %% right: NumPy
import numpy as np


def pages_of_partition(i, size, block_size, num_tokens):
    tokens = np.arange(num_tokens)
    return np.unique(tokens[tokens // size == i] // block_size)

# %% right: a page belongs to it if the two intervals meet
def pages_of_partition(i, size, block_size, num_tokens):
    begin, end = i * size, min((i + 1) * size, num_tokens)
    pages = []
    page = 0
    while page * block_size < num_tokens:
        if max(begin, page * block_size) < min(end, (page + 1) * block_size):
            pages.append(page)
        page += 1
    return pages

# %% right: a range
def pages_of_partition(i, size, block_size, num_tokens):
    start, stop = min(i * size, num_tokens), min((i + 1) * size, num_tokens)
    if start == stop:
        return range(0)
    return range(start // block_size, -(-stop // block_size))

# %% wrong: the end of the sequence forgotten
# as "first and last page", but
#-     last = min(first + size, num_tokens) - 1
#+     last = first + size - 1

# %% wrong: the page behind the last token too
# as "first and last page", but
#-     return list(range(first // block_size, last // block_size + 1))
#+     return list(range(first // block_size, (last + 1) // block_size + 1))

# %% wrong: the last page left out
# as "first and last page", but
#-     return list(range(first // block_size, last // block_size + 1))
#+     return list(range(first // block_size, last // block_size))

# %% wrong: pages rounded down at both ends
# as "first and last page", but
#-     return list(range(first // block_size, last // block_size + 1))
#+     return list(range(first // block_size, (last + 1) // block_size))

# %% wrong: a partition begins with a page of its own
# as "first and last page", but
#-     return list(range(first // block_size, last // block_size + 1))
#+     return list(range(-(-first // block_size), last // block_size + 1))

# %% wrong: as many pages as size has, from i times as many on
def pages_of_partition(i, size, block_size, num_tokens):
    per = -(-size // block_size)
    total = -(-num_tokens // block_size)
    return list(range(i * per, min((i + 1) * per, total)))

# %% wrong: a page for each token
# as "first and last page", but
#-     return list(range(first // block_size, last // block_size + 1))
#+     return [t // block_size for t in range(first, last + 1)]

# %% wrong: a partition beyond the end has the last page
# as "first and last page", but
#-         return []
#+         return [(num_tokens - 1) // block_size]

# %% wrong: partitions counted from 1
# as "first and last page", but
#-     first = i * size
#+     first = (i - 1) * size

# %% wrong: tokens instead of pages
# as "first and last page", but
#-     return list(range(first // block_size, last // block_size + 1))
#+     return list(range(first, last + 1))
