"""What a student is told about her answer: right, or the smallest case on which it is not."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from pagesim.exercises.case import Case

if TYPE_CHECKING:
    from pagesim.timeline.run import Timeline

GREEN, RED = "#009E73", "#D55E00"


@dataclass(frozen=True)
class Verdict:
    """True when the answer is right; shows itself as text, or as HTML with the player.

    ``tried`` counts the cases up to this verdict. When wrong: the ``case``, what was answered
    (``yours``) and what the simulator says (``expected``), and ``why`` in one sentence; ``run`` is
    what happens in that case, if there is something to step through.
    """

    number: str
    title: str
    right: bool
    tried: int
    case: Case | None = None
    told: str = ""
    yours: str = ""
    expected: str = ""
    why: str = ""
    printed: str = ""
    run: Timeline | None = field(default=None, compare=False)

    def __bool__(self) -> bool:
        return self.right

    @property
    def rows(self) -> list[tuple[str, str]]:
        """What there is to tell of a wrong answer: (label, text) each."""
        rows = [("case", self.told), ("yours", self.yours), ("vLLM's", self.expected)]
        rows += [("why", self.why), ("printed", self.printed.rstrip())]
        return [(label, text) for label, text in rows if text]

    @property
    def headline(self) -> str:
        """The first line."""
        if self.right:
            return f"{self.number} {self.title}: right ({self.tried} cases)"
        return f"{self.number} {self.title}: wrong"

    def __str__(self) -> str:
        lines = [self.headline]
        lines += [f"  {label + ':':8}{text}" for label, text in ([] if self.right else self.rows)]
        if self.run is not None:
            lines.append('  .run holds this case step by step: .run.to_html("run.html")')
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        color = GREEN if self.right else RED
        rows = "".join(
            f'<tr><th style="text-align:left;vertical-align:top">{escape(label)}</th>'
            f'<td style="text-align:left"><pre style="margin:0;white-space:pre-wrap">'
            f"{escape(text)}</pre></td></tr>"
            for label, text in ([] if self.right else self.rows)
        )
        return (
            f'<div class="pagesim-verdict" data-right="{str(self.right).lower()}" '
            f'style="border-left:6px solid {color};padding:4px 12px">'
            f"<strong>{'✓' if self.right else '✗'} {escape(self.headline)}</strong>"
            f"<table>{rows}</table></div>"
            + (self.run._repr_html_() if self.run is not None else "")
        )
