"""# 2.1 Slots ★

A sequence has `num_tokens` tokens, stored in blocks of `block_size` slots. Its block table lists
the ids of the physical blocks that hold its tokens, in the order of the tokens. The slots of the
cache are numbered block after block, so block 1 begins at slot `block_size`.

Write `slots(table, num_tokens, block_size)`. The function returns the slot of every token, as a
list of ints.

Example: `slots([7, 2], 3, 2)` is `[14, 15, 4]`.

## Hints
1. You need two things to find a token: which of the sequence's blocks it is in, and at which offset
   in that block.
2. Token p is in logical block `p // block_size`. The table turns this into the id of a physical
   block.
3. Compute `table[p // block_size] * block_size + p % block_size` for each p below `num_tokens`.

## Wrong answers
* logical_for_physical (one token, not in block 0): The first block of a sequence is block 0 of the
  cache.
* no_offset (two tokens in a block): The slot of a token is the first slot of its block.
* swapped (two blocks): The remainder tells you the block, and the quotient tells you the offset.
* sixteen (one token, not in block 0): A block always has 16 slots.

## vLLM
* vllm/attention/backends/utils.py: compute_slot_mapping
"""

from itertools import permutations

from pagesim.cache.slots import slot_numbers
from pagesim.exercises.kit import Case, Cases, Random, Timeline, parted, placed

play = placed


def slots(table: list[int], num_tokens: int, block_size: int) -> list[int]:
    """The slot of each of the first num_tokens tokens, as a list of ints.

    table: the ids of the sequence's physical blocks, in the order of its logical blocks.
    """
    ### BEGIN SOLUTION
    result = []
    for position in range(num_tokens):
        block = table[position // block_size]
        ### logical_for_physical: block = position // block_size
        ### swapped: block = table[position % block_size]
        result.append(block * block_size + position % block_size)
        ### no_offset: result.append(block * block_size)
        ### swapped: result.append(block * block_size + position // block_size)
        ### sixteen: result.append(block * 16 + position % block_size)
    return result
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """All tables over four blocks in small sizes, then some large ones."""
    sizes = (3, 5, 8, 32) if hidden else (1, 2, 4, 16)
    for block_size in sizes:
        for num_tokens in range(1, 2 * block_size + 2):
            for table in permutations(range(4), -(-num_tokens // block_size)):
                tag = "two tokens in a block" if len(table) == 1 else "two blocks"
                if num_tokens == 1:
                    tag = "one token, not in block 0" if table[0] else "one token"
                yield Case((list(table), num_tokens, block_size), tag=tag)
    for _ in range(20):
        block_size = rng.choice(sizes)
        scattered = rng.sample(range(100), rng.randint(1, 8))
        num_tokens = rng.randint(1, len(scattered) * block_size)
        yield Case((scattered, num_tokens, block_size), tag="large")


def oracle(table: list[int], num_tokens: int, block_size: int) -> list[int]:
    """What the simulator's slot mapping says."""
    return slot_numbers(table, range(num_tokens), block_size)


def why(yours: list[int], right: list[int], table: list[int], block_size: int) -> str:
    if len(yours) != len(right):
        return f"The sequence has {len(right)} tokens, so it needs {len(right)} slots."
    token = parted(yours, right)
    block, offset = divmod(token, block_size)
    slot = f"{table[block]} * {block_size} + {offset} = {right[token]}"
    where = f"Token {token} is in logical block {block}, at offset {offset}"
    puts = f"The table puts this block into physical block {table[block]}"
    return f"{where}. {puts}, so the slot is {slot}."


def replay(yours: list[int], num_tokens: int, block_size: int) -> Timeline | None:
    """The tokens in the slots of the answer, if they are those of a table."""
    table = [slot // block_size for slot in yours[::block_size]]
    if slots(table, num_tokens, block_size) != yours:
        return None
    return placed(table, num_tokens, block_size).annotate(title="With your slots")
