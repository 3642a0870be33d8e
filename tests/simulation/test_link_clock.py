"""When copies end: each direction is a queue, unless both are one."""

import pytest

from pagesim.simulation.link_clock import LinkClock
from pagesim.sizing.link import Link

OUT, IN = 10.0, 20.0


def test_a_copy_ends_after_all_that_were_submitted_before_it() -> None:
    clock = LinkClock(Link("mine", OUT, IN, 1.0))
    assert clock.submit(5.0, 30, out=True) == 5 + 1 + 3
    assert clock.submit(6.0, 30, out=True) == 9 + 1 + 3  # waits for the first
    assert clock.submit(6.0, 30, out=False) == 6 + 1 + 1.5  # the other direction is free
    assert clock.submit(40.0, 10, out=True) == 40 + 1 + 1  # the link was idle
    assert (clock.free_at(out=True), clock.free_at(out=False)) == (42, 8.5)


def test_directions_that_share_a_link_wait_for_each_other() -> None:
    clock = LinkClock(Link("mine", OUT, IN, share=True))
    assert clock.submit(0.0, 30, out=True) == 3
    assert clock.submit(1.0, 30, out=False) == 4.5
    assert clock.submit(2.0, 10, out=True) == 5.5
    assert clock.free_at(out=False) == clock.free_at(out=True) == 5.5


def test_more_gpus_copy_at_the_same_time() -> None:
    link = Link("mine", OUT, IN, 1.0)
    one, four = LinkClock(link), LinkClock(link.times(4))
    assert one.submit(0.0, 40, out=True) - 1 == pytest.approx(
        4 * (four.submit(0.0, 40, out=True) - 1)
    )
