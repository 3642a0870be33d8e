"""# 4.1 What samples cost ★

`s0` arrives with a prompt of `prompt` tokens. The cache is empty, and its free list is 0, 1, 2, ….
Then `s1`, `s2`, … are forked from `s0`, until there are `samples` sequences. Finally, each of them
writes one token, `s0` first.

Write `copies(prompt, samples, block_size)`. The function returns the copies that the block manager
has to make, in order, as a list of pairs (from, to) of block ids.

Example: `copies(7, 2, 4)` is `[(1, 2)]`. What is `copies(7, 3, 4)`?

## Hints
1. Which block does the next token go into? How many owners does this block have at that moment?
2. A sequence that writes into a shared block gets a copy of its own, and the original has one owner
   fewer. What does this mean for the sequence that writes last?
3. Block `prompt // block_size` is copied `samples - 1` times, each time into the next free block.
   If the prompt ends with a full block, nothing is copied.

## Wrong answers
* the_last_one_too (no fork): Every sample gets a copy of its own.
* full_blocks_too (a full block and a partial one): The first sequence that writes copies all blocks
  of the prompt.
* a_full_last_block (a full last block): A shared last block is always copied before a token is
  written.
* copies_of_copies (three samples): Each sequence copies the block that the sequence before it has
  written.

## vLLM
* vllm/core/block/naive_block.py: NaiveBlockAllocator.cow_block_if_not_appendable, fork
* vllm/core/block/common.py: CopyOnWriteTracker.record_cow, RefCounter
"""

from pagesim.exercises.kit import Case, Cases, Random, Story, counted

Pairs = list[tuple[int, int]]


def copies(prompt: int, samples: int, block_size: int) -> list[tuple[int, int]]:
    """The copies, as (from, to) in their order, when every sample has written its first token.

    s0 arrives with a prompt of `prompt` tokens in an empty cache, whose free list is 0, 1, 2, ….
    s1, s2, … are forked from it. Then s0 writes a token, then s1, and so on.
    """
    ### BEGIN SOLUTION
    if prompt % block_size == 0:
        ### a_full_last_block: if samples == 1:
        return []
    num_blocks = prompt // block_size + 1
    shared = num_blocks - 1
    return [(shared, num_blocks + writer) for writer in range(samples - 1)]
    ### the_last_one_too: return [(shared, num_blocks + writer) for writer in range(samples)]
    ### full_blocks_too: return [(block, num_blocks * (writer + 1) + block)
    ### full_blocks_too:         for writer in range(samples - 1) for block in range(num_blocks)]
    ### copies_of_copies: return [(shared + writer, num_blocks + writer)
    ### copies_of_copies:         for writer in range(samples - 1)]
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """One sample, two, three; prompts that fill their last block, and others."""
    for block_size in (3, 5) if hidden else (4, 2):
        for samples in (1, 2, 3, 5):
            for prompt in range(1, 2 * block_size + 1):
                tag = "two samples" if samples == 2 else "three samples"
                tag = "a full block and a partial one" if prompt > block_size else tag
                tag = "a full last block" if prompt % block_size == 0 else tag
                yield Case((prompt, samples, block_size), tag="no fork" if samples == 1 else tag)


def words(prompt: int, samples: int, block_size: int) -> str:
    both = f"{counted(prompt, 'token')}, {counted(samples, 'sample')}"
    return f"a prompt of {both}, blocks of {block_size}"


def oracle(
    prompt: int, samples: int, block_size: int, *, record: bool = False
) -> tuple[Pairs, Story]:
    """The copies that the block manager asks for."""
    story = Story(gpu_blocks=16 + samples, block_size=block_size, record=record)
    first = story.arrive(range(prompt))
    family = [first, *(first.fork() for _ in range(samples - 1))]
    return [pair for i, sample in enumerate(family) for pair in sample.write([1000 + i])], story


def why(yours: Pairs, right: Pairs, prompt: int, samples: int, block_size: int) -> str:
    full, filled = divmod(prompt, block_size)
    if samples == 1:
        return "A block with one owner is written in place, so nothing is copied."
    if not right:
        rule = "each sample takes a new block for its token, and nothing is copied"
        return f"The prompt fills its last block, so {rule}."
    left = {pair[0] for pair in yours}
    if shared := left & set(range(full)):
        return f"No one writes into a full block, so block {min(shared)} stays shared."
    if len(yours) >= samples:
        return "When the last sample writes, it is the only owner left, so it needs no copy."
    if left - {full}:
        return f"The prompt ends in block {full}. Each copy is made from this block."
    owners = f"Block {full} has {filled} of {block_size} slots filled and {samples} owners"
    return f"{owners}. Each owner but the last to write gets a copy, in the next free block."
