"""Captions of contiguous memory: they name the slots that an event concerns, and no block."""

import re

import pytest

from pagesim.simulation.rows import record_max
from pagesim.timeline import Effect, Event
from pagesim.timeline.captions_rows import slots
from pagesim.workload import Request


def touched(event: Event, size: int) -> set[int]:
    """Every slot that an event takes, writes or frees, from the effects alone."""
    found = set()
    for effect in event.effects:
        for offset in range(size):
            if effect.kind != "write" or 0 <= offset - (effect.first or 0) % size < effect.count:
                found.add(effect.block * size + offset)
    return found


@pytest.mark.parametrize("unit", [1, 4])
def test_slots_are_named_and_no_blocks(unit: int) -> None:
    requests = [Request(f"r{i}", 0.0, 6 + i, 5 + 2 * i) for i in range(5)]
    run = record_max(requests, pool=80, max_model_len=20, unit=unit).timeline
    kinds = set()
    assert run is not None
    for event in run:
        assert "block" not in event.caption, event.caption
        if not event.effects:
            continue
        kinds.add(event.kind)
        (named,) = re.findall(r"slots? (\d+)(?: to (\d+))?", event.caption)
        first, last = int(named[0]), int(named[1] or named[0])
        assert {*range(first, last + 1)} == touched(event, unit), event.caption
    assert kinds == {"ensure_num_empty_slots", "append_token_ids", "append_slots", "finish"}


def test_slots_that_are_no_neighbours() -> None:
    writes = [Effect("write", 1, table=0, first=4, count=2), Effect("take", 5)]
    assert slots(writes, 4) == "slots 4 to 5, 20 to 23"
    assert slots(writes[:1], 1) == "slots 1 to 2"
    assert slots([Effect("take", 7)], 1) == "slot 7"
    many = [Effect("free", block) for block in range(0, 40, 2)]
    assert slots(many, 1).startswith("20 slots (0, 2, 4 ")
