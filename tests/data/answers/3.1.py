import math

import numpy as np


# %% right: the largest score is handled in two branches
def attend_one_pass(scores, values):
    m, ell, acc = -math.inf, 0.0, [0.0] * len(values[0])
    for score, value in zip(scores, values):
        if score > m:
            shrink = math.exp(m - score) if m > -math.inf else 0.0
            ell = ell * shrink + 1.0
            acc = [a * shrink + x for a, x in zip(acc, value)]
            m = score
        elif score > -math.inf:
            w = math.exp(score - m)
            ell += w
            acc = [a + w * x for a, x in zip(acc, value)]
    return [a / ell for a in acc]

# %% right: NumPy, an array
def attend_one_pass(scores, values):
    m, ell, acc = -np.inf, 0.0, np.zeros(len(values[0]))
    for score, value in zip(scores, values):
        if np.isneginf(score):
            continue
        new_m = max(m, score)
        ell = ell * np.exp(m - new_m) + np.exp(score - new_m)
        acc = acc * np.exp(m - new_m) + np.exp(score - new_m) * np.array(value)
        m = new_m
    return acc / ell

# %% right: a tuple, the average itself as the state
def attend_one_pass(scores, values):
    m, ell, mean = -math.inf, 0.0, [0.0] * len(values[0])
    for score, value in zip(scores, values):
        if score == -math.inf:
            continue
        new_m = max(m, score)
        old, new = ell * math.exp(m - new_m), math.exp(score - new_m)
        ell = old + new
        mean = [(old * a + new * x) / ell for a, x in zip(mean, value)]
        m = new_m
    return tuple(mean)

# %% right: in float32, as a GPU has it
def attend_one_pass(scores, values):
    one = np.float32
    m, ell, acc = one(-np.inf), one(0), np.zeros(len(values[0]), np.float32)
    for score, value in zip(scores, values):
        if score == -math.inf:
            continue
        score = one(score)
        new_m = np.maximum(m, score)
        rescale, weight = np.exp(m - new_m), np.exp(score - new_m)
        ell = ell * rescale + weight
        acc = acc * rescale + weight * np.array(value, np.float32)
        m = new_m
    return acc / ell

# %% right: in powers of two
def attend_one_pass(scores, values):
    m, ell, acc = -math.inf, 0.0, [0.0] * len(values[0])
    for score, value in zip(scores, values):
        score *= math.log2(math.e)
        if score == -math.inf:
            continue
        new_m = max(m, score)
        rescale, weight = 2.0 ** (m - new_m), 2.0 ** (score - new_m)
        ell = ell * rescale + weight
        for i in range(len(acc)):
            acc[i] = acc[i] * rescale + weight * value[i]
        m = new_m
    return [a / ell for a in acc]

# %% wrong: no maximum
def attend_one_pass(scores, values):
    ell, acc = 0.0, np.zeros(len(values[0]))
    for score, value in zip(scores, values):
        ell += np.exp(score)
        acc += np.exp(score) * np.array(value)
    return (acc / ell).tolist()

# %% wrong: acc is not rescaled
def attend_one_pass(scores, values):
    m, ell, acc = -math.inf, 0.0, [0.0] * len(values[0])
    for score, value in zip(scores, values):
        if score == -math.inf:
            continue
        new_m = max(m, score)
        rescale, weight = math.exp(m - new_m), math.exp(score - new_m)
        ell = ell * rescale + weight
        acc = [a + weight * x for a, x in zip(acc, value)]
        m = new_m
    return [a / ell for a in acc]

# %% wrong: ell is not rescaled
# as "acc is not rescaled", but
#-         ell = ell * rescale + weight
#-         acc = [a + weight * x for a, x in zip(acc, value)]
#+         ell = ell + weight
#+         acc = [a * rescale + weight * x for a, x in zip(acc, value)]

# %% wrong: m begins at 0
def attend_one_pass(scores, values):
    m, ell, acc = 0.0, 0.0, [0.0] * len(values[0])
    for score, value in zip(scores, values):
        new_m = max(m, score)
        rescale, weight = math.exp(m - new_m), math.exp(score - new_m)
        ell = ell * rescale + weight
        acc = [a * rescale + weight * x for a, x in zip(acc, value)]
        m = new_m
    return [a / ell for a in acc]

# %% wrong: m begins at a large negative number, which a score may lie below
# as "m begins at 0", but
#-     m, ell, acc = 0.0, 0.0, [0.0] * len(values[0])
#+     m, ell, acc = -100.0, 0.0, [0.0] * len(values[0])

# %% wrong: -inf is not left out
# as "m begins at 0", but
#-     m, ell, acc = 0.0, 0.0, [0.0] * len(values[0])
#+     m, ell, acc = -math.inf, 0.0, [0.0] * len(values[0])

# %% wrong: m is the last score
def attend_one_pass(scores, values):
    m, ell, acc = -math.inf, 0.0, np.zeros(len(values[0]))
    for score, value in zip(scores, values):
        if score == -math.inf:
            continue
        rescale = np.exp(m - score)
        ell = ell * rescale + 1.0
        acc = acc * rescale + np.array(value)
        m = score
    return acc / ell

# %% wrong: the weights are not divided by their sum
# as "acc is not rescaled", but
#-         acc = [a + weight * x for a, x in zip(acc, value)]
#+         acc = [a * rescale + weight * x for a, x in zip(acc, value)]
#
#-     return [a / ell for a in acc]
#+     return acc

# %% wrong: stops at the first -inf
# as "acc is not rescaled", but
#          if score == -math.inf:
#+             if ell:
#+                 break
#
#-         acc = [a + weight * x for a, x in zip(acc, value)]
#+         acc = [a * rescale + weight * x for a, x in zip(acc, value)]

# %% wrong: rescaled the wrong way round
def attend_one_pass(scores, values):
    m, ell, acc = -math.inf, 0.0, np.zeros(len(values[0]))
    for score, value in zip(scores, values):
        if score == -math.inf:
            continue
        new_m = max(m, score)
        rescale = np.exp(new_m - m) if m > -math.inf else 1.0
        ell = ell * rescale + np.exp(score - new_m)
        acc = acc * rescale + np.exp(score - new_m) * np.array(value)
        m = new_m
    return acc / ell

# %% wrong: a second look, the maximum first
def attend_one_pass(scores, values):
    m = max(scores)
    weights = [math.exp(score - m) for score in scores]
    total = sum(weights)
    return [sum(w * x for w, x in zip(weights, column)) / total for column in zip(*values)]

# %% wrong: m is updated before the rescaling
def attend_one_pass(scores, values):
    m, ell, acc = -math.inf, 0.0, [0.0] * len(values[0])
    for score, value in zip(scores, values):
        if score == -math.inf:
            continue
        m = max(m, score)
        rescale, weight = math.exp(m - max(m, score)), math.exp(score - m)
        ell = ell * rescale + weight
        acc = [a * rescale + weight * x for a, x in zip(acc, value)]
    return [a / ell for a in acc]
