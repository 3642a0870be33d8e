"""What a student is told about an answer: it is right, or the smallest case where it is not."""

import copy
import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from typing import Any

from pagesim.exercises.beside import beside
from pagesim.exercises.case import Case, Function
from pagesim.exercises.guard import attempt
from pagesim.player.describe import counted
from pagesim.timeline.pair import Compared
from pagesim.timeline.run import Timeline

Replay = Callable[[Any, Case, Any], Timeline | Compared | None]
"""``(function, case, answer)`` → the run of an answer, or a pair that says it all by itself."""

# Of Okabe and Ito's colours, as everything in the player.
RIGHT, WRONG, BLANK = "#009E73", "#D55E00", ("currentColor", "·")
_BOX = "flex:1 1 18em;border:1px solid currentColor;padding:2px 8px"
_PRE = "margin:0;white-space:pre-wrap;overflow-wrap:anywhere"


@dataclass(frozen=True)
class Verdict:
    """True when the answer is right; shows itself as text, or in a notebook with the player.

    ``tried`` counts the cases up to this verdict, 0 if nothing is written yet. When wrong: the
    ``case`` and its ``words``, what was answered (``yours``), what is right
    (``expected``) and ``why`` in one sentence; ``printed`` is what the function printed in that
    case.
    """

    number: str
    title: str
    right: bool
    tried: int
    case: Case | None = None
    words: str = ""
    yours: str = ""
    expected: str = ""
    why: str = ""
    printed: str = ""
    play: Callable[[Case], Timeline] | None = field(default=None, compare=False)
    replay: Replay | None = field(default=None, compare=False)
    function: Function | None = field(default=None, compare=False)
    answer: Any = field(default=None, compare=False)

    def __bool__(self) -> bool:
        return self.right

    @functools.cached_property
    def run(self) -> Timeline | None:
        """What happens in this case, step by step; None when right, or if there is no run of it."""
        if self.play is None or self.case is None:
            return None
        run = self.play(self.case)
        title = run.notes.title or f"{self.title}: what vLLM does"
        return run.annotate(title, opens=len(run) if run.notes.opens is None else None)

    @functools.cached_property
    def pair(self) -> Compared | None:
        """That run and the one of the answer on one page; None if the answer cannot be played."""
        right, replay, case = self.run, self.replay, copy.deepcopy(self.case)
        if right is None or replay is None or case is None:
            return None
        shown = attempt(lambda: replay(self.function, case, self.answer), Case(()), seconds=5.0)
        return None if shown.problem or shown.value is None else beside(right, shown.value)

    @property
    def headline(self) -> str:
        """The first line."""
        if self.right:
            return f"{self.number} {self.title}: right ({counted(self.tried, 'case')})"
        return f"{self.number} {self.title}: {'wrong' if self.tried else 'not written yet'}"

    def __str__(self) -> str:
        rows = [("case", self.words), ("yours", self.yours), ("expected", self.expected)]
        rows += [("why", self.why), ("printed", self.printed.rstrip())]
        lines = [self.headline]
        for label, text in rows:
            if text and self.case is not None:
                lines.append(f"  {label + ':':10}" + text.replace("\n", "\n" + 12 * " "))
        if self.run is not None:
            name = "run" if self.pair is None else "pair"
            way = "step through it in a notebook, or write a page"
            lines.append(f'  {way}: .{name}.to_html("run.html")')
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        color, mark = (RIGHT, "✓") if self.right else (WRONG, "✗") if self.tried else BLANK
        inside = f'<strong style="color:{color}">{mark} {escape(self.headline)}</strong>'
        if self.case is not None:
            inside += _line("case", self.words)
            boxes = _box("yours", self.yours) + _box("expected", self.expected)
            inside += f'<div style="display:flex;flex-wrap:wrap;gap:8px">{boxes}</div>'
            inside += f"<p>{escape(self.why)}</p>" if self.why else ""
            inside += _line("printed", self.printed.rstrip())
        words = (
            f'<div class="pagesim-verdict" data-right="{str(self.right).lower()}" '
            f'style="border-left:6px solid {color};padding:4px 12px">{inside}</div>'
        )
        shown = self.pair or self.run
        return words + (shown._repr_html_() if shown is not None else "")


def _line(label: str, text: str) -> str:
    return f'<pre style="{_PRE}">{label}: {escape(text)}</pre>' if text else ""


def _box(label: str, text: str) -> str:
    pre = f'<pre style="{_PRE}">{escape(text)}</pre>'
    return f'<div style="{_BOX}"><small>{escape(label)}</small>{pre}</div>'
