"""One thing that went wrong in a run or a log: what it is, what it cost, and what to change."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pagesim.files.jsonl import JsonObject
from pagesim.journal.effects import Name
from pagesim.quirks.asked import asked

COSTS = ("requests starving", "blocks unusable", "tokens recomputed", "steps lost")
"""What a finding can cost, worst first: who starves forever comes before who only waits."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of a report.

    ``quirk`` is the id of the surprise behind it, such as "w08"; None if it is none of them.
    ``title`` is one line; ``detail`` has the numbers, in one or two sentences. ``cost`` maps words
    of :data:`COSTS` to numbers above 0. ``steps`` are the steps of the run at which it can be seen,
    as ``run.at`` counts them, the first one best; in a log, the numbers of its lines. ``change``
    says what to change, and ``requests`` are the names of those concerned.
    """

    quirk: str | None
    title: str
    detail: str
    cost: Mapping[str, int] = field(default_factory=dict)
    steps: tuple[int, ...] = ()
    change: str = ""
    requests: tuple[Name, ...] = ()

    @property
    def weight(self) -> tuple[int, ...]:
        """What findings are sorted by, the worst first: its costs in the order of COSTS."""
        return tuple(-self.cost.get(word, 0) for word in COSTS)

    @property
    def see(self) -> str:
        """Where to read on: the quirk, and the first page of docs/questions about it."""
        if self.quirk is None:
            return ""
        pages = [question.page for question in asked(self.quirk)[:1]]
        return ", ".join([f"pagesim quirks {self.quirk}", *pages])

    def as_dict(self) -> JsonObject:
        """The finding as --json prints it."""
        return {
            "quirk": self.quirk,
            "title": self.title,
            "detail": self.detail,
            "cost": dict(self.cost),
            "steps": list(self.steps),
            "change": self.change,
            "requests": list(self.requests),
        }
