"""The gallery's scene, played with the simulator."""

from pagesim.story import Story
from pagesim.v0.block_manager import SelfAttnBlockSpaceManager

NAMES = {0: "A", 1: "B", 2: "C"}


def forked_and_swapped() -> SelfAttnBlockSpaceManager:
    """Three sequences: B was forked from A and both went on writing, C was swapped to the CPU.

    A fourth came first and has left: its blocks are at the front of the free list.
    """
    story = Story(gpu_blocks=12, cpu_blocks=8, block_size=4)
    gone = story.arrive(range(90, 96), 9)
    one = story.arrive(range(10, 19), 0)
    away = story.arrive(range(40, 47), 2)
    gone.leave()
    other = one.fork(1)
    other.write([29])  # the shared last block is copied: the first writer gets a new one
    one.write([19])
    away.swap_out()
    manager = story.manager
    assert isinstance(manager, SelfAttnBlockSpaceManager)
    return manager
