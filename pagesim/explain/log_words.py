"""Words that all findings of a log use."""

from pagesim.explain.log_engine import EngineLog, Spell
from pagesim.explain.log_story import LogStory

LEAST = 3
"""Lines that tell of a state and not of a moment."""


def where(story: LogStory, engine: EngineLog, spell: Spell | None = None) -> str:
    """The engine, if there are several, and the lines and the time of a spell."""
    name = f"Engine {engine.number:03d}, " if len(story.engines) > 1 else ""
    if spell is None:
        return name
    end = engine.last_line if spell is engine.now.get("stuck") else None
    lines = f"from line {spell.start:,} on, {spell.lines:,} of its lines"
    lines = lines if spell.lines > 1 else f"line {spell.start:,}"
    lines += ", then silence" if spell.silent else ""
    passed = f", {spell.seconds:,} s" if spell.seconds else ""
    return f"{name}{lines}{passed}{', to the end of the log' if end else ''}: "
