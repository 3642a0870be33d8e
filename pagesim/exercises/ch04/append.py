"""# 4.2 Copy-on-write ★★

Sequence `who` is about to write its next token. Write
`append(tables, refs, free, length, who, block_size)`. The function finds a place for the token. It
returns the copies that must be made before the token is written: a list of pairs (from, to) of
block ids, or `[]`. And it changes its first three arguments:

* `tables`: the block table of each sequence, such as `{0: [0, 1], 1: [0, 1]}`;
* `refs`: the reference count of each block in use, such as `{0: 2, 1: 2}`;
* `free`: the free list. Take blocks from its front.

`length` is the number of tokens of `who` before this one.

Example: let `tables` and `refs` be as above, `free` be `[2, 3]`, `length` be 7, `who` be 0, and
`block_size` be 4. `s0` shares its last block, so it must write into a copy. The function returns
`[(1, 2)]`. After that, `tables[0]` is `[0, 2]`, `refs` is `{0: 2, 1: 1, 2: 1}` and `free` is `[3]`.

`check` runs a story of forks and writes. It does the forks itself, and it calls your function for
every write. In these stories, no block is freed.

## Hints
1. There are three cases. The last block may be full. It may have room and one owner. Or it may have
   room and several owners.
2. If the last block is full, take a new block and append it to the table. If it has room and one
   owner, there is nothing to do. If it has room and several owners, take a new block, put it into
   the table in place of the old one, and return the pair.
3. A new block has one owner, so `refs[new] = 1`. If the new block replaces a shared one, the shared
   one loses an owner: `refs[old] -= 1`. Then set `table[-1] = new`, and return `[(old, new)]`.

## Wrong answers
* never_copies (a partial block is shared): There is room in the last block, so the token goes
  there.
* copies_every_shared_block (a full block and a partial one are shared): A sequence that writes must
  have all of its blocks for itself.
* forgets_the_count (a partial block is shared): The old block keeps its content, so nothing changes
  for it.
* copies_although_alone (alone): A partly filled block is always copied before it is written to.
* copies_a_full_block (a full block is shared): A shared last block is copied, full or not.

## vLLM
* vllm/core/block/naive_block.py: NaiveBlockAllocator.cow_block_if_not_appendable
* vllm/core/block/block_table.py: BlockTable.append_token_ids
* vllm/core/block/common.py: CopyOnWriteTracker
"""

from collections.abc import Iterator
from typing import Any

from pagesim.exercises.acts import Act, act_once, in_words
from pagesim.exercises.case import Function
from pagesim.exercises.kit import Case, Cases, Random, Story
from pagesim.files.jsonl import JsonObject
from pagesim.story import Writer
from pagesim.v0.block.interfaces import Device

Acts = list[Act]
Found = JsonObject
"""The copies of the last write, and the tables, refs and free list behind it."""


def append(
    tables: dict[int, list[int]], refs: dict[int, int], free: list[int], length: int, who: int,
    block_size: int,
) -> list[tuple[int, int]]:  # fmt: skip
    """Find a place for one token of sequence `who`, and return the copies (from, to) to make first.

    tables: the block ids of each sequence; refs: the owners of each block in use; free: the free
    list. All three are to be changed. length: the sequence's tokens before this one.
    """
    ### BEGIN SOLUTION
    table = tables[who]
    if length % block_size == 0:
        ### copies_a_full_block: if length % block_size == 0 and refs[table[-1]] == 1:
        block = free.pop(0)
        refs[block] = 1
        table.append(block)
        return []
    last = table[-1]
    if refs[last] == 1:
        ### never_copies: if refs[last] > 0:
        ### copies_although_alone: if refs[last] == 0:
        return []
    refs[last] -= 1
    ### copies_every_shared_block: shared = [block for block in table if refs[block] > 1]
    ### copies_every_shared_block: refs |= {block: refs[block] - 1 for block in shared}
    ### forgets_the_count:
    block = free.pop(0)
    ### copies_every_shared_block: made = [(block, free.pop(0)) for block in shared]
    refs[block] = 1
    ### copies_every_shared_block: refs |= {block: 1 for _, block in made}
    table[-1] = block
    ### copies_every_shared_block: table[:] = [dict(made).get(block, block) for block in table]
    return [(last, block)]
    ### copies_every_shared_block: return made
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """All stories of up to four acts behind the first, shortest first; then longer ones."""
    block_size = 3 if hidden else 2
    for num_acts in range(1, 5):
        for prompt in range(1, block_size + 2):
            for acts in stories([("arrive", 0, prompt)], num_acts):
                yield Case((acts, block_size), tag=kind(acts, block_size))
    for _ in range(30):
        acts, here = [("arrive", 0, rng.randint(1, 6))], 1
        for _ in range(rng.randint(5, 9)):
            who = rng.randrange(here)
            forks = here < 4 and rng.random() < 0.4
            acts.append(("fork", who, here) if forks else ("write", who, 1))
            here += forks
        acts.append(("write", rng.randrange(here), 1))
        yield Case((acts, rng.choice((2, 3, 4))), tag="a long story")


def stories(acts: Acts, left: int) -> Iterator[Acts]:
    """Every continuation by so many forks and writes, of which the last is a write."""
    if not left:
        yield acts
        return
    here = 1 + sum(act[0] == "fork" for act in acts)
    for who in range(here):
        yield from stories([*acts, ("write", who, 1)], left - 1)
        if here < 3 and left > 1:
            yield from stories([*acts, ("fork", who, here)], left - 1)


def kind(acts: Acts, block_size: int) -> str:
    prompt, does = acts[0][2], [act[0] for act in acts]
    full = prompt % block_size == 0
    tag = f"a {'full' if full else 'partial'} block is shared"
    tag = "a full block and a partial one are shared" if prompt > block_size and not full else tag
    tag = "several writes" if does.count("write") > 1 else tag
    return tag if "fork" in does else "a new block" if full else "alone"


def words(acts: Acts, block_size: int) -> str:
    return f"blocks of {block_size}; {in_words(acts)}"


def call(function: Function, acts: Acts, block_size: int) -> Found:
    """Let the student's function do all the writes; what is there after the last one."""
    blocks = range(-(-acts[0][2] // block_size))
    tables, lengths = {0: [*blocks]}, {0: acts[0][2]}
    refs, free = dict.fromkeys(blocks, 1), [*range(len(blocks), 40)]
    for what, who, number in acts[1:]:
        if what == "fork":
            tables[number], lengths[number] = list(tables[who]), lengths[who]
            for block in tables[who]:
                refs[block] += 1
        else:
            copies = function(tables, refs, free, lengths[who], who, block_size)
            lengths[who] += 1
    return found(copies, tables, refs, free)


def found(copies: Any, tables: dict[int, list[int]], refs: dict[int, int], free: Any) -> Found:
    in_use = {block: number for block, number in refs.items() if number}
    return {"copies": copies, "tables": tables, "refs": in_use, "free": list(free)[:4]}


def oracle(acts: Acts, block_size: int, *, record: bool = False) -> tuple[Found, Story]:
    """What the block manager has after the same acts."""
    story, here = Story(gpu_blocks=40, block_size=block_size, record=record), dict[int, Writer]()
    copies = [act_once(act, story, here) for act in acts][-1]
    tables = {number: writer.block_ids for number, writer in here.items()}
    pool = story.manager.block_allocator.allocator_on(Device.GPU)
    return found(copies, tables, pool.ref_counts, pool.free_block_ids), story


def why(yours: Found, right: Found, acts: Acts, block_size: int) -> str:
    who, copies, truth = acts[-1][1], yours["copies"], right["copies"]
    if not isinstance(copies, list) or not all(isinstance(pair, list) for pair in copies):
        return "Return a list of pairs: [(from, to)] for one copy, [] for none."
    if len(copies) < len(truth):
        others = f"s{who} must not write there, but into a copy, block {truth[0][1]}"
        return f"Block {truth[0][0]} has other owners: {others}."
    if len(copies) > len(truth) > 0:
        return "The token goes into the last block, so only the last block is copied."
    if len(copies) > len(truth):
        alone = f"s{who} either is the only owner of its last block or takes a new block"
        return f"{alone}. Either way, there is nothing to copy."
    mine, table = yours["tables"].get(who, []), right["tables"][who]
    if len(mine) < len(table):
        full = f"All blocks of s{who} are full, with {block_size} tokens each"
        return f"{full}. The token needs a new block at the end of the table, block {table[-1]}."
    if len(mine) > len(table):
        room = f"The last block of s{who} has room for the token, so its table stays as long as it"
        return f"{room} was. A block is taken when a token needs it, not before."
    if mine != table:
        last = f"The table of s{who} should now be {table}. The token is in its last block"
        return f"{last}, and a new block is the first of the free list."
    if yours["tables"] != right["tables"]:
        return f"Only the table of s{who} changes. The others keep their blocks."
    if [tuple(pair) for pair in copies] != truth:
        return f"The copy is {truth[0]}, from the shared block into the new one."
    if (mine := yours["refs"]) != (refs := right["refs"]):
        block = min(each for each, _ in mine.items() ^ refs.items())
        owned = f"Block {block} is in {refs.get(block, 0)} of the tables, so its reference count"
        moves = (
            "It rises by one when a table gets the block, and falls by one when a table loses it"
        )
        return f"{owned} must be {refs.get(block, 0)}. {moves}."
    return "Take new blocks from the front of the free list."
