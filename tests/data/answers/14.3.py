import numpy as np


# %% right: counts addresses
def sectors(head_size, block_size):
    group = max(32 // block_size, 1)
    per_lane = 8 // group
    kernel, natural = set(), set()
    for lane in range(32):
        slot, first = lane // group, lane % group * per_lane
        for dim in range(first, first + per_lane):
            kernel.add(((dim // 8) * block_size * 8 + slot * 8 + dim % 8) * 2 // 32)
            natural.add((slot * head_size + dim) * 2 // 32)
    return len(kernel), len(natural), ("x", "slot", "piece")

# %% right: a list, the other order
def sectors(head_size, block_size):
    tokens = min(block_size, 32)
    return [tokens * 16 // 32, tokens, ["slot", "x", "piece"]] if block_size >= 32 else [
        tokens // 2, tokens, ["x", "slot", "piece"]
    ]

# %% right: NumPy integers
def sectors(head_size, block_size):
    tokens = np.minimum(block_size, 32)
    return tokens * 16 // 32, tokens, ("x", "slot", "piece")

# %% right: one sector for two tokens, one for each
def sectors(head_size, block_size):
    group = max(1, 32 // block_size)
    tokens = 32 // group
    return tokens // 2, tokens, ("x", "slot", "piece")

# %% right: arrays of offsets
def sectors(head_size, block_size):
    tokens = min(block_size, 32)
    slot, dim = np.arange(tokens)[:, None], np.arange(8)
    return (
        len(np.unique((slot * 8 + dim) * 2 // 32)),
        len(np.unique((slot * head_size + dim) * 2 // 32)),
        np.array(["x", "slot", "piece"]),
    )

# %% wrong: lines of 128 bytes
def sectors(head_size, block_size):
    tokens = min(block_size, 32)
    return tokens * 16 // 128, tokens, ("x", "slot", "piece")

# %% wrong: 32 tokens in every case
def sectors(head_size, block_size):
    return 16, 32, ("x", "slot", "piece")

# %% wrong: 16 bytes of every lane
def sectors(head_size, block_size):
    tokens = min(block_size, 32)
    return 32 * 16 // 32, tokens, ("x", "slot", "piece")

# %% wrong: a sector for each lane in the natural order
def sectors(head_size, block_size):
    tokens = min(block_size, 32)
    return tokens // 2, 32, ("x", "slot", "piece")

# %% wrong: the whole head is read
def sectors(head_size, block_size):
    tokens = min(block_size, 32)
    return tokens // 2, tokens * head_size * 2 // 32, ("x", "slot", "piece")

# %% wrong: the kernel's own layout
def sectors(head_size, block_size):
    tokens = min(block_size, 32)
    return tokens // 2, tokens, ("piece", "slot", "x")

# %% wrong: the natural order as the worst
def sectors(head_size, block_size):
    tokens = min(block_size, 32)
    return tokens // 2, tokens, ("slot", "piece", "x")

# %% wrong: slots innermost, x before them
def sectors(head_size, block_size):
    tokens = min(block_size, 32)
    return tokens // 2, tokens, ("piece", "x", "slot")

# %% wrong: the two numbers exchanged
def sectors(head_size, block_size):
    tokens = min(block_size, 32)
    return tokens, tokens // 2, ("x", "slot", "piece")

# %% wrong: an axis that is not there
def sectors(head_size, block_size):
    tokens = min(block_size, 32)
    return tokens // 2, tokens, ("x", "slot", "head_size")

# %% wrong: blocks of 16
def sectors(head_size, block_size):
    return 8, 16, ("x", "slot", "piece")

# %% wrong: float32
def sectors(head_size, block_size):
    tokens = min(block_size, 32)
    return tokens, 2 * tokens, ("x", "slot", "piece")
