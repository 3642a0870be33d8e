"""Members of a group come and go one by one, and no block is lost, whichever ends first."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pagesim
from tests.v0.scheduling.engine import Engine, names

pytestmark = pytest.mark.ch07
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
    group = group_of(2).groups["a"]
    with pytest.raises(pagesim.UsageError, match="group 'a' already has a sequence 1"):
        group.add(group.first_seq.fork(1))
    with pytest.raises(TypeError, match="must be a Sequence, not 7"):
        group.add(7)  # type: ignore[arg-type]
    with pytest.raises(pagesim.UsageError, match="group 'a' has no sequence 9"):
        group.remove(9)
    group.remove(0)
    with pytest.raises(pagesim.UsageError, match="sequence 1 is the last of group 'a'"):
        group.remove(1)
    assert [seq.seq_id for seq in group.seqs] == [1]


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
    before = e.everything()
    with pytest.raises(
        pagesim.UsageError, match=r"sequence 1 of group 'a' has no block.*remove\(1\)"
    ):
        e.step()
    assert e.everything() == before


CONFIGS = st.fixed_dictionaries(
    {
        "gpu": st.integers(6, 30),
        "cpu": st.sampled_from([0, 20, 60]),
        "block_size": st.sampled_from([1, 2, 4]),
        "watermark": st.sampled_from([0.0, 0.1]),
        "max_num_seqs": st.integers(1, 5),
        "num_lookahead_slots": st.sampled_from([0, 0, 3]),
        "enable_chunked_prefill": st.booleans(),
        "preemption_mode": st.sampled_from(["swap", "recompute"]),
        "enable_prefix_caching": st.booleans(),
    }
)


@settings(max_examples=60)
@given(CONFIGS, st.integers(0, 10**6))
def test_no_block_is_lost_however_members_end(config: dict[str, Any], seed: int) -> None:
    r, e = random.Random(seed), Engine(max_num_batched_tokens=40, max_model_len=40, **config)
    ids = iter(range(10_000))
    for step in range(40):
        if step < 25 and r.random() < 0.4:
            prompt = [r.choice([1, 2]) for _ in range(r.randint(1, 12))]
            e.add(f"r{next(ids)}", prompt, seq_id=next(ids))
        for group in list(e.scheduler.running):
            if not group.is_prefill() and len(group.seqs) < 4 and r.random() < 0.2:
                e.fork(group.request_id, next(ids), parent=r.randrange(len(group.seqs)))
        try:
            out = e.step()
        except (RuntimeError, pagesim.UsageError, pagesim.NoFreeBlocksError):
            # No room on the CPU, which can_swap_out may overlook (q07); a fork to recompute.
            queue = e.scheduler.running or e.scheduler.swapped or e.scheduler.waiting
            e.scheduler.abort_seq_group(queue[-1].request_id)
            continue
        for group in out.ignored_seq_groups:  # vLLM leaves its blocks on the CPU: q20
            for seq in group.seqs:
                e.scheduler.free_seq(seq)
        for group in list(e.scheduler.running):
            if not group.is_prefill():
                ending = [seq.seq_id for seq in group.seqs if r.random() < 0.15]
                e.end(group.request_id, *r.sample(ending, len(ending)))
    for queue in (e.scheduler.running, e.scheduler.swapped, e.scheduler.waiting):
        e.scheduler.abort_seq_group([group.request_id for group in queue])
    assert e.scheduler.block_manager.block_tables == {}
    assert e.free == (config["gpu"], config["cpu"])
