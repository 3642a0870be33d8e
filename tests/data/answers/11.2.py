# %% right: ceil
import math


def aligned_block(state_bytes, bytes_per_token, kernel_block, block_size):
    multiple = max(kernel_block, block_size)
    tokens = math.ceil(state_bytes / bytes_per_token / multiple) * multiple
    page = tokens * bytes_per_token
    return tokens, (page - state_bytes) / state_bytes * 100

# %% right: a loop
def aligned_block(state_bytes, bytes_per_token, kernel_block, block_size):
    step = max(kernel_block, block_size)
    tokens = step
    while tokens * bytes_per_token < state_bytes:
        tokens += step
    return tokens, 100 * (tokens * bytes_per_token / state_bytes - 1)

# %% right: the least common multiple
import math


def aligned_block(state_bytes, bytes_per_token, kernel_block, block_size):
    step = math.lcm(kernel_block, block_size)
    least = -(-state_bytes // bytes_per_token)
    tokens = least + -least % step
    return tokens, 100.0 * (tokens * bytes_per_token - state_bytes) / state_bytes

# %% right: divmod
def aligned_block(state_bytes, bytes_per_token, kernel_block, block_size):
    step = max(kernel_block, block_size)
    blocks, rest = divmod(state_bytes, step * bytes_per_token)
    if rest:
        blocks += 1
    tokens = blocks * step
    return [tokens, tokens * bytes_per_token * 100 / state_bytes - 100]

# %% right: whole pages of the multiple
def aligned_block(state_bytes, bytes_per_token, kernel_block, block_size):
    step = max(block_size, kernel_block)
    page = step * bytes_per_token
    pages = (state_bytes + page - 1) // page
    padding = pages * page - state_bytes
    return pages * step, padding / state_bytes * 100

# %% wrong: rounded down
# as "whole pages of the multiple", but
#-     pages = (state_bytes + page - 1) // page
#+     pages = max(1, state_bytes // page)

# %% wrong: always one more
# as "whole pages of the multiple", but
#-     pages = (state_bytes + page - 1) // page
#+     pages = state_bytes // page + 1

# %% wrong: a share of the block
# as "ceil", but
#-     return tokens, (page - state_bytes) / state_bytes * 100
#+     return tokens, (page - state_bytes) / page * 100

# %% wrong: a fraction in place of percent
# as "ceil", but
#-     return tokens, (page - state_bytes) / state_bytes * 100
#+     return tokens, (page - state_bytes) / state_bytes

# %% wrong: the kernel alone
# as "ceil", but
#-     multiple = max(kernel_block, block_size)
#+     multiple = kernel_block

# %% wrong: the user alone
# as "ceil", but
#-     multiple = max(kernel_block, block_size)
#+     multiple = block_size

# %% wrong: the user's number is the answer
def aligned_block(state_bytes, bytes_per_token, kernel_block, block_size):
    step = max(kernel_block, block_size)
    tokens = -(-state_bytes // (step * bytes_per_token)) * step
    if block_size != 16:
        tokens = block_size
    return tokens, 100 * (tokens * bytes_per_token - state_bytes) / state_bytes

# %% wrong: no multiple
# as "the least common multiple", but
#-     tokens = least + -least % step
#+     tokens = least

# %% wrong: the product for the least common multiple
# as "the least common multiple", but
#-     step = math.lcm(kernel_block, block_size)
#+     step = kernel_block * block_size

# %% wrong: a power of two
# as "a loop", but
#-         tokens += step
#+         tokens *= 2

# %% wrong: bytes of the block in place of tokens
# as "ceil", but
#-     return tokens, (page - state_bytes) / state_bytes * 100
#+     return page, (page - state_bytes) / state_bytes * 100

# %% wrong: percent rounded
# as "ceil", but
#-     return tokens, (page - state_bytes) / state_bytes * 100
#+     return tokens, round((page - state_bytes) / state_bytes * 100)
