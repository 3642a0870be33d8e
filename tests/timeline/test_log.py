"""The log by itself: rows and events."""

from __future__ import annotations

from pagesim.journal import effects as fx
from pagesim.timeline.log import Log
from tests.timeline.scenes import new_story


def test_a_log_is_read_while_an_event_is_being_recorded() -> None:
    """What the open event has so far is in no event yet, and is not lost."""
    story = new_story()
    log = Log(story.manager.state())
    for blocks in ([0, 1], [2, 3]):
        for block in blocks:
            log.row(fx.TAKE, block, 0)
            before = [[effect.block for effect in event.effects] for event in log]
            assert before == [[0, 1], [2, 3]][: blocks[0] // 2]
        log.event(log.kind_codes["allocate"], -1)
    assert [[effect.block for effect in event.effects] for event in log] == [[0, 1], [2, 3]]
