"""# 9.2 The linked queue ★★

V1's free blocks are in a queue, and a hit takes a block out of its middle. A Python list would have
to search for this block and then shift all blocks after it. Instead, V1 links the blocks. Write

```python
def relink(after, before, op, block):
    return block
```

`relink` performs one operation on such a queue, without a loop. `op` says which:

* `"popleft"`: take out the first block and return it. `block` is None, and the queue is not empty;
* `"remove"`: take out `block`, wherever it is;
* `"append"`: put `block` behind the last block;
* `"prepend"`: put `block` in front of the first block.

`after[b]` is the block behind block `b`, and `before[b]` is the block in front of it. For a block
that is not in the queue, `after[b]` and `before[b]` are None. The last entry of each list does not
belong to a block but to the **sentinel**, whose number is `end = len(after) - 1`. The sentinel is
behind the last block and in front of the first, so every block in the queue has two neighbours. In
an empty queue, the sentinel is its own neighbour on either side.

Example: the queue 0, 1, 2 is `after = [1, 2, 3, 0]` and `before = [3, 0, 1, 2]`. After
`relink(after, before, "remove", 1)` the lists are `[2, None, 3, 0]` and `[3, None, 0, 2]`. The
function changes the lists, and it returns the block that it took out or put in.

## Hints
1. Draw the queue 0, 1, 2 as a ring that includes the sentinel. Which links change?
2. To take a block out, link its neighbours to each other. To put a block in, link it to a left and
   a right neighbour. For append, the left neighbour is `before[end]`; for prepend, it is `end`.
3. To take a block out: `after[left], before[right] = right, left`. To put a block in:
   `after[left] = before[right] = block`, and `before[block], after[block] = left, right`.

## Wrong answers
* one_direction (the first one goes): Only the block in front must know which block follows.
* keeps_its_links (the first one goes): A block that has left the queue may remember its old
  neighbours.
* looks_for_its_neighbour (a long queue): If the links are right in the end, a search for a
  neighbour does no harm.
* prepends_at_the_back (one comes back in front): A block that comes back always goes to the end of
  the queue.
* append_forgets_the_sentinel (one comes back behind): The last block of the queue has nothing
  behind it, so there is nothing to link.

## vLLM 0.33.0
* vllm/v1/core/kv_cache_utils.py: FreeKVCacheBlockQueue.popleft, remove, append, prepend_n
"""

import copy
from collections.abc import Sequence
from typing import Any

from pagesim.exercises.case import Function
from pagesim.exercises.kit import Case, Cases, Random
from pagesim.files.jsonl import JsonObject
from pagesim.v1 import FreeKVCacheBlockQueue, KVCacheBlock

Link = int | None
Op = tuple[str, Link]
Found = JsonObject
METHODS = (
    "__getitem__ __setitem__ __delitem__ __iter__ __reversed__ __contains__ __add__ __iadd__ "
    "append clear copy count extend index insert pop remove reverse sort"
)
FEW = 40
"""Entries of the links that one operation may read or write: those of a few neighbours."""


def relink(after: list[Any], before: list[Any], op: str, block: Any) -> Any:
    """Change the links of a queue by "popleft", "remove", "append" or "prepend"; no loop."""
    ### BEGIN SOLUTION
    end = len(after) - 1
    if op == "popleft":
        block = after[end]
    if op in ("popleft", "remove"):
        left, right = before[block], after[block]
        ### looks_for_its_neighbour: left, right = after.index(block), after[block]
        after[left], before[right] = right, left
        ### one_direction: after[left] = right
        after[block] = before[block] = None
        ### keeps_its_links:
        return block
    left = before[end] if op == "append" else end
    ### prepends_at_the_back: left = before[end]
    right = after[left]
    after[left] = before[right] = block
    ### append_forgets_the_sentinel: after[left] = block
    before[block], after[block] = left, right
    return block
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Every operation on a short queue, then random ones, then a long queue."""
    num_blocks, middle = 4 if hidden else 3, 1
    first: list[Op] = [("popleft", None)]
    shown: list[tuple[list[Op], str]] = [
        (first, "the first one goes"),
        ([("remove", middle)], "one from the middle"),
        ([("remove", num_blocks - 1)], "the last one goes"),
        ([*first, ("append", 0)], "one comes back behind"),
        ([*first, ("prepend", 0)], "one comes back in front"),
        ([("remove", middle), ("prepend", middle)], "one comes back in front"),
        (first * num_blocks, "the queue is empty"),
        ([*first * num_blocks, ("append", 0), ("append", 1)], "after it was empty"),
        ([*first * num_blocks, ("prepend", 0), ("prepend", 1)], "after it was empty"),
    ]
    for ops, tag in shown:
        yield Case((num_blocks, ops), tag=tag)
    for _ in range(40):
        yield Case((8, some(rng, 8)), tag="many")
    many = 90 if hidden else 80
    there_and_back: list[Op] = [("remove", many // 2), ("append", many // 2), *first]
    there_and_back += [("prepend", 0), ("remove", 7), ("remove", many - 7)]
    yield Case((many, there_and_back), tag="a long queue")


def some(rng: Random, num_blocks: int) -> list[Op]:
    queue, out, ops = list(range(num_blocks)), list[int](), list[Op]()
    for _ in range(20):
        if queue and (not out or rng.random() < 0.5):
            op = rng.choice(("popleft", "remove"))
            out.append(queue.pop(0 if op == "popleft" else rng.randrange(len(queue))))
            ops.append((op, None if op == "popleft" else out[-1]))
        else:
            op = rng.choice(("append", "prepend"))
            block = out.pop(rng.randrange(len(out)))
            queue.insert(len(queue) if op == "append" else 0, block)
            ops.append((op, block))
    return ops


def words(num_blocks: int, ops: list[Op]) -> str:
    done = (op if block is None else f"{op} {block}" for op, block in ops)
    return f"{num_blocks} blocks; {', '.join(done)}"


def counted(name: str) -> Function:
    plain = getattr(list, name)

    def method(self: Any, *args: Any) -> Any:
        place = args[0] if name in ("__getitem__", "__setitem__") else slice(None)
        piece = place.indices(len(self)) if isinstance(place, slice) else (1,)
        self.used += len(range(*piece))
        return plain(self, *args)

    return method


Counted: Any = type("Counted", (list,), {name: counted(name) for name in METHODS.split()})
Counted.used = 0
"""A list whose ``used`` counts the entries which its methods read or write."""


def call(relink: Function, num_blocks: int, ops: list[Op]) -> Found:
    """All operations, one after the other: what each returned, and the links at the end."""
    after = Counted([*range(1, num_blocks + 1), 0])
    before = Counted([num_blocks, *range(num_blocks)])
    answers, most = [], 0
    for op, block in ops:
        after.used = before.used = 0
        answers.append(relink(after, before, op, block))
        most = max(most, after.used + before.used)
    links = {"after": [*after], "before": [*before]}
    return copy.deepcopy({"loop": most > FEW, "answers": answers, **links})


def oracle(num_blocks: int, ops: list[Op]) -> Found:
    """The neighbours of V1's blocks after the same operations."""
    blocks = [KVCacheBlock(number) for number in range(num_blocks)]
    queue, answers = FreeKVCacheBlockQueue(blocks), []
    for op, number in ops:
        block = queue.popleft() if number is None else blocks[number]
        if op == "prepend":
            queue.prepend_n([block])
        elif op != "popleft":
            getattr(queue, op)(block)
        answers.append(block.block_id)

    def link(block: KVCacheBlock | None) -> Link:
        return None if block is None else num_blocks if block.block_id < 0 else block.block_id

    after = [link(block.next_free_block) for block in [*blocks, queue.fake_free_list_head]]
    before = [link(block.prev_free_block) for block in [*blocks, queue.fake_free_list_tail]]
    return {"loop": False, "answers": answers, "after": after, "before": before}


def why(yours: Found, right: Found, num_blocks: int) -> str:
    if yours["answers"] != right["answers"]:
        return f"Each call must return the block that it takes out or puts in: {right['answers']}."
    for name, direction in (("after", "front to back"), ("before", "back to front")):
        mine, theirs = walk(yours[name]), walk(right[name])
        if mine != theirs:
            return f"Along `{name}`, {direction}, the queue should be {theirs}. Yours is {mine}."
    if yours["loop"]:
        many = f"one operation uses more than {FEW} entries of `after` and `before`"
        loop = f"With {num_blocks} blocks, that is a loop"
        return f"The links are right, but {many}. {loop}: use only the block and its neighbours."
    return "A block that is not in the queue must have None in `after` and in `before`."


def walk(links: Sequence[Link]) -> list[Link]:
    """The queue along one direction, as far as it goes."""
    end, found = len(links) - 1, list[Link]()
    place = links[end]
    while place is not None and place != end and len(found) < len(links):
        found.append(place)
        place = links[place]
    return found
