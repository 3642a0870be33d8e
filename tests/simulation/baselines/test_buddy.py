"""Contiguous stretches: never two over one slot, and all of the pool again at the end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagesim.errors import UsageError
from pagesim.simulation.baselines import BuddyAllocator, FirstFitAllocator

# A size to allocate, or (below 0) which of the living ones to free.
CALLS = st.lists(st.integers(-20, 70), max_size=60)


def live_stretches(
    allocator: BuddyAllocator | FirstFitAllocator, calls: list[int]
) -> list[tuple[int, int, int]]:
    """Play the calls; (start, granted, asked) of what is given away in the end."""
    live: list[tuple[int, int, int]] = []
    for call in calls:
        if call > 0:
            holes = [size for _, size in allocator.free_stretches()]
            stretch = allocator.allocate(call)
            assert (stretch is None) == (max(holes, default=0) < call)
            if stretch is not None:
                live.append((*stretch, call))
        elif live:
            allocator.free(live.pop(call % len(live))[0])
        taken = sorted([*((s, n) for s, n, _ in live), *allocator.free_stretches()])
        assert [start for start, _ in taken] == [0, *(sum(t) for t in taken[:-1])]
    return live


@given(CALLS, st.integers(1, 300))
def test_buddies_are_powers_of_two_that_tile_the_pool(calls: list[int], pool: int) -> None:
    allocator = BuddyAllocator(pool, 64)
    whole = allocator.free_stretches()
    assert sum(size for _, size in whole) == pool
    live = live_stretches(allocator, calls)
    for start, granted, asked in live:
        assert asked <= granted < 2 * asked
        assert granted & (granted - 1) == 0 == start % granted
    for start, _, _ in live:
        allocator.free(start)
    assert allocator.free_stretches() == whole


@given(CALLS, st.integers(1, 300))
def test_first_fit_grants_what_is_asked_and_merges_holes(calls: list[int], pool: int) -> None:
    allocator = FirstFitAllocator(pool)
    live = live_stretches(allocator, calls)
    assert all(granted == asked for _, granted, asked in live)
    for start, _, _ in live:
        allocator.free(start)
    assert allocator.free_stretches() == [(0, pool)]


def test_the_papers_pool_has_seven_whole_roots_and_five_smaller_ones() -> None:
    allocator = BuddyAllocator(15_728, 2048)
    roots = [size for _, size in allocator.free_stretches()]
    assert roots == [2048] * 7 + [1024, 256, 64, 32, 16]
    assert allocator.largest == 2048
    assert [allocator.allocate(2048) for _ in range(8)] == [
        *((i * 2048, 2048) for i in range(7)),
        None,
    ]
    assert allocator.allocate(1025) is None
    assert allocator.allocate(513) == (7 * 2048, 1024)


def test_the_lowest_address_of_the_smallest_stretch_is_taken() -> None:
    buddies = BuddyAllocator(64, 64)
    assert [buddies.allocate(size) for size in (5, 16, 3)] == [(0, 8), (16, 16), (8, 4)]
    holes = FirstFitAllocator(64)
    assert [holes.allocate(size) for size in (5, 16, 3)] == [(0, 5), (5, 16), (21, 3)]
    holes.free(5)
    assert holes.allocate(17) == (24, 17)
    assert holes.allocate(16) == (5, 16)


@pytest.mark.parametrize("allocator", [BuddyAllocator(64, 64), FirstFitAllocator(64)])
def test_what_was_not_given_cannot_be_freed(allocator: BuddyAllocator | FirstFitAllocator) -> None:
    allocator.allocate(8)
    with pytest.raises(UsageError, match="begins at slot 4"):
        allocator.free(4)
    allocator.free(0)
    with pytest.raises(UsageError, match="begins at slot 0"):
        allocator.free(0)


def test_roots_are_powers_of_two() -> None:
    with pytest.raises(UsageError, match="root must be a power of two, not 48"):
        BuddyAllocator(64, 48)
