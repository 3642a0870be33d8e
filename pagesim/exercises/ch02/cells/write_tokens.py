from pagesim import kernels  # first: it turns on Triton's interpreter where there is no GPU

import triton
import triton.language as tl


@triton.jit
def write_tokens(key, value, k_cache, v_cache, slot_mapping, N: tl.constexpr):
    """One program: the N numbers of one token's key and of its value go to its slot."""
    token = tl.program_id(0)
    number = tl.arange(0, N)
    slot = tl.load(slot_mapping + token)
    ### BEGIN SOLUTION
    if slot >= 0:
        k = tl.load(key + token * N + number)
        v = tl.load(value + token * N + number)
        tl.store(k_cache + slot * N + number, k)
        tl.store(v_cache + slot * N + number, v)
    ### END SOLUTION
