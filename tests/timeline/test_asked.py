"""A recorded scheduler's settings and the lengths of its prompts are kept with the run."""

from pathlib import Path

import pytest

import pagesim
from pagesim import v1
from tests.timeline.runs import SOURCES, recorded


def of_v1(queued: int = 0) -> tuple[v1.Scheduler, list[v1.Request]]:
    scheduler = v1.Scheduler(v1.SchedulerConfig(16, 4, 64, watermark=0.25), v1.CacheConfig(4, 9))
    requests = [v1.Request(f"r{at}", [7] * (5 + at), block_size=4) for at in range(4)]
    for request in requests[:queued]:
        scheduler.add_request(request)
    return scheduler, requests[queued:]


@pytest.mark.parametrize("queued", [0, 2])
def test_v1(queued: int, tmp_path: Path) -> None:
    scheduler, requests = of_v1(queued)
    with pagesim.record(scheduler) as run:
        for request in requests:
            scheduler.add_request(request)
    assert run.asked.prompts == {"r0": 5, "r1": 6, "r2": 7, "r3": 8}
    assert run.asked.settings["watermark"] == 0.25 and run.asked.settings["num_gpu_blocks"] == 9
    run.save(tmp_path / "run.jsonl.gz")
    assert pagesim.load(tmp_path / "run.jsonl.gz").asked == run.asked
    assert run[1:].asked == run.asked


def test_v0(tmp_path: Path) -> None:
    config = pagesim.SchedulerConfig(64, 4, 64, preemption_mode="swap")
    scheduler = pagesim.Scheduler(config, pagesim.CacheConfig(4, 8, 4))
    with pagesim.record(scheduler) as run:
        seq = pagesim.Sequence(7, [1] * 11, 4)
        scheduler.add_seq_group(pagesim.SequenceGroup("r7", [seq], 0.0))
    assert run.asked.prompts == {"r7": 11}
    assert run.asked.settings["preemption_mode"] == "swap"
    run.save(tmp_path / "run.jsonl")
    assert pagesim.load(tmp_path / "run.jsonl").asked == run.asked


def test_a_second_tier_has_settings_too() -> None:
    config = v1.OffloadingConfig(8, store_threshold=2)
    scheduler = v1.Scheduler(v1.SchedulerConfig(16, 4, 64), v1.CacheConfig(4, 9), config)
    with pagesim.record(scheduler) as run:
        pass
    assert run.asked.settings["store_threshold"] == 2 and run.asked.settings["block_size"] == 4


@pytest.mark.parametrize("kind", ["manager-caching", "tables-naive", "device-naive"])
def test_nothing_is_asked_of_others(kind: str) -> None:
    assert kind in SOURCES
    run = recorded(kind, 1, 10)
    assert not run.asked.settings and not run.asked.prompts


def test_a_page_does_not_carry_them(tmp_path: Path) -> None:
    """The chapters show players: their files stay as they are."""
    from pagesim.timeline.file import header

    scheduler, requests = of_v1()
    with pagesim.record(scheduler) as run:
        scheduler.add_request(requests[0])
    assert not {"settings", "prompts"} & header(run).keys()
