"""A call inside a larger one that fails later is taken back with it: what scheduling will need."""

from __future__ import annotations

import pytest

import pagesim
from tests.v0.block.state import everything

pytestmark = pytest.mark.ch02


class LaterError(Exception):
    """What goes wrong after the appends have succeeded."""


def running(caching: bool, num_tokens: int) -> tuple[pagesim.SelfAttnBlockSpaceManager, list]:
    """A sequence and a fork of it, which share every block."""
    manager = pagesim.SelfAttnBlockSpaceManager(4, 8, 0, enable_caching=caching)
    parent = pagesim.Sequence(0, list(range(num_tokens)), 4)
    manager.allocate(pagesim.SequenceGroup("a", [parent]))
    parent.status = pagesim.SequenceStatus.RUNNING
    child = parent.fork(1)
    manager.fork(parent, child)
    return manager, [parent, child]


@pytest.mark.parametrize("caching", [False, True], ids=["naive", "caching"])
@pytest.mark.parametrize("num_tokens", [3, 4, 5], ids=["fills-a-block", "new-block", "within"])
def test_appends_inside_a_call_that_fails_later(caching: bool, num_tokens: int) -> None:
    manager, seqs = running(caching, num_tokens)
    for seq in seqs:
        seq.append_token_id(7, {7: pagesim.Logprob(0.0)})
    before = everything(manager)
    journal = manager.journal
    with pytest.raises(LaterError), journal:
        for seq in seqs:
            manager.block_tables[seq.seq_id].append_token_ids([7])
        assert everything(manager) != before
        raise LaterError
    assert everything(manager) == before
    assert not journal.active
    for seq in seqs:  # and nothing stands in the way of doing it now
        manager.append_slots(seq, 0)
        assert manager.block_tables[seq.seq_id].num_full_slots == num_tokens + 1


def test_an_inner_failure_takes_back_the_inner_call_alone() -> None:
    manager, (parent, _) = running(False, 4)
    table = manager.block_tables[parent.seq_id]
    with manager.journal:
        table.append_token_ids([7])
        held = everything(manager)
        with pytest.raises(pagesim.NoFreeBlocksError):
            table.ensure_num_empty_slots(100)
        assert everything(manager) == held
    assert everything(manager) | {"journal": None} == held | {
        "journal": None
    }  # that journal is idle now
    assert table.num_full_slots == 5
