"""# 2.2 A new block ★

A sequence has `length` tokens in blocks of `block_size` slots, and no more blocks than it needs.
Write `needs_a_block(length, block_size)`: True if the next token takes a new block, False if it
goes into the last one. One line is enough, if it is right for every block size.

`needs_a_block(4, 4)` is True, and `needs_a_block(5, 4)` is False.

## Hints
1. Draw the last block of a sequence of 3, 4 and 5 tokens, with 4 slots in a block.
2. The last block is full when the length is a multiple of the block size.
3. length % block_size == 0. Try your own line with block_size 1 as well.

## Wrong answers
* length_after (one token): The length is one more than a multiple of the block size when a block is
  taken.
* one_late (the last block is full): A block is taken once the last one has overflowed.
* one_early (there is room): The token that fills a block also takes the next one.
* wrong_for_one (blocks of one slot): The new length is one more than a multiple of the block size.

## vLLM
* vllm/core/block/block_table.py: BlockTable.ensure_num_empty_slots
* vllm/core/block_manager.py: SelfAttnBlockSpaceManager.append_slots
"""

from pagesim.exercises.kit import Case, Cases, Random, Story, count


def needs_a_block(length: int, block_size: int) -> bool:
    """Whether one more token makes a sequence of this length take a new block.

    length: its tokens before that one, at least 1. The sequence has no empty blocks reserved.
    """
    ### BEGIN SOLUTION
    return length % block_size == 0
    ### length_after: return length % block_size == 1
    ### one_late: return length > 1 and length % block_size == 1
    ### one_early: return (length + 1) % block_size == 0
    ### wrong_for_one: return (length + 1) % block_size == 1
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Every length up to three blocks and one token, for one block size after the other."""
    for size in (5, 1, 7, 8) if hidden else (4, 1, 2, 3, 16):
        for length in range(1, 3 * size + 2):
            tag = "one token" if length == 1 else "there is room"
            tag = "the last block is full" if length % size == 0 else tag
            yield Case((length, size), tag="blocks of one slot" if size == 1 else tag)


def oracle(length: int, block_size: int, *, record: bool = False) -> tuple[bool, Story]:
    """Whether the manager has a free block less afterwards."""
    blocks = -(-length // block_size) + 1
    story = Story(gpu_blocks=blocks, block_size=block_size, record=record)
    sequence = story.arrive(range(length))
    before = story.manager.get_num_free_gpu_blocks()
    sequence.write([length])
    return story.manager.get_num_free_gpu_blocks() < before, story


def why(yours: bool, right: bool, length: int, block_size: int) -> str:
    room = -length % block_size
    last = f"After {count(length, 'token')} the last block of {count(block_size, 'slot')} has"
    if not room:
        full = f"{last} no room: the next token needs a block."
        return f"{full} No remainder of a division by 1 is 1." if block_size == 1 else full
    late = " When length % block_size is 1, a block has just been taken."
    return f"{last} room for {count(room, 'more token')}." + late * (length % block_size == yours)
