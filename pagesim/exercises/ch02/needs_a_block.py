"""# 2.2 A new block ★

A sequence of `length` tokens is stored in blocks of `block_size` slots, and it holds no more blocks
than it needs. Write `needs_a_block(length, block_size)`. The function returns True if the next
token needs a new block, and False if there is still room in the last one. One line is enough, as
long as it is right for every block size.

Example: `needs_a_block(4, 4)` is True, because four tokens fill the block. `needs_a_block(5, 4)` is
False.

## Hints
1. Take blocks of 4 slots. Draw the last block of a sequence of 3, of 4 and of 5 tokens. Which of
   them has room for one more token?
2. The last block is full when the length is a multiple of the block size.
3. Return `length % block_size == 0`. If you wrote a different line, try it with a block size of 1
   too.

## Wrong answers
* length_after (one token): The length is one more than a multiple of the block size when a new
  block is needed.
* one_late (the last block is full): A new block is needed only after a token has found the last one
  full.
* one_early (there is room): The token that fills a block takes the next block as well.
* wrong_for_one (blocks of one slot): With the new token, the length is one more than a multiple of
  the block size.

## vLLM
* vllm/core/block/block_table.py: BlockTable.ensure_num_empty_slots
* vllm/core/block_manager.py: SelfAttnBlockSpaceManager.append_slots
"""

from pagesim.exercises.kit import Case, Cases, Random, Story, counted


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
    last = f"After {counted(length, 'token')}, the last block of {counted(block_size, 'slot')} has"
    if not room:
        full = f"{last} no room: the next token needs a block."
        return f"{full} A division by 1 never leaves 1." if block_size == 1 else full
    late = " If length % block_size is 1, the sequence has just taken a block."
    return f"{last} room for {counted(room, 'more token')}." + late * (length % block_size == yours)
