"""Small scenes, played with the real simulator, for the gallery."""

import pagesim

NAMES = {0: "A", 1: "B", 2: "C"}


def forked_and_swapped() -> pagesim.SelfAttnBlockSpaceManager:
    """Three sequences: B was forked from A and both went on writing, C was swapped to the CPU.

    A fourth has come and gone before, which left its blocks at the front of the free list.
    """
    story = pagesim.Story(gpu_blocks=12, cpu_blocks=8, block_size=4)
    gone = story.arrive(range(90, 96), 9)
    one = story.arrive(range(10, 19), 0)
    away = story.arrive(range(40, 47), 2)
    gone.leave()
    other = one.fork(1)
    other.write([29])  # the shared last block is copied: the first writer moves away
    one.write([19])
    away.swap_out()
    return story.manager
