"""# 2.4 The slot mapping of a batch ★★

A step of the model computes several sequences at once. For some of them, the step computes a whole
prompt; for some, a chunk of a long prompt; and for those that decode, only one token. All these
tokens are in one list, sequence after sequence.

Before attention, the key and value of every token are written to the cache. The **slot mapping**
says which slot each token goes to. If the list has been padded to a fixed size, the padding has
slot -1, which means that nothing is written.

Write `slot_mapping(batch, block_size, num_tokens)`. The function returns a list of `num_tokens`
ints. `batch` has a tuple `(table, computed, length)` for each sequence: its block table, the number
of its tokens that are already in the cache, and the number of its tokens after this step. So the
step computes the positions `computed` to `length - 1`.

Example, with blocks of 4: `slot_mapping([([1], 0, 2), ([2, 0], 4, 5)], 4, 5)` is
`[4, 5, 0, -1, -1]`. The first sequence computes positions 0 and 1, and the second computes
position 4.

## Hints
1. Which positions does this step compute? Write them down for `(table, 4, 5)` and for
   `(table, 0, 2)`.
2. Exercise 2.1 computes the slot of a position. Here the positions go from `computed` to
   `length - 1`, for one sequence after the other.
3. Append `table[p // block_size] * block_size + p % block_size` for each p in
   `range(computed, length)`. At the end, add `[-1] * (num_tokens - len(slots))`.

## Wrong answers
* decode_at_the_length (a decode): The new token of a sequence of n tokens is at position n.
* from_the_beginning (a decode): Every step writes all tokens of a sequence.
* padding_is_slot_0 (padding): Padding has no token, so its slot does not matter.
* no_padding (padding): The mapping has as many entries as there are tokens.
* positions_from_0 (a decode): The positions of a chunk begin at 0.

## vLLM
* vllm/attention/backends/utils.py: compute_slot_mapping, PAD_SLOT_ID
* vllm/attention/backends/flash_attn.py: FlashAttentionMetadataBuilder._add_seq_group
* vllm/worker/model_runner.py: ModelInputForGPUBuilder
"""

from pagesim.cache.slots import PAD_SLOT_ID, slot_numbers
from pagesim.exercises.kit import Case, Cases, Random, Timeline, counted, parted, placed_together

Part = tuple[list[int], int, int]


def slot_mapping(
    batch: list[tuple[list[int], int, int]], block_size: int, num_tokens: int
) -> list[int]:
    """The slot of each token that this step computes, padded with -1 to num_tokens entries.

    batch: for each sequence (table, computed, length): its block table, its tokens whose keys and
    values are in the cache already, and its tokens after the step. A decode computes one token.
    """
    ### BEGIN SOLUTION
    slots = []
    for table, computed, length in batch:
        for position in range(computed, length):
            ### decode_at_the_length: for position in range(computed, length):
            ### decode_at_the_length:     position += computed > 0
            ### from_the_beginning: for position in range(length):
            ### positions_from_0: for position in range(length - computed):
            block = table[position // block_size]
            slots.append(block * block_size + position % block_size)
    padding = [-1] * (num_tokens - len(slots))
    ### padding_is_slot_0: padding = [0] * (num_tokens - len(slots))
    return slots + padding
    ### no_padding: return slots
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """A prompt, a decode, a chunk of a prompt, padding; then mixed batches."""
    b = 2 if hidden else 4
    prompt, decode, chunk = ([1], 0, 2), ([2, 0], b, b + 1), ([3, 1], 1, b + 2)
    yield Case(([prompt], b, 2), tag="a prompt")
    yield Case(([([5], 1, 2)], b, 1), tag="a decode")
    yield Case(([chunk], b, b + 1), tag="a chunk of a prompt")
    yield Case(([decode], b, 1), tag="a decode in a new block")
    yield Case(([prompt], b, 4), tag="padding")
    yield Case(([prompt, decode], b, 5), tag="a prompt and a decode")
    for _ in range(30):
        block_size = rng.choice((1, 3, 8, 16))
        parts: list[Part] = []
        for first in range(0, 10 * rng.randint(1, 5), 10):
            table = rng.sample(range(first, first + 10), rng.randint(1, 5))
            length = rng.randint((len(table) - 1) * block_size + 1, len(table) * block_size)
            parts.append((table, rng.choice((0, length // 2, length - 1)), length))
        parts.sort(key=lambda part: part[2] - part[1] == 1)
        total = sum(length - computed for _, computed, length in parts)
        yield Case((parts, block_size, total + rng.randint(0, 3)), tag="a mixed batch")


def oracle(batch: list[Part], block_size: int, num_tokens: int) -> list[int]:
    """The simulator's slots for each sequence's new tokens, and its padding."""
    spans = ((table, range(computed, length)) for table, computed, length in batch)
    slots = [slot for table, span in spans for slot in slot_numbers(table, span, block_size)]
    return [*slots, *[PAD_SLOT_ID] * (num_tokens - len(slots))]


def why(yours: list[int], right: list[int], batch: list[Part], block_size: int) -> str:
    spans = [range(computed, length) for _, computed, length in batch]
    tokens = [(seq, position) for seq, span in enumerate(spans) for position in span]
    if len(yours) != len(right):
        rest = ", and the rest is padding, which is -1" if len(right) > len(tokens) else ""
        problem = f"The length of the mapping must be {len(right)}, not {len(yours)}"
        return f"{problem}. This step computes {counted(len(tokens), 'token')}{rest}."
    place = parted(yours, right)
    if right[place] == -1:
        wrong = f"with {yours[place]}, the kernel would write into that slot"
        return f"Entry {place} is padding, not a token. It must be -1: {wrong}."
    seq, position = tokens[place]
    table, _, length = batch[seq]
    block, offset = divmod(position, block_size)
    where = f"It is in block {table[block]} at offset {offset}, so its slot is {right[place]}"
    where = f"Entry {place} is for the token at position {position} of sequence {seq}. {where}."
    if len(spans[seq]) == 1:
        where += f" A decode computes the last of {length} tokens, at position {length - 1}."
    return where


def play(batch: list[Part], block_size: int) -> Timeline:
    """The sequences of the batch, in their blocks."""
    return placed_together([part[0] for part in batch], [part[2] for part in batch], block_size)
