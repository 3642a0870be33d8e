"""# 0.1 Two sentences ★

Two sentences arrive in an empty cache, one after the other. Every word is one token, and a block
has `block_size` slots. At first all blocks are free: the free list is 0, 1, 2, … up to
`num_blocks - 1`. What will the player show?

Write `predict(first, second, num_blocks, block_size)`. The function returns three lists of block
ids: the block table of the first sentence, the block table of the second, and the free list when
both sentences have arrived. (The player calls the sentences `s0` and `s1`.)

Example: `predict("Alice was beginning to get", "Call me Ishmael", 6, 4)` is
`([0, 1], [2], [3, 4, 5])`.

Then try sentences of your own, and compare your prediction with `pagesim.Story`.

## Hints
1. Suppose a block holds 4 words. How many blocks does a sentence of 5 words need? How many does one
   of 8 words need?
2. The first sentence takes its blocks from the front of the free list. The second sentence takes
   its blocks from what is left.
3. The number of blocks is the number of words divided by `block_size`, rounded up:
   `(words + block_size - 1) // block_size`. Cut that many off the front of
   `list(range(num_blocks))`, once for each sentence.

## Wrong answers
* from_zero (two words): The blocks of every sequence are numbered from 0.
* one_too_many (the second sentence fills its blocks): A sequence whose last block is full already
  has the next one.
* last_block_shared (two words): Empty slots are filled first, even in the block of another
  sequence.

## vLLM
* vllm/core/block/block_table.py: BlockTable.get_num_required_blocks, BlockTable.allocate
* vllm/core/block/naive_block.py: NaiveBlockAllocator.allocate_immutable_block
"""

from pagesim.exercises.kit import Case, Cases, Random, Story, Timeline, counted, placed_together
from pagesim.v0.block.interfaces import Device

Lists = tuple[list[int], list[int], list[int]]
TEXT = """it was the best of times it was the worst of times it was the age of wisdom it was the
age of foolishness it was the epoch of belief it was the epoch of incredulity"""


def predict(
    first: str, second: str, num_blocks: int, block_size: int
) -> tuple[list[int], list[int], list[int]]:
    """The block table of each sentence, and the free list after both have arrived.

    Every word is one token. At first all blocks are free: 0, 1, 2, … up to num_blocks - 1.
    """
    ### BEGIN SOLUTION
    free = list(range(num_blocks))
    tables = []
    for sentence in (first, second):
        num_tokens = len(sentence.split())
        num_needed = (num_tokens + block_size - 1) // block_size
        ### one_too_many: num_needed = num_tokens // block_size + 1
        ### last_block_shared: begin = len(first.split()) * len(tables)
        ### last_block_shared: end = begin + num_tokens
        tables.append(free[:num_needed])
        ### from_zero: tables.append(list(range(num_needed)))
        ### last_block_shared: tables.append([*range(begin // block_size, -(-end // block_size))])
        free = free[num_needed:]
        ### last_block_shared: free = list(range(tables[-1][-1] + 1, num_blocks))
    return tables[0], tables[1], free
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Two sentences of few words, then of more; 12 blocks of 4 as in the chapter."""
    size, words = 3 if hidden else 4, TEXT.split()
    totals = range(2, 2 * size + 5)
    shapes = [(size, begin, total - begin, 12) for total in totals for begin in range(1, total)]
    for _ in range(10):
        shapes.append((rng.choice((2, 5, 8, 16)), rng.randint(1, 16), rng.randint(1, 16), 20))
    for block_size, first, second, num_blocks in shapes:
        tag = "more words" if first + second > 2 else "two words"
        tag = "the second sentence fills its blocks" if second % block_size == 0 else tag
        tag = "the first sentence fills its blocks" if first % block_size == 0 else tag
        sentences = " ".join(words[:first]), " ".join(words[first : first + second])
        yield Case((*sentences, num_blocks, block_size), tag=tag)


def oracle(
    first: str, second: str, num_blocks: int, block_size: int, *, record: bool = False
) -> tuple[Lists, Story]:
    """What the block manager does with them."""
    story = Story(gpu_blocks=num_blocks, block_size=block_size, record=record)
    one, other = (story.arrive(sentence).block_ids for sentence in (first, second))
    return (one, other, list(story.manager.block_allocator.free_block_ids(Device.GPU))), story


def why(yours: Lists, right: Lists, first: str, second: str, block_size: int) -> str:
    for number, sentence in enumerate((first, second)):
        table, truth, words = yours[number], right[number], counted(len(sentence.split()), "word")
        if len(table) != len(truth):
            needs = f"s{number} has {words}, and a block holds {block_size}"
            rule = "Its last block may have room, but none is taken before there is a word for it"
            return f"{needs}. So s{number} needs {counted(len(truth), 'block')}. {rule}."
        if number and (shared := set(table) & set(right[0])):
            rule = "Both sentences take blocks from one pool, and no block has two owners here"
            return f"Block {min(shared)} belongs to s0. {rule}, not even one with empty slots."
        if table != truth:
            first_ones = counted(len(truth), "block")
            return f"s{number} takes {first_ones} from the front of the free list, one by one."
    return "The free list has the blocks that are left, in the order in which they will be taken."


def replay(yours: Lists, first: str, second: str, block_size: int) -> Timeline | None:
    """Both sentences in the blocks of the answer's tables, where these have the right length."""
    lengths = [len(sentence.split()) for sentence in (first, second)]
    if [len(table) for table in yours[:2]] != [-(-length // block_size) for length in lengths]:
        return None
    return placed_together(yours[:2], lengths, block_size).annotate(title="With your tables")
