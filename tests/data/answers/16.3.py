# %% right: the end of the rows so far
def rows_to_sample(sequences, chunk):
    rows, end = [], 0
    for tokens, computed in sequences:
        missing = tokens - computed
        end += min(missing, chunk)
        if missing <= chunk:
            rows.append(end - 1)
    return rows

# %% right: accumulate
from itertools import accumulate


def rows_to_sample(sequences, chunk):
    new = [min(tokens - computed, chunk) for tokens, computed in sequences]
    ends = accumulate(new)
    return [e - 1 for e, n, (t, c) in zip(ends, new, sequences) if c + n == t]

# %% right: NumPy
import numpy as np


def rows_to_sample(sequences, chunk):
    tokens, computed = np.array(sequences).T
    new = np.minimum(tokens - computed, chunk)
    return (np.cumsum(new) - 1)[computed + new == tokens]

# %% right: every row is written out
def rows_to_sample(sequences, chunk):
    batch = []
    for tokens, computed in sequences:
        for position in range(computed, min(tokens, computed + chunk)):
            batch.append(position == tokens - 1)
    return tuple(row for row, is_last in enumerate(batch) if is_last)

# %% right: starts, as in query_start_loc
def rows_to_sample(sequences, chunk):
    start = [0]
    for tokens, computed in sequences:
        start.append(start[-1] + min(chunk, tokens - computed))
    rows = []
    for i, (tokens, computed) in enumerate(sequences):
        if computed + start[i + 1] - start[i] == tokens:
            rows.append(start[i + 1] - 1)
    return rows

# %% wrong: every sequence samples
# as "the end of the rows so far", but
#-         if missing <= chunk:
#-             rows.append(end - 1)
#+         rows.append(end - 1)

# %% wrong: a prompt that is just done does not sample
# as "the end of the rows so far", but
#-         if missing <= chunk:
#+         if missing < chunk:

# %% wrong: the first row of each
def rows_to_sample(sequences, chunk):
    rows, end = [], 0
    for tokens, computed in sequences:
        missing = tokens - computed
        if missing <= chunk:
            rows.append(end)
        end += min(missing, chunk)
    return rows

# %% wrong: one row behind
# as "the end of the rows so far", but
#-             rows.append(end - 1)
#+             rows.append(end)

# %% wrong: rows of all missing tokens, without the chunk
# as "the end of the rows so far", but
#-         end += min(missing, chunk)
#+         end += missing

# %% wrong: all tokens are in the batch
# as "the end of the rows so far", but
#-         end += min(missing, chunk)
#+         end += min(tokens, chunk)

# %% wrong: a sequence that does not sample has no rows
# as "the end of the rows so far", but
#-         end += min(missing, chunk)
#
#          if missing <= chunk:
#+             end += missing

# %% wrong: only those that decode
# as "the end of the rows so far", but
#-         if missing <= chunk:
#+         if missing == 1:

# %% wrong: the chunk is shared by all
def rows_to_sample(sequences, chunk):
    rows, end, left = [], 0, chunk
    for tokens, computed in sequences:
        n = min(tokens - computed, left)
        end, left = end + n, left - n
        if n and n == tokens - computed:
            rows.append(end - 1)
    return rows

# %% wrong: the number of the sequence
def rows_to_sample(sequences, chunk):
    rows, end = [], 0
    for i, (tokens, computed) in enumerate(sequences):
        missing = tokens - computed
        end += min(missing, chunk)
        if missing <= chunk:
            rows.append(i)
    return rows
