"""In which order cached blocks give way: the rules of vLLM's evictor, one by one."""

from __future__ import annotations

import pytest

from pagesim import UsageError
from pagesim.block.evictor import LRUEvictor

pytestmark = pytest.mark.ch02


def evictor_of(*entries: tuple[int, int, float]) -> LRUEvictor:
    """An evictor with entries (id, tokens up to its end, last access), in this order."""
    evictor = LRUEvictor()
    for block_id, num_tokens, last_accessed in entries:
        evictor.add(block_id, 1000 + block_id, num_tokens, last_accessed)
    return evictor


def evicted(evictor: LRUEvictor) -> list[int]:
    """All ids in the order in which they go."""
    return [evictor.evict()[0] for _ in range(evictor.num_blocks)]


def test_the_least_recently_used_goes_first() -> None:
    assert evicted(evictor_of((1, 4, 1.0), (2, 4, 2.0), (3, 4, 3.0))) == [1, 2, 3]


def test_of_the_same_age_the_longest_prefix_goes_first() -> None:
    assert evicted(evictor_of((1, 4, 1.0), (2, 12, 1.0), (3, 8, 1.0))) == [2, 3, 1]


def test_of_the_same_age_and_length_the_earlier_entry_goes_first() -> None:
    assert evicted(evictor_of((3, 4, 1.0), (1, 4, 1.0), (2, 4, 1.0))) == [3, 1, 2]


def test_age_counts_before_length() -> None:
    assert evicted(evictor_of((1, 4, 1.0), (2, 99, 2.0))) == [1, 2]


def test_the_scan_ends_at_the_first_newer_entry() -> None:
    assert evictor_of((1, 4, 2.0), (2, 8, 3.0), (3, 4, 1.0)).candidate() == 1


def test_an_older_entry_behind_is_taken_only_for_its_longer_prefix() -> None:
    assert evictor_of((1, 4, 2.0), (2, 8, 1.0)).candidate() == 2
    assert evictor_of((1, 8, 2.0), (2, 4, 1.0)).candidate() == 1
    # Having moved on to the older entry, the scan measures the next ones against that.
    assert evictor_of((1, 4, 2.0), (2, 8, 1.0), (3, 12, 2.0)).candidate() == 2


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


def test_what_is_put_back_stands_where_it_stood() -> None:
    evictor = evictor_of((1, 4, 1.0), (2, 4, 1.0), (3, 4, 1.0))
    entry = evictor.remove(2)
    evictor.put_back(2, entry)
    assert list(evictor.free_table) == [1, 2, 3]


def test_what_is_not_there() -> None:
    evictor = evictor_of((1, 4, 1.0))
    for call in (lambda: evictor.remove(5), lambda: evictor.update(5, 1.0)):
        with pytest.raises(UsageError, match="block 5 "):
            call()
    assert evicted(evictor) == [1]
    with pytest.raises(UsageError, match="no block to evict"):
        evictor.evict()
