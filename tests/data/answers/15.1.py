# %% right: both halves scaled to the larger maximum
import math


def merge(first, second):
    m1, ell1, acc1 = first
    m2, ell2, acc2 = second
    m = max(m1, m2)
    if m == -math.inf:
        return first
    s1 = math.exp(m1 - m)
    s2 = math.exp(m2 - m)
    return m, ell1 * s1 + ell2 * s2, acc1 * s1 + acc2 * s2

# %% right: an empty half is left out
import numpy as np


def merge(first, second):
    if first[0] == -np.inf:
        return second
    if second[0] == -np.inf:
        return first
    m = np.maximum(first[0], second[0])
    ell = first[1] * np.exp(first[0] - m) + second[1] * np.exp(second[0] - m)
    acc = first[2] * np.exp(first[0] - m) + second[2] * np.exp(second[0] - m)
    return m, ell, acc

# %% right: the larger one stays as it is
import math


def merge(first, second):
    big, small = (first, second) if first[0] >= second[0] else (second, first)
    if small[0] == -math.inf:
        return big
    factor = math.exp(small[0] - big[0])
    return (big[0], big[1] + factor * small[1], big[2] + factor * small[2])

# %% right: a loop over the two, a list, numbers one by one
import math


def merge(first, second):
    m = max(first[0], second[0])
    ell, acc = 0.0, [0.0] * len(first[2])
    for its_m, its_ell, its_acc in (first, second):
        if its_ell == 0:
            continue
        factor = math.exp(its_m - m)
        ell += factor * its_ell
        acc = [a + factor * b for a, b in zip(acc, its_acc)]
    return [m, ell, acc]

# %% right: NumPy's vectors, warnings and NaN avoided by a mask
import numpy as np


def merge(first, second):
    m = np.array([first[0], second[0]])
    top = m.max()
    scale = np.where(np.isinf(m), 0.0, np.exp(np.where(np.isinf(m), 0.0, m - max(top, -1e30))))
    ell = scale @ np.array([first[1], second[1]])
    acc = scale @ np.stack([first[2], second[2]])
    return top, ell, acc

# %% wrong: sums added as they are
# as "both halves scaled to the larger maximum", but
#-     return m, ell1 * s1 + ell2 * s2, acc1 * s1 + acc2 * s2
#+     return m, ell1 + ell2, acc1 * s1 + acc2 * s2

# %% wrong: acc added as it is
# as "both halves scaled to the larger maximum", but
#-     return m, ell1 * s1 + ell2 * s2, acc1 * s1 + acc2 * s2
#+     return m, ell1 * s1 + ell2 * s2, acc1 + acc2

# %% wrong: the scales exchanged
# as "both halves scaled to the larger maximum", but
#-     return m, ell1 * s1 + ell2 * s2, acc1 * s1 + acc2 * s2
#+     return m, ell1 * s2 + ell2 * s1, acc1 * s2 + acc2 * s1

# %% wrong: two empty halves forgotten
# as "both halves scaled to the larger maximum", but
#-     if m == -math.inf:
#-         return first

# %% wrong: absolute sums, which overflow
import math


def merge(first, second):
    m = max(first[0], second[0])
    if m == -math.inf:
        return first
    e1, e2 = math.exp(first[0]), math.exp(second[0])
    ell = (first[1] * e1 + second[1] * e2) / math.exp(m)
    acc = (first[2] * e1 + second[2] * e2) / math.exp(m)
    return m, ell, acc

# %% wrong: powers of two
# as "both halves scaled to the larger maximum", but
#-     s1 = math.exp(m1 - m)
#-     s2 = math.exp(m2 - m)
#+     s1 = 2 ** (m1 - m)
#+     s2 = 2 ** (m2 - m)

# %% wrong: divided by the sum already
# as "both halves scaled to the larger maximum", but
#-     return m, ell1 * s1 + ell2 * s2, acc1 * s1 + acc2 * s2
#+     return m, ell1 * s1 + ell2 * s2, (acc1 * s1 + acc2 * s2) / (ell1 * s1 + ell2 * s2)

# %% wrong: only the second half is scaled, as if the first had the larger maximum
# as "both halves scaled to the larger maximum", but
#-     m = max(m1, m2)
#+     m = m1

# %% wrong: an empty first half gives back the first
# as "both halves scaled to the larger maximum", but
#-     if m == -math.inf:
#+     if m1 == -math.inf or m2 == -math.inf:

# %% wrong: acc scaled, ell scaled twice
# as "both halves scaled to the larger maximum", but
#-     return m, ell1 * s1 + ell2 * s2, acc1 * s1 + acc2 * s2
#+     return m, (ell1 * s1 + ell2 * s2) * s1 * s2, acc1 * s1 + acc2 * s2
