from pagesim import kernels  # first: it turns on Triton's interpreter where there is no GPU

import triton
import triton.language as tl


@triton.jit
def write_tokens(key, value, k_cache, v_cache, slot_mapping, N: tl.constexpr):
    """One program: the N elements of one token's key and of its value go to its slot."""
    token = tl.program_id(0)
    number = tl.arange(0, N)
    slot = tl.load(slot_mapping + token)
    ### in_32_bits: slot = tl.load(slot_mapping + token).to(tl.int32)
    ### BEGIN SOLUTION
    if slot >= 0:
        ### padding_is_written: if slot >= -1:
        k = tl.load(key + token * N + number)
        v = tl.load(value + token * N + number)
        tl.store(k_cache + slot * N + number, k)
        ### row_by_row: tl.store(k_cache + token * N + number, k)
        tl.store(v_cache + slot * N + number, v)
        ### key_for_value: tl.store(v_cache + slot * N + number, k)
        ### no_offset_of_the_row: tl.store(v_cache + slot + number, v)
    ### END SOLUTION
