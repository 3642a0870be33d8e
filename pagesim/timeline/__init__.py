"""What happens to the pages, step by step: recorded, searched, stepped through and saved.

The file format is described in ``FORMAT.md`` in this folder. ``record`` and ``names`` turn a
journal into a ``log``, which has the rows that an engine wrote. ``events`` is how Python reads
these rows, ``pages`` and ``seek`` give the state at a step, and ``search`` finds events. ``file``
writes a run and ``reader`` reads it back. ``captions`` (for V0), ``captions_v1``,
``captions_tier`` and ``captions_rows`` (for contiguous memory) say in a sentence what happened and
why. ``tiers`` lets a second tier join a recording. ``pair`` puts two runs on one page, ``film``
adds what a kernel reads, and ``heard`` tells what a router would have heard.
"""

from pagesim.journal.state import Group, Job, Queues, State, TableState, Tier
from pagesim.timeline.checked import TimelineError
from pagesim.timeline.events import (
    Effect,
    Event,
    Lookup,
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

__all__ = ["Effect", "Event", "Mark", "Move", "Opened", "Scheduled", "TableChange", "Tokens"]
__all__ += [
    "Group",
    "Job",
    "Lookup",
    "Question",
    "Queues",
    "State",
    "TableState",
    "Tier",
    "Timeline",
    "TimelineError",
]
__all__ += ["compare", "load", "record"]
