"""Managers and tables in the situations that a timeline is to tell of."""

from collections.abc import Iterable
from typing import Any

import pagesim
from pagesim import Device
from pagesim.journal.effects import Name
from pagesim.timeline import Effect, Event, Timeline


def new_story(num_gpu: int = 8, num_cpu: int = 8, **options: Any) -> pagesim.Story:
    """A story with blocks of 4 slots, which is not recorded yet."""
    return pagesim.Story(num_gpu, num_cpu, record=False, **options)


def told(*prompts: str | Iterable[int], leave: bool = False, **options: Any) -> Timeline:
    """A recorded story in which these prompts arrive; with ``leave`` each goes before the next."""
    story = pagesim.Story(**{"gpu_blocks": 8, "block_size": 4} | options)
    for prompt in prompts:
        writer = story.arrive(prompt)
        if leave:
            writer.leave()
    return story.run


def new_group(*seq_ids: int, tokens: Iterable[int]) -> pagesim.SequenceGroup:
    """A waiting group of sequences with the same prompt."""
    seqs = [pagesim.Sequence(seq_id, list(tokens), 4) for seq_id in seq_ids]
    return pagesim.SequenceGroup(str(seq_ids[0]), seqs)


def new_table(kind: str = "naive", num_gpu: int = 8, num_cpu: int = 8) -> pagesim.BlockTable:
    """An empty table on an allocator of its own."""
    allocator = pagesim.CpuGpuBlockAllocator.create(kind, num_gpu, num_cpu, 4)
    return pagesim.BlockTable(4, allocator)


def interrupted(*_: object) -> None:
    """What a method becomes in which Ctrl-C is pressed."""
    raise KeyboardInterrupt


def take_until(manager: pagesim.SelfAttnBlockSpaceManager, left: int) -> None:
    """Leave so many free blocks on the GPU."""
    allocator = manager.block_allocator
    while allocator.get_num_free_blocks(Device.GPU) > left:
        allocator.allocate_mutable_block(None, Device.GPU)


def in_queues(
    waiting: Iterable[Name] = (), running: Iterable[Name] = (), swapped: Iterable[Name] = ()
) -> dict[str, tuple[Name, ...]]:
    """The queues of a state."""
    return {"waiting": tuple(waiting), "running": tuple(running), "swapped": tuple(swapped)}


def words(event: Event) -> list[tuple[object, ...]]:
    """The effects of an event as short tuples: what matters to each kind."""
    short: list[tuple[object, ...]] = []
    for effect in event.effects:
        more: tuple[object, ...] = ()
        if effect.kind in ("write", "hit"):
            more = effect.table, *_tokens(event, effect)
        elif effect.kind == "copy":
            more = effect.to, effect.owners
        elif effect.kind in ("move",):
            more = (effect.to,)
        elif effect.kind == "null":
            more = effect.table, effect.index
        short.append((effect.kind, effect.block, *more))
    return short


def _tokens(event: Event, effect: Effect) -> tuple[int, ...]:
    """The tokens that are written, or found, by an effect."""
    first = effect.first or 0
    known = {
        given.first + k: token
        for given in event.tokens
        if given.table == effect.table
        for k, token in enumerate(given.token_ids)
    }
    return tuple(known[k] for k in range(first, first + effect.count) if k in known)
