"""A cache of more than 2³¹ elements, in use; `test_gate` proves the same of the machine code."""

import pytest
import torch

from pagesim import kernels

BLOCKS = 2**31 // (16 * 64) + 8


def test_a_cache_of_more_than_two_to_the_31_elements() -> None:
    """Only touched pages of an untouched allocation exist on a CPU, so this costs little there."""
    where = kernels.backend.device()
    try:
        cache, values = torch.empty(2, BLOCKS, 16, 1, 64, dtype=torch.float16, device=where)
    except RuntimeError as error:
        pytest.skip(f"8 GiB of address space are not to be had: {str(error).splitlines()[0]}")
    assert (BLOCKS - 8) * cache.stride(0) == 2**31
    table = torch.tensor([[BLOCKS - 1, 3, BLOCKS - 7]], dtype=torch.int32, device=where)
    tokens = torch.randn(37, 1, 64, device=where).half()
    slots = torch.tensor([int(table[0, p // 16]) * 16 + p % 16 for p in range(37)], device=where)
    kernels.reshape_and_cache(tokens, tokens, cache, values, slots)
    assert torch.equal(cache[table[0].long()].reshape(48, 1, 64)[:37], tokens)
    q = torch.randn(1, 2, 64, device=where).half()
    lens = torch.tensor([37], dtype=torch.int32, device=where)
    out = kernels.paged_attention_v1(q, cache, cache, table, lens)
    kernels.assert_matches_reference(out, q, cache, cache, table, lens)
    out = kernels.paged_attention_v2(q, cache, cache, table, lens, num_partitions=2)
    kernels.assert_matches_reference(out, q, cache, cache, table, lens)
    kernels.copy_blocks([cache], [cache], torch.tensor([[BLOCKS - 1, BLOCKS - 2]]))
    assert torch.equal(cache[BLOCKS - 1], cache[BLOCKS - 2])
