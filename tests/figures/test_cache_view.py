"""Pictures of a cache look at a State; whatever has pages is read, and the rest is refused."""

from pathlib import Path

import pytest

import pagesim
from pagesim import figures
from pagesim.figures.cache_view import cache_view
from pagesim.figures.scenes import NAMES, forked_and_swapped
from pagesim.journal.state import State, TableState
from pagesim.workload import Request
from tests.commands.runs import requests
from tests.figures.charts import rectangles, shown
from tests.figures.conftest import MakeCache, cache_of

pytestmark = pytest.mark.ch02


def test_owners_fill_and_shared(cache: State) -> None:
    view = cache_view(cache)
    assert view.owners == {3: ["A", "B"], 7: ["A", "B"], 0: ["A"], 5: ["B"], 13: ["C"], 12: ["C"]}
    assert view.fill == {3: 4, 7: 4, 0: 1, 5: 2, 13: 4, 12: 3}
    assert view.shared() == [3, 7]
    assert view.held() == [2]
    assert view.tokens("B", 2) == (18, 19)
    assert [name for name, ids in view.pools.items() if 12 in ids] == ["CPU"]


def test_a_manager_is_read_as_it_is() -> None:
    manager = forked_and_swapped()
    view = cache_view(manager, names=NAMES)
    assert list(view.tables) == ["A", "B", "C"]
    for seq_id, name in NAMES.items():
        assert list(view.tables[name].block_ids) == manager.block_tables[seq_id].physical_block_ids
    assert (view.tokens("A", 2), view.tokens("B", 2)) == ((18, 19), (18, 29))
    assert view.state == manager.state()
    assert view.held() == []


def test_a_run_its_file_and_its_simulation_are_read_at_any_step(tmp_path: Path) -> None:
    requests = [Request(str(i), 0.0, 6 + i, 5) for i in range(3)]
    simulation = pagesim.simulate(requests, pool=48, block_size=4, record=True, progress=False)
    run = simulation.timeline
    run.save(tmp_path / "run.jsonl.gz")
    for step in (5, -2):
        wanted = run.at(step)
        for source in (run, simulation, tmp_path / "run.jsonl.gz", str(tmp_path / "run.jsonl.gz")):
            assert cache_view(source, step=step).state == wanted
    assert cache_view(run).state == run.at(len(run)) != run.at(5)
    drawn = figures.block_layout(run, step=5)
    assert figures.alt_text(drawn) == figures.alt_text(run.at(5))
    token = next(iter(run.at(5).tables.values())).token_ids[0]
    run.annotate(tokens={token: "word"})
    assert "word" in shown(figures.block_layout(run, step=5))


def test_a_sequence_keeps_its_colour_when_others_leave() -> None:
    for known in ({"names": NAMES}, {"order": [0, 2, 1]}):
        manager = forked_and_swapped()
        before = cache_view(manager, **known)
        del manager.block_tables[0]
        after = cache_view(manager, **known)
        assert all(after.color(name) == before.color(name) for name in after.tables)
        assert len({before.color(name) for name in before.tables}) == len(before.tables)


def test_what_holds_no_pages_is_refused_by_name(tmp_path: Path, cache: State) -> None:
    trace = requests(tmp_path / "trace.csv", "0,5,5")
    unrecorded = pagesim.simulate([Request("a", 0.0, 5, 5)], pool=48, progress=False)
    for draw in (figures.block_layout, figures.pool_map, figures.alt_text):
        with pytest.raises(TypeError, match="cannot draw an int: give a block manager"):
            draw(3)
        with pytest.raises(pagesim.UsageError, match=r"trace\.csv holds no pages: record a run"):
            draw(trace)
        with pytest.raises(pagesim.UsageError, match=r"record=True"):
            draw(unrecorded)
        with pytest.raises(pagesim.UsageError, match="share a label"):
            draw(cache, names={"A": "X", "B": "X"})
    with pagesim.record(forked_and_swapped()) as run:
        pass
    with pytest.raises(pagesim.UsageError, match="step 7 is not in this run"):
        cache_view(run, step=7)


def test_the_lists_of_a_cache_are_those_that_it_names() -> None:
    story = pagesim.Story(gpu_blocks=6, block_size=4, caching=True)
    for writer in [story.arrive(range(9)) for _ in range(2)]:
        writer.leave()
    picture = figures.block_layout(story.manager)
    assert [word for word in shown(picture) if word.endswith(("list", "evictor"))] == list(
        story.manager.state().lists
    )
    assert shown(picture).count("next") == 1
    thick = [p for p in rectangles(picture) if p.get_linewidth() == figures.style.THICK]
    assert len(thick) == 1, "the block that is taken next, and none of an evictor"
    assert "held" not in shown(picture)
    assert "2 blocks are in the GPU evictor; the first is" in figures.alt_text(picture)


def test_alt_text_of_a_large_cache_gives_counts(make_cache: MakeCache) -> None:
    text = figures.alt_text(make_cache(40, 10, 512))
    assert "40 sequences, s0 to s39, hold 400 blocks between them." in text
    assert len(text) < 400


def test_alt_text_of_little() -> None:
    assert figures.alt_text(cache_of(1, 1, 0, {}, ())) == (
        "A cache of 1 GPU block with 1 slot each. No sequence holds a block. "
        "The GPU free list is empty."
    )
    one = cache_of(2, 2, 0, {"A": ((1,), (5,)), "B": ((), ())}, (0,))
    assert "A keeps 1 token in block 1 on the GPU. B holds no blocks." in figures.alt_text(one)
    assert figures.alt_text(one).endswith("One block is in the GPU free list: 0.")


def test_a_state_of_one_free_list_and_a_null_block_is_drawn_too() -> None:
    """As an engine without a CPU pool, and with other lists than V0's, would give it."""
    table = TableState.of((0, 2), (5, 6, 7), 2, null_block=0)
    counts = {0: 1, 1: 0, 2: 1, 3: 0}
    lists = {"free list": (3, 1)}
    state = State(2, {"GPU": 4}, True, {"r0": table}, counts, lists, null_block=0)
    words = shown(figures.block_layout(state))
    assert {"GPU pool", "free list", "next", "r0"} <= set(words)
    assert "CPU pool" not in words and "hatched: CPU" not in words
    assert "2 blocks are in the free list; the first is 3." in figures.alt_text(state)
    assert cache_view(state).fill == {0: 0, 2: 1}
