"""What the scenes of V0's scheduler in pagesim/quirks do not show."""

import pytest

from tests.v0.scheduling.engine import Engine


@pytest.mark.parametrize("mode", [None, "recompute"])
def test_q21_a_forked_group_cannot_be_recomputed(mode: str | None) -> None:
    """Without a mode too: vLLM asks for a count that is 1 for every group."""
    e = Engine(gpu=4, watermark=0.0, preemption_mode=mode)
    e.add("a", 8)
    e.step()
    e.fork("a", 9)
    e.step()  # each takes a block of its own for its ninth token
    e.refuses(AssertionError, r"'a' has 2 sequences .* preemption_mode='swap'")


def test_q24_the_metadata_hold_copies_that_later_steps_do_not_change() -> None:
    e = Engine()
    e.add("a", 4)
    e.step()
    first = e.metadata[0]
    assert first.block_tables == {0: [0]}
    e.step()
    assert e.metadata[0].block_tables == {0: [0, 1]}
    assert first.block_tables == {0: [0]}
