"""Which bytes the instructions read: everything once, and in few sectors."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pagesim.kernels import simt
from pagesim.kernels.simt.thread_block import ThreadBlock
from pagesim.kernels.simt.warp_load import WarpLoad
from tests.kernels.simt.worlds import World, make_world


def times_read(loads: list[WarpLoad], num_bytes: int) -> np.ndarray:
    """How often each byte of a tensor is read; lanes that read the same byte count each."""
    counts = np.zeros(num_bytes, dtype=np.int64)
    for load in loads:
        starts = load.addresses[load.addresses >= 0]
        np.add.at(counts, starts[:, None] + np.arange(load.width), 1)
    return counts


@settings(max_examples=8, deadline=None)
@given(
    st.sampled_from([1, 2, 4, 8, 16, 32, 64]),
    st.sampled_from([32, 64, 80, 112, 128]),
    st.sampled_from([32, 128, 256]),
    st.sampled_from([np.float16, np.float32]),
    st.booleans(),
    st.integers(1, 70),
)
def test_a_thread_block_reads_its_keys_and_values_once(
    block_size: int, head_size: int, threads: int, dtype: type, quantized: bool, length: int
) -> None:
    try:
        simt.Config(head_size, block_size, threads, np.dtype(dtype).itemsize, quantized)
    except ValueError:
        assume(False)
    world = make_world(
        [7, length],
        head_size=head_size,
        block_size=block_size,
        dtype=dtype,
        quantized=quantized,
        heads=4,
    )
    q, k, v, tables, _ = world.arguments
    seq, head = 1, 2
    block = world.trace(num_threads=threads)[seq, head]

    def counts(tensor: str, array: np.ndarray) -> np.ndarray:
        loads = [load for load in block.loads if load.tensor == tensor]
        return times_read(loads, array.nbytes).reshape(*array.shape, array.itemsize)

    own = np.zeros(len(k), dtype=bool)
    own[tables[seq, : -(-length // block_size)]] = True
    for name, cache in (("k", k), ("v", v)):
        expected = np.zeros(cache.shape[:2], dtype=int)
        expected[own, head // 2] = 1
        got = counts(name, cache)
        assert (got == expected.reshape(*expected.shape, *[1] * (got.ndim - 2))).all(), name
    of_q = counts("q", q)
    assert (of_q[seq, head] == 1).all()
    assert of_q.sum() == head_size * q.itemsize


def test_every_query_head_reads_its_keys_again() -> None:
    """Without sharing in a group: three heads on one KV head read it three times."""
    world = make_world([40], heads=3, kv_heads=1)
    _, k, v, *_ = world.arguments
    trace = world.trace()
    for tensor, cache in (("k", k), ("v", v)):
        counts = times_read(trace.loads(tensor), cache.nbytes)
        assert set(counts.tolist()) == {0, 3}
        assert counts.sum() == 3 * 3 * 16 * 64 * 2  # heads · blocks · tokens · elements · bytes


@pytest.fixture(scope="module")
def worked() -> tuple[World, ThreadBlock]:
    world = make_world([100], head_size=128, heads=1, kv_heads=1)
    return world, world.trace()[0, 0]


def of(block: ThreadBlock, tensor: str, warp: int = 0) -> list[WarpLoad]:
    return [load for load in block.loads if load.tensor == tensor and load.warp == warp]


class TestTheWorkedCase:
    def test_a_load_of_k_is_256_bytes_in_a_row(self, worked: tuple[World, ThreadBlock]) -> None:
        world, block = worked
        loads = of(block, "k")
        assert [load.step for load in loads] == [(b, 0, j) for b in (0, 4) for j in range(16)]
        for load in loads:
            number = int(world.tables[0, load.step[0]])
            start = number * 128 * 16 * 2 + load.step[2] * 256
            assert load.addresses.tolist() == [start + 8 * lane for lane in range(32)]
            assert (load.width, len(load.sectors()), len(load.lines())) == (8, 8, 2)
            assert load.efficiency() == 1.0

    def test_a_load_of_v_is_512_bytes_in_a_row(self, worked: tuple[World, ThreadBlock]) -> None:
        world, block = worked
        loads = of(block, "v", warp=3)
        assert [load.step for load in loads] == [(3, i) for i in range(8)]
        start = int(world.tables[0, 3]) * 128 * 16 * 2 + 5 * 512
        assert loads[5].addresses.tolist() == [start + 16 * lane for lane in range(32)]
        assert (loads[5].width, len(loads[5].sectors()), len(loads[5].lines())) == (16, 16, 4)

    def test_q_is_fetched_by_the_first_sixteen_groups(
        self, worked: tuple[World, ThreadBlock]
    ) -> None:
        (load,) = [load for load in worked[1].loads if load.tensor == "q"]
        assert load.warp == 0
        assert load.addresses.tolist() == [8 * lane for lane in range(32)]


def test_lanes_without_a_row_ask_for_nothing() -> None:
    # Blocks of 8 tokens: a load takes 32 rows, and 80 rows end in the middle of the third.
    block = make_world([9], head_size=80, block_size=8, heads=1, kv_heads=1).trace()[0, 0]
    last = of(block, "v")[-1]
    assert last.step == (0, 2)
    assert (last.addresses[:16] >= 0).all()
    assert (last.addresses[16:] == -1).all()
    assert len(last.bytes_read()) == 16 * 8 * 2


def test_sectors_and_lines_by_hand() -> None:
    addresses = np.full(32, -1)
    addresses[:3] = [28, 32, 256]
    load = WarpLoad("k", 0, (0, 0, 0), addresses, 8)
    # Bytes 28-35 and 32-39 overlap and touch sectors 0 and 1; 256-263 lie in sector 8, line 2.
    assert load.bytes_read().tolist() == [*range(28, 40), *range(256, 264)]
    assert load.sectors() == {0: 4, 1: 8, 8: 8}
    assert load.lines() == [0, 2]
    assert load.efficiency() == 20 / 96


def test_offsets_are_computed_in_64_bits() -> None:
    world = make_world([5], heads=1, kv_heads=1)
    block = world.trace()[0, 0]
    block.launch.block_tables[0, 0] = 3_000_000
    offset = block.slab(np.zeros((4, 1), dtype=np.int64))
    assert offset.ravel().tolist() == [3_000_000 * 64 * 16] * 4
    assert 3_000_000 * 64 * 16 > 2**31
