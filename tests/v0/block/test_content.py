"""What a block is found by: its tokens and its prefix, never a hash alone.

The state machines write two tokens that Python hashes alike, so contents collide all the time.
"""

from pagesim import PrefixCachingBlock
from pagesim.v0.block.content import BlockContent
from tests.kernels.children import python

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
    answer = python("-c", program, PYTHONHASHSEED="4242")
    first = PrefixCachingBlock.hash_block_tokens(True, None, [1, 2, 3])
    second = PrefixCachingBlock.hash_block_tokens(False, first, [4, -5, 2**70])
    assert answer.stdout.split() == [str(first), str(second)]


def test_the_prefix_and_its_absence_are_part_of_the_hash() -> None:
    hash_block = PrefixCachingBlock.hash_block_tokens
    first = hash_block(True, None, [1, 2])
    assert len({first, hash_block(False, 0, [1, 2]), hash_block(False, first, [1, 2])}) == 3
