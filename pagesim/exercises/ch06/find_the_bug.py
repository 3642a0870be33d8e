"""# 6.6 Find the bug: three evictors ★★★

The evictors `"A"`, `"B"` and `"C"` are broken: each has one fault. Find the fault, and prove it
with prompts for which the cache with the broken evictor does not find the same blocks as vLLM's
cache:

```python
def show_fault(evictor, num_blocks):
    return prompts, cause
```

* `evictor`: one of the three letters;
* `num_blocks`: the number of blocks in the pool, at least 3. Each has 2 tokens;
* `prompts`: at most 5 prompts, each a list of ints that fits into the pool. They arrive one after
  the other, and each leaves before the next one comes;
* `cause`: one of
  * `"heads"`: Of equally old blocks, the one with the shortest prefix is evicted.
  * `"newest"`: The block that was used last is evicted.
  * `"lowest"`: The block with the lowest id is evicted, no matter when it was used.
  * `"partial"`: Blocks that are not full are found as well.
  * `"kept"`: An evicted block is still found by its old content.

To see which blocks of each prompt are found, first by vLLM's cache and then by a broken one:

```python
from pagesim.exercises.ch06.find_the_bug import found

prompts = [[1, 1, 2, 2], [3, 3], [1, 1, 2, 2]]
print(found(prompts, 3), found(prompts, 3, "A"))   # [[], [], [0, 1]] both times
```

The broken classes are in the package. If you read them, you know the cause, but you still need
prompts that show the fault.

## Hints
1. An evictor chooses a block only when no block is free. Its choice shows when a prompt comes back.
2. Fill the pool, demand one more block, and then bring back the prompt that has lost a block.
3. For A, let two blocks be equally old when one of them must go. For B, use an old prompt and a
   recent one. For C, put a prompt into block 0, and use it again before another prompt needs a
   block.

## Wrong answers
* enough_room (A): Any prompt that comes back shows the fault.
* symptom (A): A block that is found behind a missing one was kept by mistake.
* not_asked_again (B): The wrong choice shows at once, even if no prompt comes back.
* used_once (C): The oldest block never has the lowest id.

## vLLM
* vllm/core/evictor.py: LRUEvictor.evict
* vllm/core/block/prefix_caching_block.py:
  PrefixCachingBlockAllocator._maybe_allocate_evicted_block_id
"""

from pagesim.exercises.ch06.faulty import CAUSES, FAULTY
from pagesim.exercises.ch06.prompts import Prompts, fault_of, served
from pagesim.exercises.kit import Case, Cases, Compared, Goal, Random, Timeline, Value, compare


def show_fault(evictor: str, num_blocks: int) -> tuple[list[list[int]], str]:
    """At most five prompts that show the fault of the evictor "A", "B" or "C", and its cause."""
    ### BEGIN SOLUTION
    first = [1, 1]
    filler = list(range(100, 98 + 2 * num_blocks))  # all blocks but one
    ### enough_room: filler = [9, 9]  # all blocks but one
    if evictor == "A":  # one of two equally old blocks must go
        return [[*first, 2, 2], filler, [*first, 2, 2]], "heads"
        ### symptom: return [[*first, 2, 2], filler, [*first, 2, 2]], "kept"
    if evictor == "B":  # the filler was used later than the first prompt
        return [first, filler, [3, 3], first], "newest"
        ### not_asked_again: return [first, filler, [3, 3]], "newest"
    return [first, filler, first, [3, 3], first], "lowest"  # block 0 is used again
    ### used_once: return [first, filler, [3, 3], first], "lowest"  # block 0 is used again
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Each evictor, in pools of several sizes."""
    for letter in FAULTY:
        for num_blocks in (rng.randint(6, 12),) if hidden else (3, 5):
            yield Case((letter, num_blocks), f"evictor {letter}, {num_blocks} blocks", letter)


def oracle(letter: str, num_blocks: int) -> Goal:
    """Any prompts that show the fault, with its cause."""
    shows = f"up to 5 prompts for which {letter} finds other blocks, and the cause"
    return Goal(([[0]], "cause"), shows)


def why(yours: Value, letter: str, num_blocks: int) -> str:
    if not (isinstance(yours, list) and len(yours) == 2 and isinstance(yours[0], list)):
        return "Return a list of prompts and a cause."
    prompts, cause = yours
    if not 1 <= len(prompts) <= 5:
        return f"Return 1 to 5 prompts, not {len(prompts)}."
    if problem := fault_of(prompts, 2 * num_blocks):
        return problem
    vllm, broken = found(prompts, num_blocks), found(prompts, num_blocks, letter)
    if vllm == broken:
        return f"Both caches find {vllm}, so these prompts do not show the fault."
    if cause not in CAUSES:
        return f"The cause must be one of {', '.join(CAUSES)}."
    if cause != FAULTY[letter][1]:
        finds = f"vLLM's cache finds {vllm}, and the one with {letter} finds {broken}"
        return f"{finds}. So the fault shows, but the cause is another one."
    return ""


def found(prompts: Prompts, num_blocks: int, letter: str | None = None) -> list[list[int]]:
    """The places of the blocks that each prompt finds; by vLLM's evictor without a letter."""
    evictor = FAULTY[letter][0]() if letter else None
    return served(prompts, num_blocks, 2, evictor, record=False)[0]


def play(letter: str, num_blocks: int) -> Timeline:
    """The broken evictor at work: two prompts wait, and a third one needs a block."""
    filler = list(range(100, 96 + 2 * num_blocks))
    _, story = served([[1, 1, 2, 2], filler, [3, 3]], num_blocks, 2, FAULTY[letter][0]())
    return story.run.annotate(title=f"Evictor {letter}: two prompts wait, a third one comes")


def replay(yours: tuple[Prompts, str], letter: str, num_blocks: int) -> Compared:
    """The prompts of the answer, with vLLM's evictor and with the broken one."""
    _, vllm = served(yours[0], num_blocks, 2)
    _, broken = served(yours[0], num_blocks, 2, FAULTY[letter][0]())
    return compare(vllm.run, broken.run, ("Your prompts in vLLM", f"with {letter}"))
