"""Members of a group come and go one by one, and no block is lost, whichever ends first."""

from typing import Any

import pytest

import pagesim
from tests.v0.scheduling.engine import Engine, names

Status = pagesim.SequenceStatus


def group_of(count: int, **config: Any) -> Engine:
    """A group ``a`` of so many sequences that decode, and share the blocks of their prompt."""
    e = Engine(**config)
    e.add("a", 6)
    e.step()
    for child in range(1, count):
        e.fork("a", child)
    return e


def test_add_and_remove() -> None:
    e = group_of(3)
    group = e.groups["a"]
    assert ([seq.seq_id for seq in group.seqs], group.is_single_seq) == ([0, 1, 2], False)
    assert list(group.seqs_dict) == [0, 1, 2]
    group.remove(1)
    assert ([seq.seq_id for seq in group.seqs], list(group.seqs_dict)) == ([0, 2], [0, 2])
    group.remove(0)
    assert (group.first_seq.seq_id, group.is_single_seq) == (2, True)


def test_what_cannot_be_added_or_removed() -> None:
    e = group_of(2)
    group = e.groups["a"]
    again = group.first_seq.fork(1)
    taken = "group 'a' already has a sequence 1"
    e.refuses(pagesim.UsageError, taken, lambda: group.add(again))
    e.refuses(TypeError, "must be a Sequence, not 7", lambda: group.add(7))
    e.refuses(pagesim.UsageError, "group 'a' has no sequence 9", lambda: group.remove(9))
    group.remove(0)
    last = "sequence 1 is the last of group 'a'"
    e.refuses(pagesim.UsageError, last, lambda: group.remove(1))


@pytest.mark.parametrize("first", [0, 1, 2])
def test_the_others_go_on_whoever_ends_first(first: int) -> None:
    e = group_of(3)
    e.steps(3)
    e.end("a", first)
    assert [seq.seq_id for seq in e.groups["a"].seqs] == [i for i in range(3) if i != first]
    for left in (2, 2, 2):
        assert names(e.step()) == "a"
        assert len(e.metadata[0].block_tables) == left
    e.end("a", *(i for i in range(3) if i != first))
    assert e.free == (100, 0)
    assert not e.scheduler.has_unfinished_seqs()


def test_a_member_that_was_freed_and_not_removed_is_named() -> None:
    e = group_of(2)
    e.groups["a"].seqs[1].status = Status.FINISHED_STOPPED
    e.scheduler.free_finished_seq_groups()
    e.refuses(pagesim.UsageError, r"sequence 1 of group 'a' has no block.*remove\(1\)")
