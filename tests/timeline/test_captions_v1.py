"""Captions of vLLM V1 name the right blocks and counts; how they put it is theirs."""

import re
from collections.abc import Callable
from typing import Any

import pytest

import pagesim
from pagesim.story import Engine
from pagesim.timeline import Timeline
from tests.v1.scenes import Cache, text


def two_equal_prompts() -> Timeline:
    """Of three blocks, one after the other; then a text that needs the whole pool."""
    engine = Engine(gpu_blocks=8)
    for name in ("a", "b"):
        engine.add(name, range(12), max_tokens=3)
        engine.steps(3)
    engine.add("c", 26, max_tokens=1)
    engine.step()
    run = engine.run
    assert run.at(run.find(kind="finish")[0] + 1).lists == {"free queue": (4, 5, 6, 7, 3, 2, 1)}
    return run


def served(*requests: tuple[int, int], pool: int = 8, steps: int, **config: Any) -> Timeline:
    """Requests a, b, … with so many tokens in their prompts and outputs."""
    engine = Engine(gpu_blocks=pool, **config)
    for i, (prompt, output) in enumerate(requests):
        engine.add("ab"[i], prompt, max_tokens=output)
    engine.steps(steps)
    return engine.run


def without_a_scheduler() -> Timeline:
    cache = Cache(8)
    with pagesim.record(cache.manager) as run:
        cache.admit("a", text(6))
    return run


SCENES: dict[str, tuple[Callable[[], Timeline], list[tuple[str, int, str]]]] = {
    "two equal prompts": (
        two_equal_prompts,
        [
            ("admit", 0, "12 3 | 1 2 3 | 1 2 3"),
            ("allocate_slots", 0, "4"),
            ("finish", 0, "| | 4 | 3 2 1"),
            ("admit", 1, "8 12 1 2 4 | | | 4 | 4"),  # the last of three blocks is computed again
            ("admit", 2, "26 7 | 5 6 7 | 3 4 2 1 | 5 6 7 3 4 2"),
            ("update_from_output", 0, "1 |"),
        ],
    ),
    "no cache": (
        lambda: served((12, 1), steps=1, enable_prefix_caching=False),
        [("finish", 0, "| | 3 2 1")],
    ),
    "preempted": (
        lambda: served((9, 8), (7, 6), pool=6, steps=12),
        [("preempt", 0, "| | 5 4 |"), ("resume", 0, "4 9 4 5 | | 5 3 | 5")],
    ),
    "in flight": (
        lambda: served((6, 3), steps=5, async_scheduling=True),
        [("allocate_slots", 0, "1"), ("update_from_output", 0, "1 | 1")],
    ),
    "a window": (
        lambda: served((8, 4), steps=2, sliding_window=4),
        [("allocate_slots", 0, "0 0 | 1 | 3")],
    ),
    "no scheduler": (without_a_scheduler, [("allocate_slots", 0, "6 2 | 1 2 | 1")]),
}


@pytest.mark.parametrize("scene", SCENES)
def test_numbers_of_captions(scene: str) -> None:
    """Those of each part of the sentence."""
    make, expected = SCENES[scene]
    run = make()
    for kind, nth, numbers in expected:
        parts = run[run.find(kind=kind)[nth]].caption.split(";")
        found = [" ".join(re.findall(r"\b\d+\b", part)) for part in parts]
        assert " | ".join(found).split() == numbers.split(), kind
