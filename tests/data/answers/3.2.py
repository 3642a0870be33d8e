import math

import numpy as np


# %% right: row by row within a page
def page_by_page(q, k_cache, v_cache, table, length):
    block_size, dim = k_cache.shape[1:]
    m, ell, acc = -math.inf, 0.0, np.zeros(dim)
    for page in range((length + block_size - 1) // block_size):
        for row in range(block_size):
            if page * block_size + row >= length:
                break
            score = float(k_cache[table[page], row] @ q) / math.sqrt(dim)
            new_m = max(m, score)
            rescale, weight = math.exp(m - new_m), math.exp(score - new_m)
            ell = ell * rescale + weight
            acc = acc * rescale + weight * v_cache[table[page], row]
            m = new_m
    return acc / ell

# %% right: masked scores, values without NaN
def page_by_page(q, k_cache, v_cache, table, length):
    block_size = k_cache.shape[1]
    m, ell, acc = -np.inf, 0.0, np.zeros_like(q)
    for page, block in enumerate(table):
        seen = page * block_size + np.arange(block_size) < length
        if not seen.any():
            break
        keys = np.where(seen[:, None], k_cache[block], 0.0)
        values = np.where(seen[:, None], v_cache[block], 0.0)
        scores = np.where(seen, keys @ q / np.sqrt(q.size), -np.inf)
        new_m = np.maximum(m, scores.max())
        weights = np.exp(scores - new_m)
        ell = ell * np.exp(m - new_m) + weights.sum()
        acc = acc * np.exp(m - new_m) + weights @ values
        m = new_m
    return acc / ell

# %% right: counts down what is left, a list at the end
def page_by_page(q, k_cache, v_cache, table, length):
    m, ell, acc, left = -math.inf, 0.0, np.zeros(len(q)), length
    for block in table:
        if left <= 0:
            break
        keys, values = k_cache[block][:left], v_cache[block][:left]
        left -= len(keys)
        scores = keys.dot(q) * len(q) ** -0.5
        new_m = max(m, float(scores.max()))
        w = np.exp(scores - new_m)
        ell = ell * math.exp(m - new_m) + w.sum()
        acc = acc * math.exp(m - new_m) + (w[:, None] * values).sum(axis=0)
        m = new_m
    return [float(a / ell) for a in acc]

# %% right: in float32
def page_by_page(q, k_cache, v_cache, table, length):
    q, k_cache, v_cache = (np.asarray(a, dtype=np.float32) for a in (q, k_cache, v_cache))
    block_size = k_cache.shape[1]
    m, ell, acc = np.float32(-np.inf), np.float32(0), np.zeros(len(q), np.float32)
    for page in range(math.ceil(length / block_size)):
        filled = min(block_size, length - page * block_size)
        scores = k_cache[table[page], :filled] @ q / np.float32(math.sqrt(len(q)))
        new_m = max(m, scores.max())
        weights, rescale = np.exp(scores - new_m), np.exp(m - new_m)
        ell = ell * rescale + weights.sum()
        acc = acc * rescale + weights @ v_cache[table[page], :filled]
        m = new_m
    return acc / ell

# %% right: from the last page to the first, with einsum
def page_by_page(q, k_cache, v_cache, table, length):
    size = k_cache.shape[1]
    m, ell, acc = -math.inf, 0.0, np.zeros(len(q))
    for begin in reversed(range(0, length, size)):
        block, filled = table[begin // size], min(size, length - begin)
        scores = np.einsum("td,d->t", k_cache[block, :filled], q / len(q) ** 0.5)
        new_m = max(m, scores.max())
        weights, rescale = np.exp(scores - new_m), np.exp(m - new_m)
        ell = ell * rescale + np.sum(weights)
        acc = acc * rescale + np.einsum("t,td->d", weights, v_cache[block, :filled])
        m = new_m
    return acc / ell

# %% wrong: whole pages
def page_by_page(q, k_cache, v_cache, table, length):
    block_size = k_cache.shape[1]
    m, ell, acc = -math.inf, 0.0, np.zeros(len(q))
    for page in range(math.ceil(length / block_size)):
        scores = k_cache[table[page]] @ q / math.sqrt(len(q))
        new_m = max(m, scores.max())
        weights, rescale = np.exp(scores - new_m), np.exp(m - new_m)
        ell = ell * rescale + weights.sum()
        acc = acc * rescale + weights @ v_cache[table[page]]
        m = new_m
    return acc / ell

# %% wrong: full pages only
# as "whole pages", but
#-     for page in range(math.ceil(length / block_size)):
#+     for page in range(length // block_size):

# %% wrong: every block of the table
def page_by_page(q, k_cache, v_cache, table, length):
    block_size = k_cache.shape[1]
    m, ell, acc = -math.inf, 0.0, np.zeros(len(q))
    for page, block in enumerate(table):
        filled = (length - 1) % block_size + 1 if page == len(table) - 1 else block_size
        scores = k_cache[block, :filled] @ q / math.sqrt(len(q))
        new_m = max(m, scores.max())
        weights, rescale = np.exp(scores - new_m), np.exp(m - new_m)
        ell = ell * rescale + weights.sum()
        acc = acc * rescale + weights @ v_cache[block, :filled]
        m = new_m
    return acc / ell

# %% wrong: the page's number in place of its block
# as "whole pages", but
#-         scores = k_cache[table[page]] @ q / math.sqrt(len(q))
#+         filled = min(block_size, length - page * block_size)
#+         scores = k_cache[page, :filled] @ q / math.sqrt(len(q))
#
#-         acc = acc * rescale + weights @ v_cache[table[page]]
#+         acc = acc * rescale + weights @ v_cache[page, :filled]

# %% wrong: scores are not scaled
# as "whole pages", but
#-         scores = k_cache[table[page]] @ q / math.sqrt(len(q))
#+         filled = min(block_size, length - page * block_size)
#+         scores = k_cache[table[page], :filled] @ q
#
#-         acc = acc * rescale + weights @ v_cache[table[page]]
#+         acc = acc * rescale + weights @ v_cache[table[page], :filled]

# %% wrong: each page a softmax of its own, then the mean of the pages
def page_by_page(q, k_cache, v_cache, table, length):
    block_size = k_cache.shape[1]
    answers = []
    for page in range(math.ceil(length / block_size)):
        filled = min(block_size, length - page * block_size)
        scores = k_cache[table[page], :filled] @ q / math.sqrt(len(q))
        weights = np.exp(scores - scores.max())
        answers.append(weights @ v_cache[table[page], :filled] / weights.sum())
    return np.mean(answers, axis=0)

# %% wrong: no maximum
def page_by_page(q, k_cache, v_cache, table, length):
    block_size = k_cache.shape[1]
    ell, acc = 0.0, np.zeros(len(q))
    for page in range(math.ceil(length / block_size)):
        filled = min(block_size, length - page * block_size)
        weights = np.exp(k_cache[table[page], :filled] @ q / math.sqrt(len(q)))
        ell += weights.sum()
        acc += weights @ v_cache[table[page], :filled]
    return acc / ell

# %% wrong: ell is not rescaled
def page_by_page(q, k_cache, v_cache, table, length):
    block_size = k_cache.shape[1]
    m, ell, acc = -math.inf, 0.0, np.zeros(len(q))
    for page in range(math.ceil(length / block_size)):
        filled = min(block_size, length - page * block_size)
        scores = k_cache[table[page], :filled] @ q / math.sqrt(len(q))
        new_m = max(m, scores.max())
        weights = np.exp(scores - new_m)
        ell += weights.sum()
        acc = acc * np.exp(m - new_m) + weights @ v_cache[table[page], :filled]
        m = new_m
    return acc / ell

# %% wrong: never asks for the length: what is not NaN is taken for a token
def page_by_page(q, k_cache, v_cache, table, length):
    m, ell, acc = -math.inf, 0.0, np.zeros(len(q))
    for block in table:
        here = ~np.isnan(k_cache[block, :, 0])
        if not here.any():
            continue
        scores = k_cache[block, here] @ q / math.sqrt(len(q))
        new_m = max(m, scores.max())
        weights, rescale = np.exp(scores - new_m), np.exp(m - new_m)
        ell = ell * rescale + weights.sum()
        acc = acc * rescale + weights @ v_cache[block, here]
        m = new_m
    return acc / ell

# %% wrong: NaN made 0, so that an empty slot has a score
# as "whole pages", but
#  def page_by_page(q, k_cache, v_cache, table, length):
#+     k_cache, v_cache = np.nan_to_num(k_cache), np.nan_to_num(v_cache)

# %% wrong: all scores at once
def page_by_page(q, k_cache, v_cache, table, length):
    keys = k_cache[table].reshape(-1, len(q))[:length]
    values = v_cache[table].reshape(-1, len(q))[:length]
    scores = keys @ q / math.sqrt(len(q))
    weights = np.exp(scores - scores.max())
    return weights @ values / weights.sum()
