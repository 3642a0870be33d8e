"""# 15.4 The best partition size ★★

How should a ragged batch be cut? All sequences are cut into partitions of the same `size`, and each
partition is one program for each KV head. The GPU runs `places` programs at the same time. Write

```python
def best_size(lengths, kv_heads, places):
    return size
```

`best_size` returns the size of a partition in tokens: a multiple of 16, at least 128, and at most
the length of the longest sequence, rounded up to a multiple of 16. A size is right if its time is
within 2 % of the shortest.

`measure(lengths, kv_heads, places, size)` returns the time. Its unit is the time that a program
needs to read one block. Programs are started in the order sequence, KV head, partition. When all
places are taken, the next program starts as soon as a running one has finished. If a sequence has
several partitions, each of its programs takes 4 units longer, because it has to write a partial
output.

```python
from pagesim.exercises.ch15.best_partition import measure

measure([4096], kv_heads=1, places=8, size=4096)   # one program reads 256 blocks
measure([4096], kv_heads=1, places=8, size=512)    # eight programs read 32 blocks each
```

Think first: what happens to a short sequence if the *number* of partitions is the same for all?

## Hints
1. With too few programs, processors are idle. With too many, every program adds its overhead.
2. The longest sequence takes at least as long as its largest partition. What do the other
   processors do meanwhile?
3. There are only a few sizes. Measure each multiple of 16, and take the one with the shortest time.

## Wrong answers
* never_split (one long sequence): Splitting takes extra time, so it is better not to split.
* as_small_as_possible (one long sequence): The more programs there are, the shorter the time.
* as_vllm (as many sequences as places): 512 tokens suit every batch.
* fill_the_chip_once (one long, seven short): Every sequence gets the same number of partitions,
  just enough to fill the GPU.

## vLLM
* vllm/attention/ops/paged_attn.py: PagedAttention.forward_decode
* vllm/attention/ops/paged_attn.py: _PARTITION_SIZE
"""

from functools import lru_cache
from heapq import heapreplace

from pagesim.exercises.kit import Case, Cases, Goal, Random, Value, counted

PAGE, LEAST, OVERHEAD = 16, 128, 4


def best_size(lengths: list[int], kv_heads: int, places: int) -> int:
    """The partition size, in tokens, with which the batch takes the least time."""
    ### BEGIN SOLUTION
    from pagesim.exercises.ch15.best_partition import measure

    longest = -(-max(lengths) // 16) * 16
    allowed = range(128, max(longest, 128) + 1, 16)
    return min(allowed, key=lambda size: measure(lengths, kv_heads, places, size))
    ### never_split: return allowed[-1]
    ### as_small_as_possible: return 128
    ### as_vllm: return min(512, allowed[-1])
    ### fill_the_chip_once: partitions = max(1, places // (kv_heads * len(lengths)))
    ### fill_the_chip_once: return max(128, -(-max(lengths) // partitions // 16) * 16)
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Batches of one long sequence, of equal ones, and of both."""
    for lengths, kv_heads, places, tag in (
        ([4096], 1, 8, "one long sequence"),
        ([1024] * 16, 4, 16, "as many sequences as places"),
        ([4096] + [256] * 7, 2, 64, "one long, seven short"),
        ([4000, 3000, 2000, 1000], 2, 24, "all different"),
        ([2048] * 8 + [128], 4, 8, "one short, eight long"),
    ):
        others = [16 * (n // 16 * rng.randint(8, 12) // 10) + 7 for n in lengths if hidden]
        yield Case((others or lengths, kv_heads, places), tag=tag)


def measure(lengths: list[int], kv_heads: int, places: int, size: int) -> int:
    """Pages of time until the last program of the batch is done."""
    busy = [0] * places  # a heap
    for length in lengths:
        partitions = -(-length // size)
        handed_over = OVERHEAD if partitions > 1 else 0
        for _ in range(kv_heads):
            for part in range(partitions):
                tokens = min(size, length - part * size)
                heapreplace(busy, busy[0] + -(-tokens // PAGE) + handed_over)
    return max(busy)


@lru_cache(maxsize=64)
def best(lengths: tuple[int, ...], kv_heads: int, places: int) -> tuple[int, int, range]:
    """The least time, a size that takes it, and all sizes that may be chosen."""
    every = range(LEAST, max(-(-max(lengths) // PAGE) * PAGE, LEAST) + 1, PAGE)
    times = ((measure([*lengths], kv_heads, places, size), size) for size in every)
    return *min(times), every


def oracle(lengths: list[int], kv_heads: int, places: int) -> Goal:
    """A size that takes hardly longer than the best."""
    time, *_ = best(tuple(lengths), kv_heads, places)
    return Goal(LEAST, f"a size that takes at most {int(1.02 * time)} units of time")


def why(yours: Value, lengths: list[int], kv_heads: int, places: int) -> str:
    least, size, every = best(tuple(lengths), kv_heads, places)
    if type(yours) is not int or yours not in every:
        return f"A size must be a multiple of {PAGE} from {LEAST} to {every[-1]}."
    time = measure(lengths, kv_heads, places, yours)
    if time <= 1.02 * least:
        return ""
    programs = [kv_heads * sum(-(-length // s) for length in lengths) for s in (yours, size)]
    mine, theirs = (counted(number, "program") for number in programs)
    done = f"Partitions of {yours} tokens make {mine}, and the batch takes {time} units of time"
    return f"{done}. Another size makes {theirs}, and the batch takes {least}."
