"""Searching a run, taking it apart, and naming its tables."""

import random

import pytest

import pagesim
from pagesim import Event, Timeline, record
from pagesim.errors import UsageError
from pagesim.journal.effects import CALLS, COPY, DECISIONS, EFFECTS
from pagesim.timeline.search import of_block
from tests.timeline.runs import SOURCES, recorded
from tests.timeline.scenes import new_story, new_table


def names_of(event: Event) -> set[object]:
    parts = (*event.effects, *event.tables, *event.opened, *event.tokens)
    copied = (job.request for job in event.begun)
    return {event.subject, *event.closed, *(part.table for part in parts), *copied}


def blocks_of(event: Event) -> set[int | None]:
    copied = (block for job in event.begun for pair in job.blocks for block in pair)
    return {block for e in event.effects for block in (e.block, e.to)} | {*copied}


@pytest.mark.parametrize("kind", SOURCES)
def test_find_is_what_looking_through_all_events_finds(kind: str) -> None:
    rng = random.Random(7)
    whole = recorded(kind, 1, 60)
    for run in (whole, whole[len(whole) // 3 : -3]):
        blocks = [blocks_of(event) for event in run]
        named = [names_of(event) for event in run]
        kinds = [{event.kind, *(effect.kind for effect in event.effects)} for event in run]
        names = {name for i in range(len(run) + 1) for name in run.at(i).tables}
        total = run.at(0).num_gpu_blocks + run.at(0).num_cpu_blocks
        for block in range(-1, total + 1):
            assert run.find(block=block) == [i for i, ids in enumerate(blocks) if block in ids]
        for name in [*names, "nobody", 10**6]:
            assert run.find(sequence=name) == [i for i, its in enumerate(named) if name in its]
        for word in (*EFFECTS, *CALLS, *DECISIONS, "failed"):
            assert run.find(kind=word) == [i for i, of in enumerate(kinds) if word in of]
        for _ in range(20):
            block, word = rng.randrange(total), rng.choice([*EFFECTS])
            name = rng.choice([*names, "nobody"])
            assert run.find(block=block, sequence=name, kind=word) == sorted(
                {*run.find(block=block)} & {*run.find(sequence=name)} & {*run.find(kind=word)}
            )
        assert run.find() == list(range(len(run)))


def test_a_copy_concerns_both_blocks() -> None:
    event = ("append_slots", 1, None, (COPY, 3, 7, 2))
    assert [block for block in range(9) if of_block(block)(event)] == [3, 7]


def test_find_while_it_is_recorded() -> None:
    story = new_story()
    with record(story.manager) as run:
        assert run.find(kind="copy") == run.find(block=0) == run.find(sequence=1) == []
        seq = story.arrive([1], 1)
        assert run.find(sequence=1) == run.find(block=0) == run.find(kind="allocate") == [0]
        seq.write([2])
        assert run.find(kind="write") == [0, 1]
        assert run.find(kind="append_slots") == [1]


def test_a_kind_that_does_not_exist() -> None:
    with pytest.raises(UsageError, match=r"unknown kind 'copies': there are .*copy"):
        recorded("manager-naive", 1, 5).find(kind="copies")


def test_out_of_range() -> None:
    run = recorded("manager-naive", 1, 20)
    for step in (len(run) + 1, -len(run) - 2, 10**9):
        with pytest.raises(IndexError, match=f"step {step} is not in this run: .*0 to {len(run)}"):
            run.at(step)
    for index in (len(run), -len(run) - 1):
        with pytest.raises(IndexError):
            run[index]
    assert run.at(-1) == run.at(len(run))
    assert run.at(-len(run) - 1) == run.at(0)
    assert run[-1] == run[len(run) - 1]
    piece = run[3:5]
    with pytest.raises(IndexError):
        piece.at(3)
    with pytest.raises(IndexError):
        piece[2]


def test_a_run_without_events() -> None:
    with record(new_story().manager) as run:
        pass
    assert len(run) == 0 and list(run) == [] and run.find(kind="take") == []
    assert run.at(0) == run.at(-1)
    with pytest.raises(IndexError):
        run[0]


def test_slices() -> None:
    run = recorded("manager-naive", 1, 20)
    for step in (2, -1, 3):
        with pytest.raises(UsageError, match=f"must be 1, not {step}"):
            run[::step]
    assert len(run[5:2]) == 0 and run[5:2].at(0) == run.at(5)
    assert list(run[-3:]) == list(run)[-3:]
    assert len(run[100:200]) == 0


# -- labels --------------------------------------------------------------------------------------


def subjects(run: Timeline) -> list[object]:
    return [event.subject for event in run]


def test_a_label_holds_from_the_beginning() -> None:
    table = new_table()
    with record(table._allocator) as run:
        table.allocate([1])
        assert subjects(run) == ["t0"]
        table.append_token_ids([2])
        assert list(run.at(2).tables) == ["t0"]
        run.label(table, "a")
        run.label(table, "a")
        table.append_token_ids([3])
        run.label(table, "b")
    assert subjects(run) == ["b"] * 3
    assert list(run.at(3).tables) == ["b"], "also where it was sought before"
    assert [list(run.at(i).tables) for i in range(4)] == [[], ["b"], ["b"], ["b"]]
    assert run[1].effects[0].table == "b"
    assert run.find(sequence="b") == [0, 1, 2]
    assert run.find(sequence="a") == run.find(sequence="t0") == []


def test_a_label_is_unique_among_the_living() -> None:
    one = new_table()
    two = pagesim.BlockTable(4, one._allocator)
    with record(one._allocator) as run:
        one.allocate([1])
        two.allocate([2])
        run.label(one, "a")
        with pytest.raises(UsageError, match="another table is already called 'a'"):
            run.label(two, "a")
        one.free()
        run.label(two, "a")
        run.label(two, "b")
        one.allocate([3])
    assert subjects(run) == ["a", "b", "a", "a"]
    assert run.at(2).tables.keys() == {"a", "b"}
    assert run.at(4).tables["a"].token_ids == (3,)


def test_a_name_that_went_to_another_is_not_taken_back() -> None:
    one = new_table()
    two = pagesim.BlockTable(4, one._allocator)
    with record(one._allocator) as run:
        one.allocate([1])
        run.label(one, "a")
        one.free()
        two.allocate([2])
        run.label(two, "a")
        one.allocate([3])
    assert subjects(run)[:3] == ["a"] * 3
    assert len(run.at(4).tables) == 2
    assert run.at(4).tables["a"].token_ids == (2,)
    assert run[3].subject not in ("a", "")


def test_nobody_is_called_like_a_label() -> None:
    tables = [new_table()]
    tables += [pagesim.BlockTable(4, tables[0]._allocator) for _ in range(3)]
    with record(tables[0]._allocator) as run:
        run.label(tables[0], "t0")
        run.label(tables[1], "t2")
        for table in tables:
            table.allocate([1])
    assert len(run.at(4).tables) == 4
    assert subjects(run)[:2] == ["t0", "t2"]


def test_a_sequence_keeps_its_id_whoever_was_called_so() -> None:
    story = new_story()
    table = pagesim.BlockTable(4, story.manager.block_allocator)
    with record(story.manager) as run:
        table.allocate([7])
        run.label(table, 1)
        story.arrive([1, 2], 1)
    assert run.at(-1).tables[1].token_ids == (1, 2)
    assert len(run.at(-1).tables) == 2


def test_a_label_is_not_that_of_an_earlier_table_with_the_same_id() -> None:
    story = new_story()
    with record(story.manager) as run:
        story.arrive([1], 1).leave()
        story.arrive([1], 1)
        run.label(story.manager.block_tables[1], "second")
    assert subjects(run) == [1, 1, "second"]
    assert [list(run.at(i).tables) for i in range(4)] == [[], [1], [], ["second"]]


def test_a_manager_s_table_under_a_label() -> None:
    story = new_story()
    seq = story.arrive([1], 1)
    with record(story.manager) as run:
        seq.write([2])
        run.label(story.manager.block_tables[1], "mine")
        seq.write([3])
        seq.leave()
        story.arrive([1], 1)
    assert subjects(run) == ["mine", "mine", "mine", 1]
    assert list(run.at(0).tables) == ["mine"]
    assert list(run.at(-1).tables) == [1]
    assert run.find(sequence="mine") == [0, 1, 2]


def test_labels_that_cannot_be() -> None:
    table, stranger = new_table(), new_table()
    with record(table._allocator) as run:
        table.allocate([1])
        for name in (None, True, 1.5, ("a",), "x" * 10_001, "\ud800"):
            with pytest.raises(TypeError, match="a name must be"):
                run.label(table, name)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="must be a BlockTable"):
            run.label("table", "a")  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="allocator not recorded here"):
            run.label(stranger, "a")
        with pytest.raises(UsageError, match="has ended"):
            run[:1].label(table, "a")
    with pytest.raises(UsageError, match="no table can be named 'a' any more"):
        run.label(table, "a")
    assert subjects(run) == ["t0"]
