"""vLLM V1 in the player: one queue, hits from its middle, the preempted, steps in flight."""

import random
from pathlib import Path
from typing import Any

import pytest

import pagesim
from pagesim.story import Engine
from pagesim.timeline.header import state_as_dict
from pagesim.v1 import KVCacheManager, Request
from tests.e2e import scenes
from tests.e2e.browser import Page
from tests.timeline.test_captions_v1 import served
from tests.v1.scenes import text

PATH = Path(__file__).parents[1] / "data" / "timelines2" / "v1_by_hand.jsonl"
TEXT = "return [...document.querySelectorAll('.ps-stage text')].map((node) => node.textContent)"


@pytest.fixture
def player(page: Page) -> Page:
    return page.show(pagesim.load(PATH))


def test_a_run_of_v1(player: Page) -> None:
    run = pagesim.load(PATH)
    for step in [*range(len(run) + 1), *reversed(range(len(run)))]:
        player.js("pagesimPlayer.goto(arguments[0])", step)
        assert player.state() == state_as_dict(run.at(step)), step
    player.go(run.find(kind="preempt")[0] + 1)
    shown = player.js(TEXT)
    assert {"free queue", "waiting", "running", "GPU pool"} <= set(shown)
    assert not {"swapped", "CPU pool", "GPU free list"} & set(shown)
    assert player.text(".ps-call") == "preempt \u00b7 c \u00b7 schedule 5"
    player.shot("v1-preempted")


def test_marks_are_shown_on_their_blocks(player: Page) -> None:
    player.go(9)  # attention: 0.25 and 0.5 on the slots of block 1, 0.25 in block 3
    assert "attention: on 3 slots" in player.text(".ps-changes")
    assert {"0.75", "0.25"} <= set(player.js(TEXT))
    player.choose(1)
    assert player.text(".ps-detail").endswith(" attention: 0.25, 0.5.")
    player.shot("v1-marks")
    player.go(10)
    assert "0.75" not in player.js(TEXT)


def test_tokens_that_are_not_known_yet_are_not_drawn(player: Page) -> None:
    run = pagesim.load(PATH)
    player.go(run.find(kind="schedule")[1] + 1)
    player.choose(3)
    assert "2 of 2 slots filled: 5." in player.text(".ps-detail")
    player.go(run.find(kind="update_from_output")[0] + 1)
    assert "2 of 2 slots filled: 5 7." in player.text(".ps-detail")


def test_what_routers_hear_is_beside_what_changed(page: Page) -> None:
    manager = KVCacheManager(6, 2, enable_kv_cache_events=True)
    its = Request("a", [1, 2, 3, 4, 5], block_size=2)
    with pagesim.record(manager) as run:
        manager.allocate_slots(its, 5)
        manager.free(its)
    player = page.show(run)
    player.go(1)
    assert "routers hear" in player.text(".ps-changes")
    player.shot("v1-routers")
    player.go(2)
    assert "routers" not in player.text(".ps-changes")


GAPS = "return document.querySelectorAll('.ps-stage .over .gap').length"


def engine_run(
    steps: int = 40, blocks: int = 16, seed: int = 0, **options: Any
) -> pagesim.Timeline:
    """Requests that begin alike come and go; some are preempted."""
    options = {"max_num_seqs": 4, "retention_interval": None} | options
    rng, engine = random.Random(0), Engine(gpu_blocks=blocks, **options)
    for number in range(steps):
        if rng.random() < 0.4 and len(engine.scheduler.requests) < 6:
            tokens = text(rng.choice([5, 9, 12, 16]), rng.choice([0, 0, 100]))
            engine.add(f"r{number}", tokens, max_tokens=rng.randrange(2, 14))
        engine.step()
    return engine.run


def test_one_queue_from_front_to_back(page: Page) -> None:
    run = engine_run()
    page.show(run)
    for step in range(0, len(run) + 1, 9):
        page.js("pagesimPlayer.goto(arguments[0])", step)
        state = run.at(step)
        ids = state.lists["free queue"]
        expected = [[str(b), b in state.cached, not i] for i, b in enumerate(ids)]
        assert page.look("queue") == expected, step
        stage = page.text(".ps-stage")
        assert ("\u25be next" in stage) == bool(ids), step
        assert "null block" in stage
    assert page.console() == []


def test_both_ends_of_a_long_queue_are_seen(page: Page) -> None:
    run = engine_run(30, 128)
    for width in (400, 1000):
        page.size(width, 900)
        page.show(run, len(run))
        ids = [str(block) for block in run.at(-1).lists["free queue"]]
        shown = [chip[0] for chip in page.look("queue")]
        assert len(shown) < len(ids) and (shown[0], shown[-1]) == (ids[0], ids[-1])
        head = next(i for i, block in enumerate(shown) if ids[i] != block)
        assert shown == ids[:head] + ids[head - len(shown) :]
        assert f"+{len(ids) - len(shown)}" in page.text(".ps-stage")


def test_a_hit_leaves_the_middle(page: Page) -> None:
    """Blocks 1, 2 and 3 were freed last to first: the first one stands farthest back."""
    engine = Engine()
    for name, tokens in (("a", text(12)), ("b", text(8, 50)), ("c", text(13))):
        engine.add(name, tokens, max_tokens=1)
        engine.step()
    run = engine.run
    admitted = run.find(kind="admit")[2]
    before, after = (run.at(admitted + i).lists["free queue"] for i in (0, 1))
    assert (before, after) == ((6, 7, 8, 9, 10, 11, 3, 2, 1, 5, 4), (7, 8, 9, 10, 11, 5, 4))
    page.show(run, admitted)
    assert page.js(GAPS) == 0
    page.go(admitted + 1)
    assert "1 from place 9, 2 from place 8, 3 from place 7" in page.text(".ps-changes")
    assert page.js(GAPS) == 1 + 1, "between 11 and 5, and in the legend"
    assert page.look("gapBetween", "11", "5")
    assert "a hit left the list here" in page.text(".ps-stage")


def test_a_hit_is_seen_on_its_way(page: Page) -> None:
    engine = Engine(gpu_blocks=8)
    for name in ("a", "b"):
        engine.add(name, text(5), max_tokens=1)
        engine.step()
    run = engine.run
    page.show(run, run.find(kind="hit")[0])
    label, *places = page.look("boxes", ".ps-stage .under.texts text", "free queue", "1")
    (place,) = [one for one in places if abs(one["y"] - label["y"]) < 3]
    page.key("ARROW_RIGHT")
    page.look("beat", 0, False, 0.0)
    begin = next(ghost for ghost in page.look("ghosts") if ghost[0] == "1")
    assert max(abs(place["x"] - begin[1]), abs(place["y"] - begin[2])) < 8


def test_blocks_are_freed_to_both_ends(page: Page) -> None:
    run = served((10, 1), pool=10, steps=1)
    page.show(run, run.find(kind="finish")[0] + 1)
    assert [chip[0] for chip in page.look("queue")] == [str(b) for b in (3, 4, 5, 6, 7, 8, 9, 2, 1)]
    assert page.look("framed") == ["3", "2", "1"]


def test_the_preempted_are_marked(page: Page) -> None:
    run = served((9, 8), (7, 6), pool=6, steps=12)
    page.show(run, run.find(kind="preempt")[0])
    assert "\u21ba" not in page.text(".ps-stage")
    page.go(run.find(kind="preempt")[0] + 1)
    assert page.look("row", "waiting") == ["b \u21ba"]
    page.go(run.find(kind="resume")[0] + 1)
    assert "b \u21ba" in page.look("row", "running") and "was preempted" in page.text(".ps-stage")


def test_two_steps_are_in_flight(page: Page) -> None:
    engine = Engine(async_scheduling=True)
    engine.add("a", text(6), max_tokens=9, stop_token_ids=[1_000_003])
    engine.steps(6)
    run = engine.run
    first, second = run.find(kind="schedule")[:2]
    page.show(run)
    assert page.look("row", "in flight") == ["nothing"]
    page.go(first + 1)
    assert page.look("row", "in flight") == ["step 1", "+6"]
    page.go(second + 1)
    assert page.look("row", "in flight") == ["step 1", "+6", "step 2", "+1"]
    assert page.look("words", 2)[1:4] == ["4", "5", "?"], "written, and not known yet"
    page.go(run.find(kind="update_from_output")[0] + 1)
    assert page.look("row", "in flight") == ["step 2", "+1"]
    assert page.look("words", 2)[1:4] == ["4", "5", "1000001"]
    page.go(run.find(kind="finish")[0] + 1)
    assert page.look("row", "in flight") == ["step 4", "\u2717"]
    assert "wasted: the request has left" in page.text(".ps-stage")
    page.go(len(run))
    assert page.look("row", "in flight") == ["nothing"]
    assert "computed" not in page.text(".ps-stage"), "V1 does not tell it"


def test_without_outputs_nothing_is_in_flight(page: Page) -> None:
    page.show(scenes.scheduled(), 20)
    assert "in flight" not in page.text(".ps-stage")
