"""Nothing recurses along a chain of blocks, and Python takes a long one apart without a crash."""

import gc
import os

import pytest

from pagesim import BlockTable, CpuGpuBlockAllocator, Device
from pagesim.v0.block.prefix_caching_block import PrefixCachingBlock, PrefixCachingBlockAllocator
from tests.v0.block.scenes import KINDS

LENGTH = 50 * int(os.environ.get("PAGESIM_V0_EXAMPLES", "30"))
"""Half as many again as Python may recurse; `make nightly` has 20,000."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_table(kind: str) -> None:
    allocator = CpuGpuBlockAllocator.create(kind, 2 * LENGTH + 2, LENGTH + 1, 1)
    table = BlockTable(1, allocator)
    table.allocate(list(range(LENGTH)))
    fork = table.fork()
    assert allocator.fork(table.blocks[-1])[-1].block_id == LENGTH - 1
    assert allocator.get_ref_count(0) == allocator.get_ref_count(LENGTH - 1) == 3
    fork.append_token_ids([7])
    assert fork.physical_block_ids == list(range(LENGTH + 1))
    for source, target in [(Device.GPU, Device.CPU), (Device.CPU, Device.GPU)]:
        blocks = fork.blocks
        assert len(allocator.swap(blocks, source, target)) == LENGTH + 1
        fork.update(blocks)
    last = fork.blocks[-1]
    assert last.num_tokens_total == LENGTH + 1
    assert (last.content_hash is None) is (kind == "naive")
    for each in (fork, table):
        each.free()
    assert allocator.get_num_free_blocks(Device.CPU) == LENGTH + 1
    assert allocator.get_ref_count(0) == 1  # the forked handles, never freed
    del table, fork, blocks, last, each
    allocator = None  # type: ignore[assignment]
    gc.collect()


def chain(*tokens: int) -> PrefixCachingBlock:
    """The last of a chain of blocks with a token each."""
    pool, block = PrefixCachingBlockAllocator(4, 1), None
    for token in tokens:
        block = PrefixCachingBlock(block, [token], 1, pool)
    return block


def test_the_hash_at_the_end_of_a_long_chain_made_by_hand() -> None:
    block = chain(*range(LENGTH))
    assert isinstance(block.content_hash, int)
    assert block.num_tokens_total == LENGTH
    expected = None
    for token in range(LENGTH):
        expected = PrefixCachingBlock.hash_block_tokens(expected is None, expected, [token])
    assert block.content_hash == expected
    del block
    gc.collect()


def test_equal_long_chains_are_compared_without_recursion() -> None:
    contents = [chain(*range(LENGTH), last).content for last in (LENGTH, LENGTH, LENGTH + 1)]
    assert contents[0] == contents[1]
    assert contents[0] != contents[2]
