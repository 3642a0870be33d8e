"""What the player says that routers are told, in runs whose engine tells them."""

import re
from typing import Any

import pytest

import pagesim
from pagesim.timeline import Timeline, TimelineError
from pagesim.v1 import KVCacheManager, Request

TOLD = """
return run.events.map((event, i) => player.forRouters(run, event, run.at(i + 1)));
"""


def story(kv_events: bool, num_blocks: int = 4) -> Timeline:
    manager = KVCacheManager(num_blocks, 2, enable_kv_cache_events=kv_events)
    first, second = (Request(name, [ord(name)] * 30, block_size=2) for name in "ab")
    tokens = 2 * num_blocks - 2
    with pagesim.record(manager) as run:
        manager.allocate_slots(first, tokens)
        manager.reset_prefix_cache()
        manager.free(first)
        manager.allocate_slots(second, 4)
        manager.free(second)
        manager.reset_prefix_cache()
    return run


def numbers(words: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", words)]


def test_each_event_says_what_it_tells(node: Any) -> None:
    stored, _, freed, both, _, cleared = node(TOLD, story(True))
    assert numbers(stored) == [1, 2, 3] and freed == ""
    removed, _, again = both.partition(";")
    assert numbers(removed) == numbers(again) == [3, 2]
    assert "removed" in removed and "stored" in again and "removed" in cleared
    assert numbers(cleared) == []


def test_a_reset_that_fails_tells_nothing(node: Any) -> None:
    run = story(True)
    assert run[1].kind == "reset_prefix_cache"
    assert node(TOLD, run)[1] == ""


def test_many_blocks_are_counted(node: Any) -> None:
    (stored, *_) = node(TOLD, story(True, 16))
    assert numbers(stored) == [*range(1, 13), 3]


def test_without_kv_events_nothing_is_said_and_no_byte_changes(node: Any, tmp_path: Any) -> None:
    run, telling = story(False), story(True)
    assert set(node(TOLD, run)) == {""}
    for name, each in (("plain", run), ("telling", telling)):
        each.save(tmp_path / f"{name}.jsonl")
    plain, told = ((tmp_path / f"{name}.jsonl").read_text() for name in ("plain", "telling"))
    assert told != plain == told.replace('"kv_events":true,', "")


def test_whether_routers_are_told_is_kept_in_pieces_and_files(tmp_path: Any) -> None:
    run = story(True)
    run.save(tmp_path / "run.jsonl")
    loaded = pagesim.load(tmp_path / "run.jsonl")
    assert loaded.notes.kv_events and run[2:].notes.kv_events and not story(False).notes.kv_events
    bad = (tmp_path / "run.jsonl").read_text().replace('"kv_events":true', '"kv_events":1')
    (tmp_path / "bad.jsonl").write_text(bad)
    with pytest.raises(TimelineError, match="kv_events must be True or False, not 1"):
        pagesim.load(tmp_path / "bad.jsonl")
