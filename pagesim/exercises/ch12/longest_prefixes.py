"""# 12.3 What a router knows ★★

A router sends a request to the engine that has most of its prefix. It cannot look into the engines.
But it hears their **KV events**, and from these it keeps an index of its own. Write

```python
def longest_prefixes(num_engines, events, hashes):
    return found
```

* `num_engines`: the engines are called 0, 1, 2 and so on.
* `events`: what the router has heard, as pairs `(engine, event)`, in order. An event is a dict.
* `hashes`: the hashes of the request's blocks, from the first to the last.
* `found`: for each engine, how many blocks at the beginning of the request it has. A block counts
  if a copy is on the GPU or in the second tier on the CPU.

There are three types of events. (A real event has a few more entries.)

* `{"type": "BlockStored", "medium": "GPU", "block_hashes": [11, 12], "token_ids": [5, 7, 5, 6]}`:
  each of these blocks has one **more** copy on this medium. An event of the medium `"CPU"` has no
  tokens, because the tier knows only hashes. An event may also have tokens but no hash: these
  tokens are in blocks that are not cached.
* `{"type": "BlockRemoved", "medium": "GPU", "block_hashes": [12]}`: each of these blocks has one
  copy **less** on this medium. The same content may still be in another block.
* `{"type": "AllBlocksCleared"}`: all copies on the GPU are gone. Those on the CPU stay.

The router may have started after the engines. So it may hear that a block is removed although it
never heard that the block was stored. It ignores this.

Example: engine 0 stores the blocks 11 and 12 on the GPU, then 11 on the CPU, and then its GPU is
cleared. Engine 1 stores the block 12 on the GPU. With `hashes = [11, 12]`, the result is `[1, 0]`:
engine 1 lacks the first block.

## Hints
1. What must the index remember of a block, so that it still knows the block after one of two copies
   was removed?
2. Keep a dict for each pair `(engine, medium)`: how many copies of each hash are there? Which of
   these dicts does `AllBlocksCleared` change?
3. For a removed hash, subtract 1 only if the count is above 0. In the end, count the blocks from
   the first one on, and stop at the first block whose counts are 0 on both media.

## Wrong answers
* a_set (two copies): A block that is removed is not there any more.
* one_medium (on both media): A block is removed from the engine, wherever it was.
* cleared_everywhere (cleared): After AllBlocksCleared, an engine has nothing.
* nothing_is_cleared (cleared): Every block that goes is announced by BlockRemoved.
* needs_tokens (on the CPU alone): An event without tokens stores nothing.
* all_that_is_there (a hole): Every block that an engine has spares it some work.
* below_zero (removed before it was stored): A count may fall below 0.
* one_engine (two engines): All events belong to one index.

## vLLM 0.33.0
* vllm/distributed/kv_events.py: BlockStored, BlockRemoved, AllBlocksCleared
* vllm/v1/core/block_pool.py: BlockPool._maybe_evict_cached_block, which removes one of many copies
"""

from typing import Any

from pagesim.exercises.kit import Case, Cases, Random, counted, parted
from pagesim.files.jsonl import JsonObject
from pagesim.v1.kv_event_index import RouterIndex
from pagesim.v1.kv_events import AllBlocksCleared, BlockRemoved, BlockStored, KVCacheEvent

Event = tuple[int, JsonObject]
BLOCK = 2


def longest_prefixes(
    num_engines: int, events: list[tuple[int, dict[str, Any]]], hashes: list[int]
) -> list[int]:
    """For each engine, how many of these blocks it has, from the first one on."""
    ### BEGIN SOLUTION
    engines = range(num_engines)
    copies: Any = {(engine, medium): {} for engine in engines for medium in ("GPU", "CPU")}
    for engine, event in events:
        ### one_engine: for _, event in events:
        ### one_engine:     engine = 0
        if event["type"] == "AllBlocksCleared":
            copies[engine, "GPU"].clear()
            ### nothing_is_cleared:
            ### cleared_everywhere: copies[engine, "GPU"].clear()
            ### cleared_everywhere: copies[engine, "CPU"].clear()
            continue
        counts = copies[engine, event["medium"]]
        ### one_medium: counts = copies[engine, "GPU"]
        for each in event["block_hashes"]:
            if event["type"] == "BlockStored":
                ### needs_tokens: if event["type"] == "BlockStored" and event["token_ids"]:
                counts[each] = counts.get(each, 0) + 1
                ### a_set: counts[each] = 1
            elif counts.get(each):
                ### below_zero: else:
                ### needs_tokens: elif event["type"] == "BlockRemoved" and counts.get(each):
                counts[each] -= 1
                ### below_zero: counts[each] = counts.get(each, 0) - 1
    found = []
    for engine in engines:
        ### one_engine: for engine in [0] * num_engines:
        length = 0
        for each in hashes:
            if copies[engine, "GPU"].get(each, 0) + copies[engine, "CPU"].get(each, 0) <= 0:
                break
                ### all_that_is_there: continue
            length += 1
        found.append(length)
    return found
    ### END SOLUTION


SHOWN = (
    ("0+G1", 1, "1", "one block"),
    ("0+G12 0-G1", 1, "12", "a hole"),
    ("0+G1 0+G1 0-G1", 1, "1", "two copies"),
    ("0+G1 0+G1 0-G1 0-G1", 1, "1", "both copies are gone"),
    ("0+C1", 1, "1", "on the CPU alone"),
    ("0+G 0-G1", 1, "1", "no hash"),
    ("0-G1 0+G1", 1, "1", "removed before it was stored"),
    ("0+G1 0+C1 0-G1", 1, "1", "on both media"),
    ("0+G1 0-C1", 1, "1", "on both media"),
    ("0+G12 0+C1 0!", 1, "12", "cleared"),
    ("1+G1", 2, "1", "two engines"),
    ("0+G12 0+C1 0! 1+G2", 2, "12", "two engines"),
)
"""Engine, sign, medium and blocks of each event, the number of engines, and what is asked for."""
MEDIA = {"G": "GPU", "C": "CPU"}


def cases(rng: Random, hidden: bool) -> Cases:
    """A few events of each kind, then many."""
    base, many = 30 if hidden else 10, [*SHOWN]
    for _ in range(40):
        num_engines, told = rng.randint(1, 3), list[str]()
        for _ in range(rng.randint(5, 20)):
            engine, first = rng.randrange(num_engines), rng.randrange(4)
            act = rng.choice(("+G", "+G", "+G", "+C", "-G", "-C"))
            blocks = "123456"[first : first + rng.randint(1, 3)]
            told.append(f"{engine}!" if rng.random() < 0.04 else f"{engine}{act}{blocks}")
        many.append((" ".join(told), num_engines, "12345", "many"))
    for words, num_engines, asked, tag in many:
        events = [heard(word, base) for word in words.split()]
        yield Case((num_engines, events, [base + int(block) for block in asked]), tag=tag)


def heard(word: str, base: int) -> Event:
    engine, hashes = int(word[0]), [base + int(block) for block in word[3:]]
    if word[1] == "!":
        return engine, {"type": "AllBlocksCleared"}
    told = {"medium": MEDIA[word[2]], "block_hashes": hashes}
    if word[1] == "-":
        return engine, {"type": "BlockRemoved", **told}
    tokens = [7] * BLOCK * max(len(hashes), 1) if word[2] == "G" else []
    return engine, {"type": "BlockStored", **told, "token_ids": tokens}


def words(num_engines: int, events: list[Event], hashes: list[int]) -> str:
    told = "; ".join(f"engine {engine} {said(event)}" for engine, event in events)
    return f"{counted(num_engines, 'engine')}: {told}. The request: {listed(hashes)}"


def said(event: JsonObject) -> str:
    if event["type"] == "AllBlocksCleared":
        return "clears the GPU"
    acts = ("stores", "on") if event["type"] == "BlockStored" else ("removes", "from")
    return f"{acts[0]} {listed(event['block_hashes'])} {acts[1]} the {event['medium']}"


def listed(hashes: list[int]) -> str:
    return ", ".join(map(str, hashes)) or "no hash"


def oracle(num_engines: int, events: list[Event], hashes: list[int]) -> list[int]:
    """What the index of each engine finds, on both media."""
    found = []
    for engine in range(num_engines):
        index = RouterIndex()
        index.apply([BlockStored([], None, [], BLOCK)])  # so it knows how large a block is
        index.apply(real(event) for of, event in events if of == engine)
        found.append(index.longest_prefix(hashes, BLOCK, MEDIA.values()) // BLOCK)
    return found


def real(event: JsonObject) -> KVCacheEvent:
    hashes, medium = event.get("block_hashes", []), event.get("medium")
    if event["type"] == "BlockStored":
        size = BLOCK if event["token_ids"] else 0
        return BlockStored(hashes, None, event["token_ids"], size, medium=medium)
    return BlockRemoved(hashes, medium) if hashes else AllBlocksCleared()


def why(yours: list[int], right: list[int], events: list[Event], hashes: list[int]) -> str:
    engine = parted(yours, right)
    place = min(yours[engine], right[engine])
    if not 0 <= place < len(hashes):
        return f"A prefix of {counted(len(hashes), 'block')} has 0 to {len(hashes)} of them."
    history = [
        said({**event, "block_hashes": [hashes[place]]})
        for of, event in events
        if of == engine and hashes[place] in event.get("block_hashes", hashes)
    ]
    tells = (
        f"Of block {hashes[place]}, engine {engine} tells: {', then '.join(history) or 'nothing'}"
    )
    has = "no copy" if yours[engine] > right[engine] else "a copy"
    return f"{tells}. So it has {has} of this block in the end."
