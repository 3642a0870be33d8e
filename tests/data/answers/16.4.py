import math

import numpy as np


# %% right: a sorted list and running sums
def next_token(logits, temperature, top_k, top_p, seed, sample, position):
    order = sorted(range(len(logits)), key=lambda t: (-logits[t], t))
    if top_k > 0:
        order = order[:top_k]
    scaled = [logits[t] / temperature for t in order]
    exps = [math.exp(x - scaled[0]) for x in scaled]
    total = sum(exps)
    probs = [e / total for e in exps]
    kept, cumulative = [], 0.0
    for token, p in zip(order, probs):
        kept.append((token, p))
        cumulative += p
        if cumulative >= top_p:
            break
    number = np.random.default_rng([seed, sample, position]).random()
    target = number * cumulative
    running = 0.0
    for token, p in kept:
        running += p
        if running > target:
            return token
    return kept[-1][0]

# %% right: NumPy throughout, a NumPy integer
def next_token(logits, temperature, top_k, top_p, seed, sample, position):
    x = np.array(logits) / temperature
    order = np.argsort(-x, kind="stable")[: top_k or len(x)]
    w = np.exp(x[order] - x[order[0]])
    cum = np.cumsum(w)
    n = min(np.searchsorted(cum, top_p * cum[-1], side="left") + 1, len(cum))
    r = np.random.default_rng([seed, sample, position]).random() * cum[n - 1]
    return order[np.searchsorted(cum[:n], r, side="right")]

# %% right: heapq for top_k
import heapq
from itertools import accumulate


def next_token(logits, temperature, top_k, top_p, seed, sample, position):
    k = top_k if top_k else len(logits)
    best = heapq.nsmallest(k, range(len(logits)), key=lambda t: (-logits[t], t))
    weights = [math.exp((logits[t] - max(logits)) / temperature) for t in best]
    sums = list(accumulate(weights))
    stay = next(n for n, s in enumerate(sums, 1) if s >= top_p * sums[-1])
    point = np.random.default_rng([seed, sample, position]).random() * sums[stay - 1]
    return next(t for t, s in zip(best, sums) if s > point)

# %% right: the number is spent weight by weight
def next_token(logits, temperature, top_k, top_p, seed, sample, position):
    ranked = sorted(enumerate(logits), key=lambda pair: pair[1], reverse=True)
    ranked = ranked[:top_k] if top_k else ranked
    top = ranked[0][1]
    weights = [math.exp((value - top) / temperature) for _, value in ranked]
    need, used, n = top_p * sum(weights), 0.0, 0
    while n < len(weights) and used < need:
        used += weights[n]
        n += 1
    left = np.random.default_rng([seed, sample, position]).random() * used
    for (token, _), weight in zip(ranked[:n], weights):
        left -= weight
        if left < 0:
            return token
    return ranked[n - 1][0]

# %% right: softmax by logsumexp
def next_token(logits, temperature, top_k, top_p, seed, sample, position):
    rng = np.random.default_rng([seed, sample, position])
    tokens = list(range(len(logits)))
    tokens.sort(key=lambda t: -logits[t])
    del tokens[top_k or len(tokens) :]
    z = [logits[t] / temperature for t in tokens]
    lse = z[0] + math.log(sum(math.exp(each - z[0]) for each in z))
    p = [math.exp(each - lse) for each in z]
    end = 1
    while end < len(p) and sum(p[:end]) < top_p:
        end += 1
    draw = rng.random() * sum(p[:end])
    i = 0
    while i < end - 1 and sum(p[: i + 1]) <= draw:
        i += 1
    return tokens[i]

# %% wrong: the token that reaches top_p is left out
# as "a sorted list and running sums", but
#      for token, p in zip(order, probs):
#+         if kept and cumulative + p >= top_p:
#+             break
#
#-         if cumulative >= top_p:
#-             break

# %% wrong: top_p must be exceeded
# as "a sorted list and running sums", but
#-         if cumulative >= top_p:
#+         if cumulative > top_p:

# %% wrong: the temperature is multiplied
# as "a sorted list and running sums", but
#-     scaled = [logits[t] / temperature for t in order]
#+     scaled = [logits[t] * temperature for t in order]

# %% wrong: the temperature is forgotten
# as "a sorted list and running sums", but
#-     scaled = [logits[t] / temperature for t in order]
#+     scaled = [logits[t] for t in order]

# %% wrong: top_p of all tokens, before top_k
# as "a sorted list and running sums", but
#-     total = sum(exps)
#+     total = sum(math.exp((x - max(logits)) / temperature) for x in logits)

# %% wrong: the number is not scaled by the sum that is left
# as "a sorted list and running sums", but
#-     target = number * cumulative
#+     target = number

# %% wrong: the sample is forgotten
# as "a sorted list and running sums", but
#-     number = np.random.default_rng([seed, sample, position]).random()
#+     number = np.random.default_rng([seed, position]).random()

# %% wrong: a generator of the seed, asked as often as the position says
# as "a sorted list and running sums", but
#-     number = np.random.default_rng([seed, sample, position]).random()
#+     number = np.random.default_rng(seed).random(position + 1)[-1]

# %% wrong: stretches in the order of the ids
# as "a sorted list and running sums", but
#-     for token, p in kept:
#+     for token, p in sorted(kept):

# %% wrong: of equal ones the larger id first
# as "a sorted list and running sums", but
#-     order = sorted(range(len(logits)), key=lambda t: (-logits[t], t))
#+     order = sorted(range(len(logits)), key=lambda t: (-logits[t], -t))
