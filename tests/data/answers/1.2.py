import math

import numpy as np


# %% right: bit lengths
def pow2_row(prompt, answer, longest, pool):
    asked = min(prompt + (1 << (answer - 1).bit_length()), longest)
    return asked, pool // (1 << (asked - 1).bit_length())

# %% right: logarithms
def pow2_row(prompt, answer, longest, pool):
    asked = min(prompt + 2 ** math.ceil(math.log2(answer)), longest)
    return asked, math.floor(pool / 2 ** math.ceil(math.log2(asked)))

# %% right: the first power of two that is enough, as a list
def pow2_row(prompt, answer, longest, pool):
    powers = [2**k for k in range(20)]
    guess = next(p for p in powers if p >= answer)
    asked = min(prompt + guess, longest)
    return [asked, pool // next(p for p in powers if p >= asked)]

# %% right: NumPy
def pow2_row(prompt, answer, longest, pool):
    powers = 2 ** np.arange(20)
    asked = np.minimum(prompt + powers[np.searchsorted(powers, answer)], longest)
    return asked, pool // powers[np.searchsorted(powers, asked)]

# %% right: a pool that is cut piece by piece
def pow2_row(prompt, answer, longest, pool):
    def up(n, p=1):
        return p if p >= n else up(n, 2 * p)

    asked = prompt + up(answer)
    if asked > longest:
        asked = longest
    count = 0
    while pool >= up(asked):
        pool -= up(asked)
        count += 1
    return asked, count

# %% wrong: prompt and answer rounded up together
def pow2_row(prompt, answer, longest, pool):
    asked = min(1 << (prompt + answer - 1).bit_length(), longest)
    return asked, pool // (1 << (asked - 1).bit_length())

# %% wrong: no bound
def pow2_row(prompt, answer, longest, pool):
    asked = prompt + (1 << (answer - 1).bit_length())
    return asked, pool // (1 << (asked - 1).bit_length())

# %% wrong: the allocator grants what is asked
def pow2_row(prompt, answer, longest, pool):
    asked = min(prompt + (1 << (answer - 1).bit_length()), longest)
    return asked, pool // asked

# %% wrong: the next larger power of two, also for a power of two
def pow2_row(prompt, answer, longest, pool):
    asked = min(prompt + (1 << answer.bit_length()), longest)
    return asked, pool // (1 << (asked - 1).bit_length())

# %% wrong: the bound is put on the guess alone
def pow2_row(prompt, answer, longest, pool):
    asked = prompt + min(1 << (answer - 1).bit_length(), longest)
    return asked, pool // (1 << (asked - 1).bit_length())

# %% wrong: the bound is put on what is granted too
def pow2_row(prompt, answer, longest, pool):
    asked = min(prompt + (1 << (answer - 1).bit_length()), longest)
    return asked, pool // min(1 << (asked - 1).bit_length(), longest)

# %% wrong: what is granted is taken for what is asked
def pow2_row(prompt, answer, longest, pool):
    asked = min(prompt + (1 << (answer - 1).bit_length()), longest)
    granted = 1 << (asked - 1).bit_length()
    return granted, pool // granted

# %% wrong: the nearest power of two
def pow2_row(prompt, answer, longest, pool):
    asked = min(prompt + 2 ** round(math.log2(answer)), longest)
    return asked, pool // 2 ** math.ceil(math.log2(asked))

# %% wrong: a started row counts as well
def pow2_row(prompt, answer, longest, pool):
    asked = min(prompt + (1 << (answer - 1).bit_length()), longest)
    return asked, -(-pool // (1 << (asked - 1).bit_length()))

# %% wrong: the pool is first cut down to a power of two
def pow2_row(prompt, answer, longest, pool):
    asked = min(prompt + (1 << (answer - 1).bit_length()), longest)
    whole = 1 << (pool.bit_length() - 1)
    return asked, whole // (1 << (asked - 1).bit_length())

# %% wrong: never guesses more than the model allows behind the prompt, rounded down
def pow2_row(prompt, answer, longest, pool):
    guess = 1 << (answer - 1).bit_length()
    while prompt + guess > longest:
        guess //= 2
    asked = prompt + guess
    return asked, pool // (1 << (asked - 1).bit_length())
