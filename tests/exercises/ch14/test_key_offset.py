"""The oracles of chapter 14 against the layouts that the kernels of the course use."""

import random

import pytest

from pagesim.exercises.ch14 import key_offset, lanes, sectors

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.ch14


def test_the_oracle_of_4_2_is_the_layout_that_the_kernels_convert_to() -> None:
    from pagesim.kernels import to_cuda_layout

    natural = torch.arange(3 * 4 * 2 * 16, dtype=torch.float32).reshape(3, 4, 2, 16)
    keys, _ = to_cuda_layout(natural, natural)
    flat = keys.flatten()
    for block, slot, head, dim in torch.cartesian_prod(*map(torch.arange, natural.shape)).tolist():
        at = key_offset.oracle(block, head, dim, slot, 2, 16, 4, 4)
        assert flat[at] == natural[block, slot, head, dim]


@pytest.mark.parametrize("block_size", [8, 16, 32])
def test_the_oracle_of_4_3_counts_what_the_emulated_kernel_loads(block_size: int) -> None:
    import numpy as np

    from pagesim.kernels import simt

    shape = (1, 1, 128 // 8, block_size, 8), (1, 1, 128, block_size)
    k_cache, v_cache = (np.zeros(one, dtype=np.float16) for one in shape)
    q, table = np.zeros((1, 1, 128), dtype=np.float16), np.array([[0]])
    trace = simt.Trace()
    simt.paged_attention_v1(q, k_cache, v_cache, table, np.array([block_size]), trace=trace)
    first = trace.loads("k")[0]
    turned, natural, _ = sectors.oracle(128, block_size).like
    assert turned == len(first.sectors())
    assert natural == sectors.counted(128, block_size, ("slot", "piece", "x"))
    assert turned == sectors.counted(128, block_size, ("piece", "slot", "x"))


def test_every_row_of_v_is_summed_by_the_lanes_that_share_it() -> None:
    for case in lanes.cases(random.Random(0), False):
        head_size, block_size, query_bytes, cache_bytes, _ = case.args
        rows = [
            row
            for lane in range(32)
            for row in lanes.oracle(head_size, block_size, query_bytes, cache_bytes, lane)[3]
        ]
        sharing = block_size // min(16 // query_bytes, block_size)
        assert sorted(rows) == sorted(list(range(head_size)) * sharing)
