"""What happens to the pages, step by step: recorded, searched, stepped through and saved.

The file format is described in ``FORMAT.md`` in this folder.
"""

from pagesim.journal.state import Queues, State, TableState
from pagesim.timeline.checked import TimelineError
from pagesim.timeline.events import (
    Effect,
    Event,
    Mark,
    Move,
    Opened,
    Scheduled,
    TableChange,
    Tokens,
)
from pagesim.timeline.pair import compare
from pagesim.timeline.questions import Question
from pagesim.timeline.reader import load
from pagesim.timeline.record import record
from pagesim.timeline.run import Timeline

__all__ = [
    "Effect",
    "Event",
    "Mark",
    "Move",
    "Opened",
    "Question",
    "Queues",
    "Scheduled",
    "State",
    "TableChange",
    "TableState",
    "Timeline",
    "TimelineError",
    "Tokens",
    "compare",
    "load",
    "record",
]
