"""A log of vLLM explained: what is wrong, what to change, and what its figures mean.

    with open("server.log", "rb") as file:
        print(explain_file(file).text())

`explain_log` takes any lines, in memory or not, as text or bytes, and returns the findings, the
worst first; their ``steps`` are line numbers. `explain_file` returns the whole report and reads a
file of any size, one line at a time. Nothing in a log is believed to be well-formed: what is not a
line of vLLM is passed over.
"""

import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pagesim.explain import log_cache, log_preempted, log_start, log_stuck, log_waiting
from pagesim.explain.finding import Finding
from pagesim.explain.log_meaning import Row, meanings
from pagesim.explain.log_reading import Readable, log_lines
from pagesim.explain.log_story import LogStory, story_of
from pagesim.files.jsonl import JsonObject

WIDTH = 100
MOST_OF_A_KIND = 16
"""How often the same is said, of as many engines."""

FINDERS: tuple[Callable[[LogStory], list[Finding]], ...] = (
    *(log_start.refused, log_start.no_memory, log_start.occupied),
    *(
        log_stuck.stuck,
        log_stuck.looping,
        log_cache.no_room_to_swap,
        log_preempted.ignored,
        log_start.too_long,
    ),
    *(log_preempted.preempted, log_waiting.held_back, log_waiting.crowded),
    *(log_cache.second_tier, log_cache.never_hit, log_cache.held, log_start.disagreeing),
    *(log_waiting.uneven, log_cache.rejected, log_cache.not_reset),
)
"""What is looked for, the worst first."""


@dataclass(frozen=True, slots=True)
class LogReport:
    """What a log says: its findings, and its kinds of lines with their meanings."""

    findings: list[Finding]
    meanings: list[Row]
    engine: str
    lines: int
    known: int

    def text(self) -> str:
        """The report for people: the findings, then the meanings."""
        parts = [_finding(at, one) for at, one in enumerate(self.findings, 1)]
        if not self.known:
            return f"None of {self.lines:,} lines is one that vLLM logs about its cache."
        if not parts:
            parts.append(f"Nothing in {self.known:,} lines about the cache tells of trouble.")
        if self.meanings:
            rows = [_row(f"{name} (line {line:,})", text) for line, name, text in self.meanings]
            parts.append("\n".join([f"What the lines of vLLM {self.engine.upper()} mean", *rows]))
        return "\n\n".join(parts)

    def as_dict(self) -> JsonObject:
        """The report as --json prints it."""
        return {
            "engine": self.engine,
            "lines": self.lines,
            "known": self.known,
            "findings": [one.as_dict() for one in self.findings],
            "meanings": [
                {"line": line, "name": name, "text": text} for line, name, text in self.meanings
            ],
        }


def explain_log(lines: Iterable[str | bytes]) -> list[Finding]:
    """What is wrong according to these lines, the worst first."""
    return _findings(story_of(lines))


def explain_file(file: Readable) -> LogReport:
    """The report of a log that is open for reading bytes."""
    story = story_of(log_lines(file))
    found = _findings(story)
    return LogReport(found, meanings(story), story.version, story.lines, story.known)


def _findings(story: LogStory) -> list[Finding]:
    return [finding for find in FINDERS for finding in find(story)[:MOST_OF_A_KIND]]


def _finding(number: int, one: Finding) -> str:
    lines = ", ".join(f"{line:,}" for line in one.steps)
    seen = f"line {lines}" if len(one.steps) == 1 else f"lines {lines}"
    quirk = f", {one.see}" if one.see else ""
    rows = [f"{number}. {one.title}"]
    for head, text in (("change: ", one.change), ("why: ", one.detail), ("", f"{seen}{quirk}")):
        rows += textwrap.wrap(f"{head}{text}", WIDTH, initial_indent="   ", subsequent_indent="   ")
    return "\n".join(rows)


def _row(name: str, text: str) -> str:
    return textwrap.fill(f"{name}: {text}.", WIDTH, initial_indent="  ", subsequent_indent="    ")
