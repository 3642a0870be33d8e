"""# 4.4 Copies that run at once ★★

The block manager lists copies that must be made one after the other, because a later copy may read
what an earlier one has written. But a kernel makes all copies of a **launch** at once, in no
particular order. So within one launch, no block may be written twice, and no block may be both read
and written. Launches run one after the other.

Write `in_order(pairs)`. The function takes a list of copies (from, to) and returns a list of
launches. Each launch is a list of copies. When all launches have run, every block must hold what it
would hold if the pairs had been copied one after the other.

Use no more launches than necessary; one is nearly always enough. `in_order([(0, 1), (1, 2)])` is
`[[(0, 1), (0, 2)]]`: block 2 gets directly what block 1 is about to get.
`in_order([(1, 2), (0, 1)])` needs two launches, because the second copy overwrites what the first
one must read.

Your result is right if every block ends with the right content and there are no more launches than
`kernels.copy_blocks` makes.

## Hints
1. For each block that is written, remember where its content comes from. What if a later pair reads
   such a block? What if a later pair writes a block that an earlier pair reads?
2. If the source of a pair was written in this launch, read from the block where that content comes
   from. If the target of a pair must still be read in this launch, begin a new launch.
3. Keep a dict, `launch = {to: from}`. For each pair, let `origin = launch.get(source, source)`. If
   `origin` is `target`, there is nothing to do. If `target` is in `launch.values()`, close the
   launch and begin a new one, in which `origin` is `source` again. Then set
   `launch[target] = origin`.

## Wrong answers
* as_they_are (a copy is copied): A kernel copies in the order of the list.
* last_writer_alone (a copy is copied): Only the last copy into a block counts, and the others can
  be dropped.
* never_a_second_launch (a source is overwritten): If each block gets its content from the right
  place, one launch is enough.
* one_by_one (copies that do not meet): One launch for each copy is as good as fewer launches.

## vLLM
* csrc/cache_kernels.cu: copy_blocks_kernel, which runs all pairs at once
* vllm/worker/cache_engine.py: CacheEngine.copy
* vllm/core/block/common.py: CopyOnWriteTracker.clear_cows
"""

from itertools import chain, pairwise, permutations, product
from typing import Any

from pagesim.errors import UsageError
from pagesim.exercises.kit import Case, Cases, Goal, Random, parted

Pairs = list[tuple[int, int]]
NEEDS_TRITON = True


def in_order(pairs: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Launches, each a list of copies (from, to), that do what the pairs do one after the other.

    Within a launch the copies run in any order, so no block is written twice there, or both read
    and written. Launches run one after the other.
    """
    ### BEGIN SOLUTION
    launches: list[Any] = []
    launch: dict[int, int] = {}  # where each block that is written gets its content
    for source, target in pairs:
        ### as_they_are: return [pairs]
        ### as_they_are: for source, target in pairs:
        ### one_by_one: return [[pair] for pair in pairs]
        ### one_by_one: for source, target in pairs:
        origin = launch.get(source, source)
        if target in launch.values() and origin != target:
            ### never_a_second_launch: if False:
            launches.append([(a, b) for b, a in launch.items()])
            launch, origin = {}, source
        if origin != target:
            launch[target] = origin
    if launch:
        launches.append([(a, b) for b, a in launch.items()])
    return launches
    ### last_writer_alone: return [[(a, b) for b, a in {b: a for a, b in pairs}.items()]]
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Every list of up to four copies over four blocks, numbered as they appear; some longer."""
    for length in range(1, 4 if hidden else 5):
        for pairs in map(list, product(permutations(range(4), 2), repeat=length)):
            met = [*dict.fromkeys(chain(*pairs))]
            if met == [*range(len(met))] and not any(a == b for a, b in pairwise(pairs)):
                yield Case((pairs,), tag=meeting(pairs))
    for _ in range(50):
        blocks, length = (6, 7) if hidden else (5, 6)
        pairs = [(a, b) for a, b in (rng.sample(range(blocks), 2) for _ in range(length))]
        yield Case((pairs,), tag=meeting(pairs))


def meeting(pairs: Pairs) -> str:
    """How two of the copies first meet in a block."""
    for number, (source, target) in enumerate(pairs):
        read, written = ({pair[end] for pair in pairs[:number]} for end in (0, 1))
        if source in written:
            return "a copy is copied"
        if target in read:
            return "a source is overwritten"
        if target in written:
            return "written twice"
    return "copies that do not meet"


def oracle(pairs: Pairs) -> Goal:
    """The same contents, in as many launches or fewer."""
    holds, _, launches = in_turn(pairs)
    return Goal([], f"blocks {holds}, {launches}")


def in_turn(pairs: Pairs) -> tuple[list[int], int, str]:
    """What each block holds after one pair after the other; the launches of `copy_blocks`."""
    from pagesim.kernels.block_copy import batches

    holds, most = list(range(1 + max(map(max, pairs)))), len(batches(pairs))
    for source, target in pairs:
        holds[target] = holds[source]
    return holds, most, "1 launch" if most == 1 else f"{most} launches"


def why(yours: list[Pairs], pairs: Pairs) -> str:
    right, most, launches = in_turn(pairs)
    holds = list(range(len(right)))
    if not all(0 <= block < len(holds) for launch in yours for pair in launch for block in pair):
        raise UsageError(f"there are blocks 0 to {len(holds) - 1}, not those of {yours!r:.200}")
    for number, launch in enumerate(yours):
        read, written = {a for a, _ in launch}, [b for _, b in launch]
        clashes = [f"reads and writes block {block}" for block in sorted(read & {*written})]
        clashes += [f"writes block {block} twice" for block in written if written.count(block) > 1]
        if clashes:
            rule = "The copies of a launch run in any order"
            return f"{rule}. If launch {number} {clashes[0]}, the result is a matter of chance."
        for source, target in launch:
            holds[target] = holds[source]
    if holds != right:
        block = parted(holds, right)
        leave = f"After all pairs, block {block} must hold what was in block {right[block]}"
        return f"{leave}. After your launches, it holds what was in block {holds[block]}."
    if len(yours) <= most:
        return ""
    overwrites = "begin a new one only when a copy overwrites what an earlier copy must read"
    return f"{launches} {'is' if most == 1 else 'are'} enough: {overwrites}."
