"""# q06 Sharing does not survive a swap

V0 · swapping

A sequence and its fork that share two blocks on the GPU need four blocks on the CPU.

## Expected
Two blocks leave the GPU, so two blocks are taken on the CPU, and both sequences share them there.

## What happens
The pairs of GPU and CPU blocks name the GPU's block 0 twice: it is copied to the CPU once for `a`,
and once for the fork. The same is true of block 1. When both return, they need four blocks on the
GPU as well. With prefix caching they need three on the CPU: the full block is found by its content,
and only the partly filled one exists twice.

## Why
One table is swapped after the other, and each entry gets a new block. Nothing remembers that
another table named the same block. Prefix caching does, by its hashes.

## What to do
Count every fork in full when you choose `swap_space`. Requests of one sequence are not affected,
and since 0.6.4 the engine makes no others.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Story


def scenario() -> Scene:
    pairs = {}
    for caching in (True, False):
        story = Story(cpu_blocks=8, caching=caching)
        a = story.arrive(range(6), "a")
        a.fork("fork")
        pairs["with caching" if caching else "without"] = a.swap_out()
    taken = {name: len({cpu for _, cpu in moved}) for name, moved in pairs.items()}
    return Scene(story.run, pairs_without_caching=pairs["without"], cpu_blocks=taken)


ANSWER = {
    "pairs_without_caching": [(0, 0), (1, 1), (0, 2), (1, 3)],
    "cpu_blocks": {"with caching": 3, "without": 4},
}
