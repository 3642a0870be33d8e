"""# 11.3 What a window gives back ★★

A request has one block table per KV cache group, and all groups take their blocks from one free
queue. Write

```python
def tables_after(windows, steps, num_blocks, block_size):
    return tables, free
```

* `windows`: for each group, how many tokens a token sees, itself included; None is full attention.
* `steps`: how many tokens of the request are computed in each step. It is alone on the server, and
  the queue is long enough for it.
* `tables`: the table of each group after the last step, as a list of ids.
* `free`: the free queue after it, from front to back. At the beginning, it holds the blocks 1 to
  `num_blocks - 1`.

Prefix caching is off. In a step, two things happen, one after the other:

1. Each window, in the order of the groups, gives back the blocks of which the first token of this
   step sees nothing. They go to the **front** of the queue, the last of them to the very front.
   Their entries in the table become 0, the null block.
2. Each group, in the same order, takes blocks from the front until its table has room for all
   tokens so far, those of this step included.

Example: `tables_after([None, 5], [8, 1], 9, 4)` is `([[1, 2, 3], [0, 4, 5]], [6, 7, 8])`. Token 8,
the ninth, sees positions 4 to 8. So the window gives back block 3, and full attention takes it.

## Hints
1. Some tokens have been computed before a step. At which position is the first token of the step?
   Which is the first position that it sees?
2. After `computed` tokens, the next token sees positions from `computed + 1 - window` on. Only
   blocks that lie completely before this position are given back.
3. With `unseen = max(computed + 1 - window, 0) // block_size`, the blocks given back are those of
   `table[:unseen]` that are not 0. The queue is then these blocks, reversed, and `free` behind
   them.

## Wrong answers
* takes_before_it_gives (a block moves): A step takes its new blocks first and gives back the old
  ones at its end.
* group_by_group (a block moves): Each group gives back and takes before the next group does.
* to_the_back (a block is given back): A block that is freed goes to the end of a queue.
* first_to_last (two blocks at once): The first of the blocks that are given back is at the front of
  the queue.
* its_own_token_too (a block is given back): A token sees a whole window of tokens besides itself.
* seen_by_the_last (many tokens in a step): What the last token of a step does not see can go.
* rounded_up (the window begins inside a block): The block in which the window begins is not needed.
* shorter_table (a block is given back): A block that is given back leaves the table.

## vLLM 0.33.0
* vllm/v1/core/kv_cache_manager.py: KVCacheManager.allocate_slots
* vllm/v1/core/single_type_kv_cache_manager.py: SingleTypeKVCacheManager.remove_skipped_blocks
* vllm/v1/core/single_type_kv_cache_manager.py: SlidingWindowManager.get_num_skipped_tokens
"""

from pagesim.exercises.kit import Case, Cases, Random, Timeline, lost, recorded
from pagesim.v1 import FullAttentionSpec, KVCacheManager, Request, SlidingWindowSpec

Tables = list[list[int]]
Windows = list[int | None]


def tables_after(
    windows: list[int | None], steps: list[int], num_blocks: int, block_size: int
) -> tuple[list[list[int]], list[int]]:
    """The tables of a request, one for each group, and the free queue, front first.

    windows: tokens that a token of this group sees, None for full attention; steps: how many tokens
    are computed in each step.
    """
    ### BEGIN SOLUTION
    tables: list[list[int]] = [[] for _ in windows]
    free, computed = list(range(1, num_blocks)), 0
    ### takes_before_it_gives: free, computed, late = list(range(1, num_blocks)), 0, []
    for tokens in steps:
        ### takes_before_it_gives: for tokens in steps:
        ### takes_before_it_gives:     free, late = late + free, []
        for window, table in zip(windows, tables, strict=True):
            next_token = computed
            ### seen_by_the_last: next_token = computed + tokens - 1
            before_window = 0 if window is None else max(next_token + 1 - window, 0)
            ### its_own_token_too: before_window = max(computed - (window or computed), 0)
            unseen = before_window // block_size
            ### rounded_up: unseen = -(-before_window // block_size)
            gone = [block for block in table[:unseen] if block]
            free = gone[::-1] + free
            ### takes_before_it_gives: late = gone[::-1] + late
            ### to_the_back: free = free + gone[::-1]
            ### first_to_last: free = gone + free
            table[:unseen] = [0] * unseen
            ### shorter_table: del table[:unseen]
            ### group_by_group: table[:unseen] = [0] * unseen
            ### group_by_group: new = -(-(computed + tokens) // block_size) - len(table)
            ### group_by_group: table.extend(free[:new])
            ### group_by_group: del free[:new]
        computed += tokens
        for table in tables:
            new = -(-computed // block_size) - len(table)
            table.extend(free[:new])
            del free[:new]
    return tables, free
    ### takes_before_it_gives: return tables, late + free
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """A group, then two, then many steps."""
    b = 3 if hidden else 4
    for windows, steps, tag in (
        ([None], [b], "full attention alone"),
        ([None, b + 1], [2 * b - 1, 1], "the window begins inside a block"),
        ([None, b], [2 * b - 1, 1], "a block is given back"),
        ([None, b + 1], [2 * b, 1], "a block moves"),
        ([None, b], [b, 2 * b], "many tokens in a step"),
        ([None, b], [3 * b, 1], "two blocks at once"),
        ([b + 1, None, b + 2], [2 * b + 1, b, 1], "three groups"),
    ):
        yield Case((windows, steps, 16, b), tag=tag)
    for _ in range(25):
        size = rng.choice((1, 3, 5) if hidden else (1, 2, 4))
        windows = [rng.choice((None, 1, 3, 5, 8)) for _ in range(rng.randint(1, 4))]
        steps = [rng.choice((1, 1, 2, 7)) for _ in range(rng.randint(3, 9))]
        yield Case((windows, steps, 4 * (sum(steps) // size + 1) + 3, size), tag="many")


def oracle(
    windows: Windows, steps: list[int], num_blocks: int, block_size: int, *, record: bool = True
) -> tuple[tuple[Tables, list[int]], Timeline]:
    """V1's manager, told of one step after the other."""
    full, windowed = FullAttentionSpec, SlidingWindowSpec
    groups = [windowed(block_size, sliding_window=w) if w else full(block_size) for w in windows]
    manager = KVCacheManager(num_blocks, groups=groups, enable_caching=False)
    request = Request("r0", range(sum(steps)), block_size=block_size)
    with recorded(manager) as run:
        for tokens in steps:
            manager.allocate_slots(request, tokens)
            request.num_computed_tokens += tokens
    queue = manager.block_pool.free_block_queue.get_all_free_blocks()
    tables = [[*table] for table in manager.get_block_ids("r0")]
    return (tables, [block.block_id for block in queue]), run


def why(
    yours: tuple[Tables, list[int]],
    right: tuple[Tables, list[int]],
    windows: Windows,
    steps: list[int],
    block_size: int,
) -> str:
    pairs = [*zip(yours[0], right[0], strict=True)]
    for group, (table, expected) in enumerate(pairs):
        if len(table) != len(expected):
            entries = f"{len(expected)} entries for {sum(steps)} tokens"
            return f"The table of group {group} has {entries}, with a 0 for each null block."
        if [block == 0 for block in table] != [block == 0 for block in expected]:
            at = sum(steps[:-1])
            first = max(at + 1 - (windows[group] or at + 1), 0)
            sees = f"the first token of the last step is at {at} and sees positions {first} to {at}"
            kept = f"The first entry that the group still needs is entry {first // block_size}"
            return f"In group {group}, {sees}. {kept}."
    if yours[0] == right[0] and (problem := lost(yours[1], right[1])):
        return problem
    gives = "First the windows give back what is not seen, to the front of the queue"
    order = "Of the blocks that a table gives back at once, the last one is then at the very front"
    return f"{gives}. {order}. After that, group 0 takes from the front, then group 1, and so on."
