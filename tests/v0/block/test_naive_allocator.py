"""The pool itself, beside what the recordings of vLLM and the state machines prove."""

import pytest

from pagesim import BlockAllocator, Device, NoFreeBlocksError, RefCounter, UsageError
from tests.v0.block.scenes import both_kinds, new_allocator


@both_kinds
def test_running_out_says_so_under_one_name(kind: str) -> None:
    pool = new_allocator(kind, gpu=0).allocator_on(Device.GPU)
    assert BlockAllocator.NoFreeBlocksError is NoFreeBlocksError
    with pytest.raises(pool.NoFreeBlocksError, match="no free block: all 0"):
        pool.allocate_mutable_block(None)


def test_reference_counts() -> None:
    counter = RefCounter([3, 5])
    assert (counter.incr(3), counter.incr(3), counter.decr(3)) == (1, 2, 1)
    view = counter.as_readonly()
    assert (view.get(3), view.get(5)) == (1, 0)
    for change in (view.incr, view.decr):
        with pytest.raises(ValueError, match="read-only: block 3"):
            change(3)
    for call, shown in [
        (lambda: counter.decr(5), "block 5 is free: it has no owner"),
        (lambda: counter.incr(4), "block 4 does not"),
        (lambda: counter.get("a"), "block 'a' does not"),  # type: ignore[arg-type]
    ]:
        with pytest.raises(UsageError, match=shown):
            call()
    assert (counter.get(3), counter.get(5)) == (1, 0)
