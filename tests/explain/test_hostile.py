"""A damaged run that can still be read gives a report: no file makes it fail."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pagesim
from pagesim.explain.reading import history_of
from pagesim.explain.report import findings, report
from pagesim.explain.request import story
from pagesim.timeline import TimelineError
from tests.explain import runs_v1, truth_groups, truth_tier, truth_v0
from tests.timeline.hostile import PLACES, WRONG, changed, places, without, write


def told(run: pagesim.Timeline) -> None:
    """All that explain says of a run."""
    history = history_of(run)
    assert report(history, findings(history))
    for name in list(history.requests)[:8]:
        assert story(history, str(name)).text()


MADE: dict[str, Callable[[int], tuple[pagesim.Timeline, Any]]] = {
    "V1": runs_v1.random_run,
    "V0": truth_v0.random_run,
    "groups": truth_groups.random_run,
    "tier": truth_tier.random_run,
}


@pytest.mark.parametrize("kind", MADE)
def test_every_value_replaced_by_wrong_ones(kind: str, tmp_path: Path) -> None:
    rng, path = random.Random(kind), tmp_path / "run.jsonl"
    MADE[kind](3)[0].save(path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    everywhere = list(places(lines))[1:]
    for _ in range(3 * PLACES):
        at = rng.choice(everywhere)
        is_kept = rng.random() < 0.7
        write(path, changed(lines, at, rng.choice(WRONG)) if is_kept else without(lines, at))
        try:
            run = pagesim.load(path)
        except TimelineError:
            continue
        told(run)


@pytest.mark.parametrize("kind", MADE)
def test_a_part_of_a_run_is_explained(kind: str) -> None:
    run = MADE[kind](5)[0]
    for start in (len(run) // 3, len(run) // 2):
        told(run[start:])
        told(run[start : start + 20])
    for seed in range(6, 12):
        told(MADE[kind](seed)[0])
