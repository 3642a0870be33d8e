# %% right: the largest of all sums
def may_begin(prompt, output, running, num_blocks, block_size):
    everybody = running + [(prompt, output)]
    sums = []
    for step in range(max(left for _, left in everybody)):
        tokens = [length + step for length, left in everybody if left > step]
        sums.append(sum((n + block_size - 1) // block_size for n in tokens))
    return max(sums) <= num_blocks

# %% right: step by step, with lists that change
def may_begin(prompt, output, running, num_blocks, block_size):
    present = [[prompt, output], *(list(pair) for pair in running)]
    while present:
        if sum(-(-length // block_size) for length, _ in present) > num_blocks:
            return False
        present = [[length + 1, left - 1] for length, left in present if left > 1]
    return True

# %% right: recursion
from math import ceil


def may_begin(prompt, output, running, num_blocks, block_size):
    def fits(present):
        if not present:
            return True
        blocks = sum(ceil(length / block_size) for length, _ in present)
        later = [(length + 1, left - 1) for length, left in present if left > 1]
        return blocks <= num_blocks and fits(later)

    return fits([*running, (prompt, output)])

# %% right: NumPy
import numpy as np


def may_begin(prompt, output, running, num_blocks, block_size):
    length, left = np.array([*running, (prompt, output)]).T[:, :, None]
    step = np.arange(left.max())
    blocks = np.where(step < left, -(-(length + step) // block_size), 0)
    return bool((blocks.sum(axis=0) <= num_blocks).all())

# %% right: only the steps after which somebody ends
def may_begin(prompt, output, running, num_blocks, block_size):
    everybody = [*running, (prompt, output)]
    for _, end in everybody:
        held = [-(-(length + end - 1) // block_size) for length, left in everybody if left >= end]
        if sum(held) > num_blocks:
            return False
    return True

# %% wrong: as vLLM does
def may_begin(prompt, output, running, num_blocks, block_size):
    held = sum(-(-length // block_size) for length, left in running)
    return held + -(-prompt // block_size) <= num_blocks

# %% wrong: tokens, not blocks
def may_begin(prompt, output, running, num_blocks, block_size):
    everybody = [*running, (prompt, output)]
    most = max(left for _, left in everybody)
    return all(
        sum(length + step for length, left in everybody if left > step) <= num_blocks * block_size
        for step in range(most)
    )

# %% wrong: one at a time
def may_begin(prompt, output, running, num_blocks, block_size):
    return not running

# %% wrong: everybody at the end
def may_begin(prompt, output, running, num_blocks, block_size):
    everybody = [*running, (prompt, output)]
    return sum(-(-(n + left - 1) // block_size) for n, left in everybody) <= num_blocks

# %% wrong: the last step alone
def may_begin(prompt, output, running, num_blocks, block_size):
    everybody = [*running, (prompt, output)]
    last = max(left for _, left in everybody)
    held = [n + last - 1 for n, left in everybody if left == last]
    return sum(-(-n // block_size) for n in held) <= num_blocks

# %% wrong: a block is kept free for each
def may_begin(prompt, output, running, num_blocks, block_size):
    held = sum(-(-length // block_size) + 1 for length, left in running)
    return held + -(-prompt // block_size) + 1 <= num_blocks

# %% wrong: rounded down
def may_begin(prompt, output, running, num_blocks, block_size):
    present = [(prompt, output), *running]
    while present:
        if sum(length // block_size for length, _ in present) > num_blocks:
            return False
        present = [(length + 1, left - 1) for length, left in present if left > 1]
    return True

# %% wrong: only the new one grows
def may_begin(prompt, output, running, num_blocks, block_size):
    held = sum(-(-length // block_size) for length, left in running)
    return held + -(-(prompt + output - 1) // block_size) <= num_blocks

# %% wrong: a watermark
def may_begin(prompt, output, running, num_blocks, block_size):
    held = sum(-(-length // block_size) for length, left in running)
    return held + -(-prompt // block_size) <= 0.8 * num_blocks

# %% wrong: always
def may_begin(prompt, output, running, num_blocks, block_size):
    return True
