"""# 15.3 The blocks of a partition ★★

A sequence of `num_tokens` tokens is cut into partitions of `size` tokens. Partition i has the
tokens from `i * size` up to the next partition, or up to the end of the sequence. A block holds
`block_size` tokens. Write

```python
def pages_of_partition(i, size, block_size, num_tokens):
    return pages
```

`pages_of_partition` returns the entries of the block table that the program of partition i looks
up, as a list of indices in ascending order. These entries are the logical blocks that hold at least
one token of the partition.

Example: `pages_of_partition(1, 6, 4, 11)` is `[1, 2]`. Partition 1 has the tokens 6 to 10. Tokens 6
and 7 are in logical block 1, and tokens 8 to 10 are in logical block 2.

vLLM's partitions have 512 tokens, which is a multiple of its block sizes. Here `size` may be any
number, so a block can belong to two partitions. A partition beyond the end of the sequence has no
blocks.

## Hints
1. Begin with the tokens: which is the first, and which is the last? Then find the blocks of these
   two tokens.
2. The tokens are `start = i * size` up to, but not including,
   `stop = min((i + 1) * size, num_tokens)`.
3. The first block is `start // block_size`, and the last is `(stop - 1) // block_size`. If `start`
   is not below `stop`, the partition has no blocks.

## Wrong answers
* to_the_full_size (a page that is not full): Every partition has `size` tokens.
* whole_pages_alone (a page that is not full): The last block of a sequence is full.
* one_page_too_many (whole pages): The block of the token after the last one belongs to the
  partition, too.
* begins_at_a_page (a page in two partitions): A partition begins where a block begins.
* size_in_pages (a page in two partitions): A partition is a number of whole blocks.

## vLLM
* csrc/attention/attention_kernels.cuh: paged_attention_kernel (start_block_idx)
* vllm/attention/ops/paged_attn.py: _PARTITION_SIZE
"""

from pagesim.cache.slots import slot_numbers
from pagesim.exercises.kit import Case, Cases, Random, Story, Timeline


def pages_of_partition(i: int, size: int, block_size: int, num_tokens: int) -> list[int]:
    """The entries of the block table that partition i looks up, in ascending order."""
    ### BEGIN SOLUTION
    start, stop = i * size, min((i + 1) * size, num_tokens)
    ### to_the_full_size: start, stop = i * size, (i + 1) * size
    ### size_in_pages: n = size // block_size
    ### size_in_pages: start, stop = i * n * block_size, min((i + 1) * n * block_size, num_tokens)
    if start >= stop:
        return []
    return list(range(start // block_size, (stop - 1) // block_size + 1))
    ### whole_pages_alone: return list(range(start // block_size, stop // block_size))
    ### one_page_too_many: return list(range(start // block_size, stop // block_size + 1))
    ### begins_at_a_page: return list(range(-(-start // block_size), (stop - 1) // block_size + 1))
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Sizes that are a multiple of a page, and others; every length up to three partitions."""
    shown = ((4, 8), (4, 4), (4, 6), (4, 2))
    for block_size, size in ((3, 6), (8, 12), (16, 64), (5, 3)) if hidden else shown:
        for num_tokens in range(1, 3 * size + 2):
            for i in range(-(-num_tokens // size) + 1):
                tag = "a page that is not full" if num_tokens % block_size else "whole pages"
                if i * size % block_size or (i + 1) * size % block_size:
                    tag = "a page in two partitions"
                tag = "beyond the end" if i * size >= num_tokens else tag
                yield Case((i, size, block_size, num_tokens), tag=tag)


def oracle(*case: int, record: bool = True) -> tuple[list[int], Timeline]:
    """Slot by slot, over the table of a sequence whose blocks are numbered as its pages are."""
    i, size, block_size, num_tokens = case
    story = Story(gpu_blocks=-(-num_tokens // block_size), block_size=block_size)
    table = story.arrive(range(num_tokens)).block_ids
    tokens = range(num_tokens)[i * size : (i + 1) * size]
    pages = {slot // block_size for slot in slot_numbers(table, tokens, block_size)}
    title = f"Tokens {i * size} to {min((i + 1) * size, num_tokens) - 1}: in which blocks?"
    return sorted(pages), story.run.annotate(title=title)


def why(i: int, size: int, block_size: int, num_tokens: int) -> str:
    start, last = i * size, min((i + 1) * size, num_tokens) - 1
    if start > last:
        return f"Partition {i} would begin at token {start}, but there are {num_tokens} tokens."
    blocks = f"{start // block_size}, and token {last} in block {last // block_size}"
    if start == last:
        return f"Partition {i} has only token {start}, in logical block {start // block_size}."
    first = f"Token {start} is in logical block"
    return f"Partition {i} has the tokens {start} to {last}. {first} {blocks}."
