"""What happened to the pages, step by step: recorded, searched, stepped through, saved.

``FORMAT.md`` in this folder describes the file.
"""

from pagesim.timeline.effects import Effect, Event, Move, Queues, Scheduled, TableChange
from pagesim.timeline.file import load
from pagesim.timeline.questions import Question
from pagesim.timeline.reader import TimelineError
from pagesim.timeline.recorder import record
from pagesim.timeline.run import Timeline
from pagesim.timeline.state import State, TableState

__all__ = [
    "Effect",
    "Event",
    "Move",
    "Question",
    "Queues",
    "Scheduled",
    "State",
    "TableChange",
    "TableState",
    "Timeline",
    "TimelineError",
    "load",
    "record",
]
