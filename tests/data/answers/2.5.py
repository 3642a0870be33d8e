from pagesim import kernels  # first: it turns on Triton's interpreter where there is no GPU

import triton
import triton.language as tl


# %% right: masks in place of the if
@triton.jit
def write_tokens(key, value, k_cache, v_cache, slot_mapping, N: tl.constexpr):
    token = tl.program_id(0)
    number = tl.arange(0, N)
    slot = tl.load(slot_mapping + token)
    mask = (number < N) & (slot >= 0)
    k = tl.load(key + token * N + number, mask=mask, other=0.0)
    v = tl.load(value + token * N + number, mask=mask, other=0.0)
    tl.store(k_cache + slot * N + number, k, mask=mask)
    tl.store(v_cache + slot * N + number, v, mask=mask)

# %% right: in two halves
@triton.jit
def write_tokens(key, value, k_cache, v_cache, slot_mapping, N: tl.constexpr):
    token = tl.program_id(0)
    slot = tl.load(slot_mapping + token)
    half = tl.arange(0, N // 2)
    if slot >= 0:
        for begin in range(0, N, N // 2):
            here = begin + half
            tl.store(k_cache + slot * N + here, tl.load(key + token * N + here))
            tl.store(v_cache + slot * N + here, tl.load(value + token * N + here))

# %% right: number by number
@triton.jit
def write_tokens(key, value, k_cache, v_cache, slot_mapping, N: tl.constexpr):
    token = tl.program_id(0)
    slot = tl.load(slot_mapping + token)
    if slot >= 0:
        for i in range(N):
            tl.store(k_cache + slot * N + i, tl.load(key + token * N + i))
            tl.store(v_cache + slot * N + i, tl.load(value + token * N + i))

# %% right: number by number, from the last to the first
@triton.jit
def write_tokens(key, value, k_cache, v_cache, slot_mapping, N: tl.constexpr):
    token = tl.program_id(0)
    slot = tl.load(slot_mapping + token)
    if slot >= 0:
        k_row, v_row = k_cache + slot * N, v_cache + slot * N
        for i in range(N):
            j = N - 1 - i
            tl.store(v_row + j, tl.load(value + token * N + j))
            tl.store(k_row + j, tl.load(key + token * N + j))

# %% right: pointers that are moved on, padding by a mask of its own
@triton.jit
def write_tokens(key, value, k_cache, v_cache, slot_mapping, N: tl.constexpr):
    token = tl.program_id(0)
    number = tl.arange(0, N)
    slot = tl.load(slot_mapping + token)
    here = tl.full([N], 0, tl.int1) | (slot != -1)
    numbers = tl.load(value + token * N + number)
    tl.store(v_cache + slot.to(tl.int64) * N + number, numbers, mask=here)
    numbers = tl.load(key + token * N + number)
    tl.store(k_cache + slot.to(tl.int64) * N + number, numbers, mask=here)

# %% wrong: padding is written
@triton.jit
def write_tokens(key, value, k_cache, v_cache, slot_mapping, N: tl.constexpr):
    token = tl.program_id(0)
    number = tl.arange(0, N)
    slot = tl.load(slot_mapping + token)
    tl.store(k_cache + slot * N + number, tl.load(key + token * N + number))
    tl.store(v_cache + slot * N + number, tl.load(value + token * N + number))

# %% wrong: padding goes to slot 0
# as "padding is written", but
#-     slot = tl.load(slot_mapping + token)
#+     slot = tl.maximum(tl.load(slot_mapping + token), 0)

# %% wrong: slot 0 is taken for padding
@triton.jit
def write_tokens(key, value, k_cache, v_cache, slot_mapping, N: tl.constexpr):
    token = tl.program_id(0)
    number = tl.arange(0, N)
    slot = tl.load(slot_mapping + token)
    if slot > 0:
        tl.store(k_cache + slot * N + number, tl.load(key + token * N + number))
        tl.store(v_cache + slot * N + number, tl.load(value + token * N + number))

# %% wrong: 32 bits for the slot
# as "slot 0 is taken for padding", but
#-     slot = tl.load(slot_mapping + token)
#-     if slot > 0:
#+     slot = tl.load(slot_mapping + token).to(tl.int32)
#+     if slot >= 0:

# %% wrong: 32 bits for the slot of the value
@triton.jit
def write_tokens(key, value, k_cache, v_cache, slot_mapping, N: tl.constexpr):
    token = tl.program_id(0)
    number = tl.arange(0, N)
    slot = tl.load(slot_mapping + token)
    if slot >= 0:
        tl.store(k_cache + slot * N + number, tl.load(key + token * N + number))
        at = slot.to(tl.int32) * N + number
        tl.store(v_cache + at, tl.load(value + token * N + number))

# %% wrong: keys into both caches
@triton.jit
def write_tokens(key, value, k_cache, v_cache, slot_mapping, N: tl.constexpr):
    token = tl.program_id(0)
    number = tl.arange(0, N)
    slot = tl.load(slot_mapping + token)
    if slot >= 0:
        k = tl.load(key + token * N + number)
        tl.store(k_cache + slot * N + number, k)
        tl.store(v_cache + slot * N + number, k)

# %% wrong: the caches exchanged
@triton.jit
def write_tokens(key, value, k_cache, v_cache, slot_mapping, N: tl.constexpr):
    token = tl.program_id(0)
    number = tl.arange(0, N)
    slot = tl.load(slot_mapping + token)
    if slot >= 0:
        tl.store(v_cache + slot * N + number, tl.load(key + token * N + number))
        tl.store(k_cache + slot * N + number, tl.load(value + token * N + number))

# %% wrong: the row of the slot is read
# as "the caches exchanged", but
#-         tl.store(v_cache + slot * N + number, tl.load(key + token * N + number))
#-         tl.store(k_cache + slot * N + number, tl.load(value + token * N + number))
#+         tl.store(k_cache + slot * N + number, tl.load(key + number))
#+         tl.store(v_cache + slot * N + number, tl.load(value + number))

# %% wrong: the slot is not multiplied
# as "the caches exchanged", but
#-         tl.store(v_cache + slot * N + number, tl.load(key + token * N + number))
#-         tl.store(k_cache + slot * N + number, tl.load(value + token * N + number))
#+         tl.store(k_cache + slot + number, tl.load(key + token * N + number))
#+         tl.store(v_cache + slot + number, tl.load(value + token * N + number))

# %% wrong: the first half only
@triton.jit
def write_tokens(key, value, k_cache, v_cache, slot_mapping, N: tl.constexpr):
    token = tl.program_id(0)
    number = tl.arange(0, N // 2)
    slot = tl.load(slot_mapping + token)
    if slot >= 0:
        tl.store(k_cache + slot * N + number, tl.load(key + token * N + number))
        tl.store(v_cache + slot * N + number, tl.load(value + token * N + number))

# %% wrong: number by number, the last one forgotten
# as "number by number", but
#-         for i in range(N):
#+         for i in range(N - 1):

# %% wrong: the value of a far slot is forgotten
# as "32 bits for the slot of the value", but
#-         at = slot.to(tl.int32) * N + number
#-         tl.store(v_cache + at, tl.load(value + token * N + number))
#+         if slot < 1000000:
#+             tl.store(v_cache + slot * N + number, tl.load(value + token * N + number))

# %% wrong: rows of 8 numbers, whatever N is
@triton.jit
def write_tokens(key, value, k_cache, v_cache, slot_mapping, N: tl.constexpr):
    token = tl.program_id(0)
    number = tl.arange(0, 8)
    slot = tl.load(slot_mapping + token)
    if slot >= 0:
        tl.store(k_cache + slot * 8 + number, tl.load(key + token * 8 + number))
        tl.store(v_cache + slot * 8 + number, tl.load(value + token * 8 + number))

# %% wrong: the line above the kernel is lost
def write_tokens(key, value, k_cache, v_cache, slot_mapping, N: tl.constexpr):
    token = tl.program_id(0)
    number = tl.arange(0, N)
    slot = tl.load(slot_mapping + token)
    if slot >= 0:
        tl.store(k_cache + slot * N + number, tl.load(key + token * N + number))
        tl.store(v_cache + slot * N + number, tl.load(value + token * N + number))
