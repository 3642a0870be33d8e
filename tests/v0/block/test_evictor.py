"""In which order cached blocks give way: by vLLM's scan, whatever is called."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagesim import PrefixCachingBlockAllocator, UsageError
from pagesim.v0.evictor import IndexedLRUEvictor, LRUEvictor


def evictor_of(*entries: tuple[int, int, float]) -> LRUEvictor:
    """An evictor with entries (id, tokens up to its end, last access), in this order."""
    evictor = LRUEvictor()
    for block_id, num_tokens, last_accessed in entries:
        evictor.add(block_id, 1000 + block_id, num_tokens, last_accessed)
    return evictor


def evicted(evictor: LRUEvictor) -> list[int]:
    """All ids in the order in which they go."""
    return [evictor.evict()[0] for _ in range(evictor.num_blocks)]


def test_evicting_tells_id_and_hash_and_takes_one_out() -> None:
    evictor = evictor_of((7, 4, 1.0), (8, 4, 1.0))
    assert evictor.evict() == (7, 1007)
    assert (evictor.num_blocks, 7 in evictor, 8 in evictor) == (1, False, True)


def test_update_changes_the_time_and_not_the_place() -> None:
    evictor = evictor_of((1, 4, 1.0), (2, 4, 2.0))
    evictor.update(1, 9.0)
    assert list(evictor.free_table) == [1, 2]
    assert evictor.free_table[1].last_accessed == 9.0
    assert evictor.candidate() == 1


def test_what_is_not_there() -> None:
    evictor = evictor_of((1, 4, 1.0))
    for call in (lambda: evictor.remove(5), lambda: evictor.update(5, 1.0)):
        with pytest.raises(UsageError, match="block 5 "):
            call()
    assert evicted(evictor) == [1]
    with pytest.raises(UsageError, match="no block to evict"):
        evictor.evict()


def test_a_block_tells_when_it_was_used_awake_and_asleep() -> None:
    pool = PrefixCachingBlockAllocator(6, 4)
    block = pool.allocate_immutable_block(None, [1] * 4)
    pool.mark_blocks_as_accessed([0], 7.0)
    assert block.last_accessed == pool.get_last_accessed(0) == 7.0
    pool.free(block)
    assert pool.get_last_accessed(0) == 7.0
    assert pool.allocate_immutable_block(None, [1] * 4).last_accessed == -1.0


def by_the_rule(evictor: LRUEvictor) -> int:
    """vLLM's scan, over the entries as they stand."""
    entries = iter(evictor.free_table.items())
    chosen, best = next(entries)
    for block_id, entry in entries:
        if best.last_accessed < entry.last_accessed:
            break
        if best.num_hashed_tokens < entry.num_hashed_tokens:
            chosen, best = block_id, entry
    return chosen


@settings(max_examples=80, derandomize=True)
@pytest.mark.parametrize("kind", [LRUEvictor, IndexedLRUEvictor])
@given(seed=st.integers(0, 10**6), in_order=st.booleans())
def test_any_sequence_of_calls_evicts_by_the_rule(
    kind: type[LRUEvictor], seed: int, in_order: bool
) -> None:
    """What is remembered between two evictions never changes who goes."""
    r, evictor, now, taken = random.Random(seed), kind(), 0.0, []
    for _ in range(60):
        now += r.choice([0, 0, 0, 1])
        when = now if in_order else r.choice([now, now, 1.0, 3.0])
        known, act = list(evictor.free_table), r.random()
        if act < 0.5 or not known:
            evictor.add(r.randrange(12), 0, r.randrange(1, 6), when)
        elif act < 0.75:
            expected = by_the_rule(evictor)
            assert evictor.candidate() == expected
            assert evictor.evict()[0] == expected
        elif act < 0.85:
            block_id = r.choice(known)
            taken.append((block_id, evictor.remove(block_id)))
        elif act < 0.9 and not in_order:
            evictor.update(r.choice(known), when)
        elif taken and taken[-1][0] not in evictor:
            evictor.put_back(*taken.pop())
    while evictor.num_blocks:
        expected = by_the_rule(evictor)
        assert evictor.evict()[0] == expected
