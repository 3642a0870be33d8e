"""A run of several KV cache groups: its tables, its lookups, and files that cannot be."""

import os
from pathlib import Path
from typing import Any

import pytest

import pagesim
from pagesim import v1
from pagesim.timeline import Timeline, TimelineError
from pagesim.timeline.events import Lookup
from tests.timeline import hostile
from tests.timeline.hostile import write
from tests.timeline.runs import recorded
from tests.timeline.test_film import Read

GROUPS = [
    {"kind": "full", "block_size": 4},
    {"kind": "window", "block_size": 2, "sliding_window": 5},
    {"kind": "mamba", "block_size": 4},
]
HEADER: dict[str, Any] = {
    "format": "pagesim-timeline/2",
    "block_size": 4,
    "groups": GROUPS,
    "pools": [["GPU", 8]],
    "lists": [["free queue", "linked"]],
    "queues": ["waiting"],
    "caching": True,
    "state": {
        "tables": [["a@0", [1], [5, 6, 7]], ["a@1", [0, 2], [5, 6, 7]], ["a@2", [3], [5, 6, 7]]],
        "lists": [[4, 5, 6, 7]],
        "refs": [[1, 1], [2, 1], [3, 1]],
        "null": 0,
    },
}
LOOKED_UP = {
    "event": "get_computed_blocks",
    "of": "b",
    "effects": [["lookup", [0], 9, 8], ["lookup", [1], 8, 4], ["lookup", [2], 4, 4]],
}
OPENED = {"event": "allocate_slots", "of": "b", "opened": [[f"b@{i}", []] for i in range(3)]}


def file(*events: dict[str, Any], **changed: Any) -> list[Any]:
    return [HEADER | {"events": len(events)} | changed, *events]


def test_each_table_has_the_slots_of_its_group(tmp_path: Path) -> None:
    wrote = {"effects": [["write", b, f"a@{g}", 3, 1] for g, b in enumerate((1, 2, 3))]}
    given = file(LOOKED_UP, OPENED, {"event": "allocate_slots", "of": "a"} | wrote)
    run = pagesim.load(write(tmp_path / "x.jsonl", given))
    assert run.at(0).tables["a@0"].fill == (3,)
    assert run.at(0).tables["a@1"].fill == (0, 1)
    assert run.at(0).tables["a@2"].fill == (0,)
    assert [table.num_slots for table in run.at(0).tables.values()] == [3, 3, 3]
    assert [table.fill for table in run.at(-1).tables.values()][:3] == [(4,), (0, 2), (0,)]
    assert run.at(-1).tables["a@2"].num_slots == 4
    assert [group.text for group in run.at(0).groups] == ["full", "window 5", "state"]
    assert run[0].lookups == (Lookup((0,), 9, 8), Lookup((1,), 8, 4), Lookup((2,), 4, 4))
    assert run[0].effects == ()
    assert run.find(kind="lookup") == run.find(kind="get_computed_blocks") == [0]
    assert run.find(sequence="b") == [0, 1]
    run.save(tmp_path / "y.jsonl.gz")
    again = pagesim.load(tmp_path / "y.jsonl.gz")
    assert list(again) == list(run)
    assert [again.at(i) for i in range(4)] == [run.at(i) for i in range(4)]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"groups": 5}, "groups must be a list"),
        ({"groups": [GROUPS[0], 5]}, "group 1 must be of kind full, window, mamba, not 5"),
        ({"groups": [GROUPS[0], {"kind": "ring"}]}, "group 1 must be of kind"),
        ({"groups": [GROUPS[0], {"kind": []}]}, "group 1 must be of kind"),
        ({"groups": [GROUPS[0], GROUPS[1] | {"block_size": 0}]}, "block_size of group 1 must be"),
        ({"groups": [GROUPS[0], GROUPS[1] | {"block_size": "4"}]}, "block_size of group 1"),
        ({"groups": [GROUPS[0], {"kind": "window", "block_size": 4}]}, "sliding_window of group 1"),
        ({"groups": [GROUPS[0], GROUPS[0] | {"sliding_window": -1}]}, "sliding_window of group 1"),
        ({"groups": GROUPS[:1]}, "groups must be omitted where there is only one"),
        ({"groups": GROUPS * 400}, "more than 1000 groups"),
        ({"block_size": 2}, "block_size must be the largest of the groups', not 2"),
        ({"groups": GROUPS[:2]}, "table 'a@2' is of no group: there are 2"),
    ],
)
def test_a_header_that_cannot_be(tmp_path: Path, changed: Any, message: str) -> None:
    with pytest.raises(TimelineError, match=f"x.jsonl:1: .*{message}"):
        pagesim.load(write(tmp_path / "x.jsonl", file(**changed)))


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"opened": [["b@3", []]]}, "table 'b@3' is of no group: there are 3"),
        ({"opened": [["b", []]]}, "table 'b' is of no group"),
        ({"opened": [[7, []]]}, "table 7 is of no group"),
        ({"opened": [["b@-1", []]]}, "table 'b@-1' is of no group"),
        ({"opened": [["b@99999999999999999999", []]]}, "is of no group"),
        ({"effects": [["write", 1, "a@3", 0, 1]]}, "there is no table 'a@3'"),
        ({"effects": [["lookup", [3], 4, 4]]}, "a lookup must be in groups 0 to 2, not"),
        ({"effects": [["lookup", [], 4, 4]]}, "a lookup must be in groups"),
        ({"effects": [["lookup", 0, 4, 4]]}, "groups must be a list"),
        ({"effects": [["lookup", [0], -4, 4]]}, "asked must be an integer"),
        ({"effects": [["lookup", [0], 4, "4"]]}, "found must be an integer"),
        ({"effects": [["lookup", [0], 4]]}, "lookup must have 4 parts"),
    ],
)
def test_an_event_that_cannot_be(tmp_path: Path, event: Any, message: str) -> None:
    given = file({"event": "e", "of": "b"} | event)
    with pytest.raises(TimelineError, match=f"x.jsonl:2: .*{message}"):
        pagesim.load(write(tmp_path / "x.jsonl", given))


def test_a_lookup_needs_groups(tmp_path: Path) -> None:
    state = HEADER["state"] | {"tables": []}
    given = file(LOOKED_UP, state=state)
    del given[0]["groups"]
    with pytest.raises(TimelineError, match="unknown effect"):
        pagesim.load(write(tmp_path / "x.jsonl", given))


# -- what an engine tells ------------------------------------------------------------------------


def asked(*groups: Any, one: bool = False) -> tuple[Timeline, tuple[int, int]]:
    """A request comes to a cache from which one block of the window is gone."""
    options = {"retention_interval": None, "max_model_len": 64}
    kinds = {"block_size": 4} if one else {"groups": groups}
    manager = v1.KVCacheManager(40, **options, **kinds)  # type: ignore[arg-type]
    first = v1.Request("a", range(25), block_size=4)
    assert manager.allocate_slots(first, 25)
    if not one:
        manager.evict_blocks([manager.get_block_ids("a")[1][4]])
    manager.get_computed_blocks(first)  # nobody listens
    with pagesim.record(manager) as run:
        found = manager.get_computed_blocks(v1.Request("b", range(25), block_size=4))
    return run, found[1:]


def test_each_kind_is_asked_until_all_agree() -> None:
    run, found = asked(v1.FullAttentionSpec(4), v1.SlidingWindowSpec(4, sliding_window=9))
    assert found == (16, 24)
    assert [(event.kind, event.subject) for event in run] == [("get_computed_blocks", "b")]
    assert run[0].lookups == (Lookup((0,), 24, 24), Lookup((1,), 24, 16))
    assert "full attention" in run[0].caption and "window of group 1" in run[0].caption
    assert {"24", "16"} <= {*run[0].caption.replace(",", " ").split()}
    windows = [v1.SlidingWindowSpec(4, sliding_window=9)] * 2
    run, found = asked(v1.FullAttentionSpec(4), *windows, v1.SlidingWindowSpec(4, sliding_window=5))
    assert [lookup.groups for lookup in run[0].lookups] == [(0,), (1, 2), (3,), (1, 2), (3,)]
    assert "windows of groups 1 and 2" in run[0].caption


def test_what_is_found_and_written_lies_where_the_table_says() -> None:
    kinds: set[str] = set()
    for seed in range(12) if "PAGESIM_STATES" in os.environ else (3, 5, 6, 11):
        run = recorded("groups", seed, 150)
        for i, event in enumerate(run):
            tables = run.at(i + 1).tables if event.effects else {}
            for effect in event.effects:
                if effect.kind not in ("hit", "write") or effect.table not in tables:
                    continue
                group, ids = run.at(0).group_of(effect.table), tables[effect.table].block_ids
                if group.kind == "mamba" and effect.kind == "write":  # a state inside a chunk, too
                    assert effect.block in ids
                    continue
                assert effect.first is not None
                assert ids[(effect.first + effect.count - 1) // group.block_size] == effect.block
                assert effect.count == group.block_size or effect.kind == "write"
                kinds.add(f"{effect.kind} {group.kind}")
    assert kinds == {"hit full", "hit window", "hit mamba", "write full", "write window"}


def test_with_one_group_a_lookup_is_no_event() -> None:
    run, found = asked(one=True)
    assert found == (24, 0) and len(run) == 0


def test_a_scheduler_asks_before_it_admits() -> None:
    groups = v1.FullAttentionSpec(2), v1.SlidingWindowSpec(4, sliding_window=6)
    config = v1.SchedulerConfig(64, 4, 64)
    scheduler = v1.Scheduler(config, v1.CacheConfig(num_gpu_blocks=30, groups=groups))
    with pagesim.record(scheduler) as run:
        scheduler.add_request(v1.Request("a", range(9), block_size=2))
        scheduler.schedule()
    kinds = [(event.kind, event.subject) for event in run]
    assert kinds == [
        *(("arrive", "a"), ("get_computed_blocks", "a"), ("admit", "a"), ("schedule", None))
    ]
    assert [event.step for event in run] == [None, 1, 1, 1]
    assert run.at(-1).requests == {"a": "a@0"} and run.at(-1).queues.running == ("a",)
    assert run[3].scheduled[0].sequence == "a@0"
    assert run.at(-1).block_size == 4
    assert run.at(-1).tables["a@0"].fill == (2, 2, 2, 2, 1)
    assert run.at(-1).tables["a@1"].fill == (4, 4, 1)


def test_a_request_is_found_by_its_name_and_by_its_tables(tmp_path: Path) -> None:
    drops = {"event": "x", "effects": [["null", 0, "a@1", 0]], "tables": [["a@1", 0, [0]]]}
    run = pagesim.load(write(tmp_path / "x.jsonl", file(LOOKED_UP, OPENED, drops)))
    assert (run.find(sequence="a"), run.find(sequence="a@1")) == ([2], [2])
    assert (run.find(sequence="b"), run.find(sequence="b@2")) == ([0, 1], [1])
    assert run.find(sequence="a@0") == []


def test_a_film_has_the_slots_of_the_blocks_that_are_drawn(tmp_path: Path) -> None:
    """The kernel of group 1 counts two slots a block; a block is drawn with four."""
    run = pagesim.load(write(tmp_path / "x.jsonl", file()))
    reads = [Read((0, 0), 1, 0, 1, 0, [4, 5], [1.0, 0.5], 1.0, 1.0, 1.0)]
    film = run.film(reads, names=["a@1"])
    assert film[0].reads[0].slots == (8, 9) and "block 2" in film[0].caption
    assert run.film(reads, names=["a@0"])[0].reads[0].slots == (4, 5)
    for names, why in ((None, "name the tables"), (["a"], "a is no table of one of 3 groups")):
        with pytest.raises(pagesim.UsageError, match=why):
            run.film(reads, names=names)


def test_a_block_with_a_state_is_not_unused(tmp_path: Path) -> None:
    gone = [["free", block, "free queue", 0] for block in (1, 2, 3)]
    leaves = {"event": "free", "of": "a", "effects": gone, "closed": ["a@0", "a@1", "a@2"]}
    run = pagesim.load(write(tmp_path / "x.jsonl", file(leaves)))
    with pytest.raises(pagesim.UsageError, match="no block is unused"):
        pagesim.Question(0, "which block was never used?", "unused").blocks(run)


@pytest.mark.parametrize("wrong", hostile.WRONG, ids=lambda value: repr(value)[:12])
def test_every_value_replaced(wrong: Any, tmp_path: Path) -> None:
    change = {"event": "x", "of": "a", "effects": [["write", 2, "a@1", 3, 1]], "closed": ["b@1"]}
    lines = file(LOOKED_UP, OPENED, change)
    assert hostile.try_to_load(write(tmp_path / "x.jsonl", lines)) == ""
    places = list(hostile.places(lines))[1:]
    for at in hostile.some(places, hostile.PLACES, seed=hostile.WRONG.index(wrong)):
        hostile.try_to_load(write(tmp_path / "x.jsonl", hostile.changed(lines, at, wrong)))


def test_one_group_is_shown_with_its_blocks_whatever_a_hash_covers() -> None:
    specs = [v1.FullAttentionSpec(8)]
    manager = v1.KVCacheManager(9, groups=specs, hash_block_size=2)
    with pagesim.record(manager) as run:
        manager.allocate_slots(v1.Request("a", range(11), block_size=2), 11)
    assert run.at(-1) == manager.state() and run.at(0).block_size == 8
    assert run.at(-1).tables["a"].fill == (8, 3)


def test_a_hit_may_end_beyond_the_longest_model_length() -> None:
    manager = v1.KVCacheManager(9, 3, 5)
    with pagesim.record(manager) as run:
        for name in "ab":
            request = v1.Request(name, range(7), block_size=3)
            hits, found, _ = manager.get_computed_blocks(request)
            manager.allocate_slots(request, 7 - found, found, hits)
            manager.cache_blocks(request, 6)
            assert run.at(-1) == manager.state()
    assert found == 6


def test_a_state_inside_a_chunk_is_written_before_the_one_at_its_end() -> None:
    state = v1.MambaSpec(
        4, mamba_cache_mode="align", num_prefill_checkpoint_blocks=1, prefill_checkpoint_alignment=4
    )
    manager = v1.KVCacheManager(20, groups=[v1.FullAttentionSpec(4), state])
    with pagesim.record(manager) as run:
        manager.allocate_slots(v1.Request("a", range(18), block_size=4), 18)
    *_, inside, last = manager.get_block_ids("a")[1]
    effects = [effect for event in run for effect in event.effects]
    writes = [(each.block, each.count) for each in effects if each.kind == "write"]
    assert writes[-2:] == [(inside, 16), (last, 2)]
