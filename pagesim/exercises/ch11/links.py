"""11.1: the queue of free blocks, linked through the blocks themselves."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.source import variant
from pagesim.v1 import FreeKVCacheBlockQueue, KVCacheBlock

STATEMENT = """
V1's free blocks stand in a queue, and a hit takes a block out of its middle. A Python list would
have to search for it and to shift the rest; V1 links the blocks instead. Write

```python
def relink(after, before, op, block):
    return block
```

which does one operation on such a queue, each without a loop:

* `"popleft"`: take the first block, and return it; `block` is None, and the queue is not empty;
* `"remove"`: take `block` from where it stands;
* `"append"`: put `block` behind the last one;
* `"prepend"`: put `block` before the first one.

`after[b]` is the block behind block `b`, and `before[b]` the one in front of it; both are None for
a block that is not in the queue. The last entry of both lists is not a block but the **sentinel**,
with the number `end = len(after) - 1`: it stands behind the last block and before the first one, so
every block in the queue has two neighbours. In an empty queue the sentinel's neighbours are itself.

Example: the queue 0, 1, 2 is `after = [1, 2, 3, 0]` and `before = [3, 0, 1, 2]`. After
`relink(after, before, "remove", 1)` they are `[2, None, 3, 0]` and `[3, None, 0, 2]`. The function
changes the lists and returns the block that it has moved.
"""


def relink(after: list[Any], before: list[Any], op: str, block: Any) -> Any:
    """Change the links of a queue by "popleft", "remove", "append" or "prepend"; no loop."""
    ### BEGIN SOLUTION
    end = len(after) - 1
    if op == "popleft":
        block = after[end]
    if op in ("popleft", "remove"):
        left, right = before[block], after[block]
        after[left], before[right] = right, left
        after[block] = before[block] = None
        return block
    left = before[end] if op == "append" else end
    right = after[left]
    after[left] = before[right] = block
    before[block], after[block] = left, right
    return block
    ### END SOLUTION


Op = tuple[str, int | None]


FEW = 40
"""Entries of the links that one operation may read or write: those of a few neighbours."""


class _Counted(list[Any]):
    """A list that counts the entries which its methods read or write."""

    used = 0


def _counted(name: str) -> Callable[..., Any]:
    plain = getattr(list, name)

    def method(self: _Counted, *args: Any) -> Any:
        place = args[0] if name in ("__getitem__", "__setitem__") else slice(None)
        piece = place.indices(len(self)) if isinstance(place, slice) else (1,)
        self.used += len(range(*piece))
        return plain(self, *args)

    return method


_METHODS = (
    "__getitem__ __setitem__ __delitem__ __iter__ __reversed__ __contains__ __add__ __iadd__ "
    "append clear copy count extend index insert pop remove reverse sort"
)
for _name in _METHODS.split():
    setattr(_Counted, _name, _counted(_name))


def call(relink: Callable[..., Any], case: Case) -> Any:
    """All operations, one after the other: what each returned, and the links at the end."""
    num_blocks, ops = case.args
    end = num_blocks
    after, before = _Counted([*range(1, end + 1), 0]), _Counted([end, *range(end)])
    answers, most = [], 0
    for op, block in ops:
        after.used = before.used = 0
        answers.append(relink(after, before, op, block))
        most = max(most, after.used + before.used)
    links = {"after": after.copy(), "before": before.copy()}
    return copy.deepcopy({"loop": most > FEW, "answers": answers, **links})


def expected(num_blocks: int, ops: Sequence[Op]) -> Any:
    """The neighbours of V1's blocks after the same operations."""
    blocks = [KVCacheBlock(number) for number in range(num_blocks)]
    queue = FreeKVCacheBlockQueue(blocks)
    answers = []
    for op, number in ops:
        block = queue.popleft() if number is None else blocks[number]
        if op == "remove":
            queue.remove(block)
        elif op == "append":
            queue.append(block)
        elif op == "prepend":
            queue.prepend_n([block])
        answers.append(block.block_id)
    head, tail = queue.fake_free_list_head, queue.fake_free_list_tail
    return {
        "loop": False,
        "answers": answers,
        "after": [_number(b.next_free_block, num_blocks) for b in [*blocks, head]],
        "before": [_number(b.prev_free_block, num_blocks) for b in [*blocks, tail]],
    }


def _number(block: KVCacheBlock | None, end: int) -> int | None:
    if block is None:
        return None
    return end if block.block_id < 0 else block.block_id


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """Every operation on a short queue, then random ones."""
    num_blocks = 4 if hidden else 3
    last, middle = num_blocks - 1, 1
    shown: list[tuple[list[Op], str]] = [
        ([("popleft", None)], "the first one goes"),
        ([("remove", middle)], "one from the middle"),
        ([("remove", last)], "the last one goes"),
        ([("popleft", None), ("append", 0)], "one comes back behind"),
        ([("popleft", None), ("prepend", 0)], "one comes back in front"),
        ([("remove", middle), ("prepend", middle)], "one comes back in front"),
        ([("popleft", None)] * num_blocks, "the queue is empty"),
        ([("popleft", None)] * num_blocks + [("append", 0), ("append", 1)], "after it was empty"),
        ([("popleft", None)] * num_blocks + [("prepend", 0), ("prepend", 1)], "after it was empty"),
    ]
    for ops, tag in shown:
        yield _case(num_blocks, ops, tag)
    many = 90 if hidden else 80
    there_and_back: list[Op] = [("remove", many // 2), ("append", many // 2)]
    there_and_back += [("popleft", None), ("prepend", 0), ("remove", 7), ("remove", many - 7)]
    for _ in range(40):
        yield _case(8, _some(rng, 8), "many")
    yield _case(many, there_and_back, "a long queue")


def _some(rng: random.Random, num_blocks: int) -> list[Op]:
    queue, out, ops = list(range(num_blocks)), list[int](), list[Op]()
    for _ in range(20):
        op = rng.choice(
            ("popleft", "remove")
            if queue and (not out or rng.random() < 0.5)
            else ("append", "prepend")
        )
        if op in ("popleft", "remove"):
            block = queue.pop(0 if op == "popleft" else rng.randrange(len(queue)))
            out.append(block)
            ops.append((op, None if op == "popleft" else block))
        else:
            block = out.pop(rng.randrange(len(out)))
            queue.insert(len(queue) if op == "append" else 0, block)
            ops.append((op, block))
    return ops


def _case(num_blocks: int, ops: list[Op], tag: str) -> Case:
    words = [op if block is None else f"{op} {block}" for op, block in ops]
    return Case((num_blocks, ops), f"{num_blocks} blocks; {', '.join(words)}", tag)


def _walk(links: Sequence[int | None]) -> list[int | None]:
    """The queue along one direction, as far as it goes."""
    end, found = len(links) - 1, list[int | None]()
    place = links[end]
    while place is not None and place != end and len(found) < len(links):
        found.append(place)
        place = links[place]
    return found


def why(case: Case, yours: Any, right: Any) -> str:
    """Whether the order is wrong, or one of the two directions."""
    if yours["answers"] != right["answers"]:
        return f"Each call returns the block that it has moved: {right['answers']}."
    for name, told in (("after", "front to back"), ("before", "back to front")):
        mine, theirs = _walk(yours[name]), _walk(right[name])
        if mine != theirs:
            return f"Along `{name}`, {told}, the queue is {theirs}, and yours {mine}."
    if yours["loop"] and not right["loop"]:
        return (
            f"The links are right, but one operation looks at more than {FEW} entries of `after` "
            f"and `before`: in a queue of {case.args[0]} blocks that is a loop. It needs only the "
            f"block and its neighbours."
        )
    return "A block that is not in the queue has None on both sides."


_TAKE = "after[left], before[right] = right, left"

EXERCISE = Exercise(
    number="11.1",
    title="The linked queue",
    stars=2,
    statement=STATEMENT,
    reference=relink,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "one_direction": Wrong(
            variant(relink, _TAKE, "after[left] = right"),
            "Only the block in front of it must know what follows.",
            "the first one goes",
        ),
        "keeps_its_links": Wrong(
            variant(relink, "        after[block] = before[block] = None\n", ""),
            "What is not in the queue may remember where it stood.",
            "the first one goes",
        ),
        "looks_for_its_neighbour": Wrong(
            variant(
                relink,
                "left, right = before[block], after[block]",
                "left, right = after.index(block), after[block]",
            ),
            "As long as the links are right in the end, it is a linked queue.",
            "a long queue",
        ),
        "prepends_at_the_back": Wrong(
            variant(relink, 'before[end] if op == "append" else end', "before[end]"),
            "A queue is filled from its end.",
            "one comes back in front",
        ),
        "append_forgets_the_sentinel": Wrong(
            variant(relink, "after[left] = before[right] = block", "after[left] = block"),
            "The last block of the queue has nothing behind it that would have to know.",
            "one comes back behind",
        ),
    },
    hints=(
        "Draw the queue 0, 1, 2 as a ring with the sentinel in it. Which links change?",
        "Taking a block out links its neighbours to each other. Putting one in sets it between a "
        "left and a right neighbour; for append, left is before[end].",
        "Out: after[left], before[right] = right, left. In: after[left] = before[right] = block, "
        "and before[block], after[block] = left, right.",
    ),
    vllm=(
        "vllm/v1/core/kv_cache_utils.py: FreeKVCacheBlockQueue.popleft, remove, append, prepend_n",
    ),
    release="0.33.0",
    call=call,
)
