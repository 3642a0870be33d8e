"""A report as a page: the findings, and below them the player, which they open at their step."""

from collections.abc import Sequence
from html import escape
from os import PathLike
from pathlib import Path

from pagesim.explain.finding import Finding
from pagesim.explain.report import costs
from pagesim.files import replacing
from pagesim.player.page import page
from pagesim.timeline import Timeline
from pagesim.timeline.display import MAX_EVENTS, described, packed_for_player

HERE = Path(__file__).parent
MOST = 5
"""How many steps of a finding are links."""


def write(
    run: Timeline, path: str | PathLike[str], title: str, summary: str, findings: Sequence[Finding]
) -> None:
    """Write the page; of a run that is too long for one, the part around the first finding."""
    steps = [step for finding in findings for step in finding.steps[:1]]
    opens = min(steps[0] if steps else 0, len(run))
    first = 0
    if len(run) > MAX_EVENTS:
        first = max(0, min(opens - MAX_EVENTS // 2, len(run) - MAX_EVENTS))
    part = run[first : first + MAX_EVENTS]
    part.annotate(opens=opens - first)
    packed, title = packed_for_player(part, title)
    above = _report(title, summary, findings, first, len(part))
    style, script = (
        (HERE / name).read_text(encoding="utf-8") for name in ("report.css", "report.js")
    )
    text = page(packed, title=title, alt=described(part), above=above, style=style, script=script)
    with replacing(path) as file:
        file.write(text.encode())


def _report(title: str, summary: str, findings: Sequence[Finding], first: int, length: int) -> str:
    items = "".join(_item(finding, first, length) for finding in findings)
    part = f"<p>The player has the events {first:,} to {first + length:,} of the run.</p>\n"
    return (
        f'<section class="report"><h1>{escape(title)}</h1>\n<p>{escape(summary)}</p>\n'
        f"{part if first else ''}<ol>\n{items}</ol>\n</section>\n"
    )


def _item(finding: Finding, first: int, length: int) -> str:
    here = [step for step in finding.steps if first <= step <= first + length]
    title = f'<span class="title">{escape(finding.title)}</span>'
    if here:
        title = _link(here[0], first, title)
    lines = [title]
    if finding.detail:
        lines.append(f"<p>{escape(finding.detail)}</p>")
    if finding.cost:
        lines.append(f"<p>Cost: {escape(costs(finding))}.</p>")
    if finding.change:
        lines.append(f'<p class="change">What to change: {escape(finding.change)}.</p>')
    if finding.quirk:
        lines.append(f"<p>See: {escape(finding.see)}</p>")
    if len(here) > 1:
        links = ", ".join(_link(step, first, f"{step:,}") for step in here[:MOST])
        more = f" and {len(here) - MOST:,} more" if len(here) > MOST else ""
        lines.append(f"<p>In the player: {links}{more}</p>")
    return f"<li>{''.join(lines)}</li>\n"


def _link(step: int, first: int, words: str) -> str:
    return f'<a href="#step={step - first}" data-step="{step - first}">{words}</a>'
