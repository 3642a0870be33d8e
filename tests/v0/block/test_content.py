"""What a block is found by: its tokens and its prefix, never a hash alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pagesim import PrefixCachingBlock, PrefixCachingBlockAllocator
from pagesim.v0.block.content import BlockContent

pytestmark = pytest.mark.ch02

# Different ints that Python hashes alike.
COLLIDING = [(-1, -2), (0, 2**61 - 1), (5, 5 + 2**61 - 1)]
SIZE = 2


def test_the_pairs_do_collide() -> None:
    for a, b in COLLIDING:
        assert a != b
        assert PrefixCachingBlock.hash_block_tokens(True, None, [a, 9]) == (
            PrefixCachingBlock.hash_block_tokens(True, None, [b, 9])
        )
        assert BlockContent(None, [a, 9]).hash == BlockContent(None, [b, 9]).hash


@pytest.mark.parametrize(("a", "b"), COLLIDING)
def test_different_tokens_never_share_an_id(a: int, b: int) -> None:
    pool = PrefixCachingBlockAllocator(8, SIZE)
    first = pool.allocate_immutable_block(None, [a, 9])
    second = pool.allocate_immutable_block(None, [b, 9])
    assert first.content_hash == second.content_hash
    assert (first.block_id, second.block_id) == (0, 1)
    again = [pool.allocate_immutable_block(None, [token, 9]).block_id for token in (b, a)]
    assert again == [1, 0]
    grown = pool.allocate_mutable_block(None)
    for token in (b, 9):
        grown.append_token_ids([token])
    assert grown.block_id == 1


@pytest.mark.parametrize(("a", "b"), COLLIDING)
def test_different_prefixes_never_share_what_follows(a: int, b: int) -> None:
    pool = PrefixCachingBlockAllocator(8, SIZE)
    chains = [pool.allocate_immutable_blocks(None, [[t, t], [3, 4], [5, 6]]) for t in (a, b)]
    assert [[block.block_id for block in chain] for chain in chains] == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(("a", "b"), COLLIDING)
def test_nor_behind_a_prefix_that_was_evicted_and_replaced_by_its_double(a: int, b: int) -> None:
    pool = PrefixCachingBlockAllocator(3, SIZE)
    head, tail = pool.allocate_immutable_blocks(None, [[a, a], [3, 4]])
    pool.free(head)
    other = pool.allocate_mutable_block(None)  # takes block 2, the last free one
    double = pool.allocate_immutable_block(None, [b, b])  # evicts the head: its id is reused
    assert (other.block_id, double.block_id) == (2, 0)
    assert double.content_hash == tail.prev_block.content_hash
    pool.free(other)
    # The tail of the evicted prefix is still cached as block 1; behind the double it is no hit.
    assert pool.cached_block_ids == {0, 1}
    assert pool.allocate_immutable_block(double, [3, 4]).block_id == 2


def test_equal_contents_of_different_origin_are_equal() -> None:
    one, two = (BlockContent(BlockContent(None, [1, 2]), [3, 4]) for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert one.num_tokens == 4
    assert one != BlockContent(None, [3, 4])
    assert one.parent != one
    assert one != 7


def test_hashes_are_the_same_in_another_process() -> None:
    program = (
        "from pagesim import PrefixCachingBlock as B\n"
        "h = B.hash_block_tokens(True, None, [1, 2, 3])\n"
        "print(h, B.hash_block_tokens(False, h, [4, -5, 2**70]))\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONHASHSEED": "4242", "PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        check=True,
    )
    first = PrefixCachingBlock.hash_block_tokens(True, None, [1, 2, 3])
    second = PrefixCachingBlock.hash_block_tokens(False, first, [4, -5, 2**70])
    assert answer.stdout.split() == [str(first), str(second)]


def test_the_prefix_and_its_absence_are_part_of_the_hash() -> None:
    hash_block = PrefixCachingBlock.hash_block_tokens
    first = hash_block(True, None, [1, 2])
    assert len({first, hash_block(False, 0, [1, 2]), hash_block(False, first, [1, 2])}) == 3
