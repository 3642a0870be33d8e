"""The story of one request: what it waited for, what it found cached, and what it lost."""

import textwrap
from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby

from pagesim.errors import UsageError
from pagesim.explain.finding import Finding
from pagesim.explain.groups import lost, who_said_no
from pagesim.explain.history import History, Life, Reason, Stay, Step
from pagesim.explain.prefix import miss, where_it_went
from pagesim.explain.waiting import text
from pagesim.explain.words import number, times, who
from pagesim.files.jsonl import JsonObject
from pagesim.timeline.facts import group_text

ENDS = {"finish": "has finished", "abort": "is aborted", "ignore": "is dropped: it can never fit"}


@dataclass(slots=True)
class Story:
    """What happened to a request: pairs of a step of the run, as run.at counts, and a sentence."""

    history: History
    life: Life
    events: list[tuple[int, str]] = field(default_factory=list)

    def text(self) -> str:
        """The story for people."""
        lines = [f"{who(self.life.name)}, step by step (events count what the player shows):", ""]
        for event, told in self._sorted():
            step = self.history.step_of(event - 1)
            head = f"{'' if step is None else f'step {step:,}':<11}{f'event {event:,}':<13}"
            lines += textwrap.wrap(told, 100, initial_indent=head, subsequent_indent=" " * 24)
        return "\n".join(lines)

    def findings(self) -> list[Finding]:
        """The story as a page shows it."""
        return [Finding(None, told, "", {}, (step,)) for step, told in self._sorted()]

    def _sorted(self) -> list[tuple[int, str]]:
        return sorted(self.events, key=lambda event: event[0])

    def as_dict(self) -> JsonObject:
        """The story for --json."""
        life = self.life
        return {
            "request": life.name,
            "prompt": life.prompt,
            "preemptions": len(life.preemptions),
            "tokens_computed_twice": life.twice,
            "ended": life.how or None,
            "story": [{"step": step, "text": told} for step, told in self._sorted()],
        }


def story(history: History, request: str) -> Story:
    """The story of a request. UsageError if the run has none of this name."""
    named = {str(name): name for name in history.requests}
    if request not in named:
        known = ", ".join(list(named)[:8]) or "none"
        more = f" and {len(named) - 8} more" if len(named) > 8 else ""
        raise UsageError(f"there is no request {request!r:.80} in this run: it has {known}{more}")
    life = history.requests[named[request]]
    told = Story(history, life)
    _arrival(history, told)
    _waits(history, told)
    for event, _ in life.loads:
        told.events.append((event + 1, "begins to load its prefix from the CPU"))
    for at, stay in enumerate(life.stays):
        _admission(history, told, stay, at)
        if stay.how == "preempt":
            _preemption(history, told, at)
    if life.end is not None:
        again = f"; {number(life.twice, 'token')} were computed twice" if life.twice else ""
        told.events.append((life.end + 1, f"{ENDS[life.how]}{again}"))
    return told


def _arrival(history: History, told: Story) -> None:
    life = told.life
    if not life.arrived:
        return
    what = f"arrives with {number(life.prompt, 'token')}" if life.prompt else "arrives"
    needed = history.blocks(life.prompt) if life.prompt else None
    needs = f", which need {number(needed, 'block')} of {history.usable:,}" if needed else ""
    told.events.append((life.arrived, f"{what}{needs}"))


def _waits(history: History, told: Story) -> None:
    """Every stretch of steps in which it waited behind the same request, or was the first."""
    name = told.life.name
    pairs = zip(history.steps, history.reasons, strict=True)
    seen = [
        (wait, step, reason)
        for step, reason in pairs
        if reason is not None and (wait := told.life.wait_at(step.event)) is not None
    ]
    for (_, head), group in groupby(seen, lambda each: (each[0], each[2].request)):
        stretch = [(step, reason) for _, step, reason in group]
        last, count = stretch[-1][0], number(len(stretch), "step")
        line = f"waits {count} as the first"
        if head != name:
            ahead = last.waiting.index(name) if name in last.waiting else 0
            line = f"waits {count} behind {who(head)}"
            line += f", as number {ahead + 1} of {last.num_waiting:,}" if ahead > 1 else ""
            line += f". Of {who(head)}"
        told.events.append((stretch[0][0].event + 1, f"{line}: {_rules(history, stretch)}"))


def _rules(history: History, stretch: list[tuple[Step, Reason]]) -> str:
    """The rules that said no, the most frequent first, with the numbers of the last time."""
    last = {reason.kind: reason for _, reason in stretch}
    counts = Counter(reason.kind for _, reason in stretch).most_common()
    if len(counts) == 1:
        return text(last[counts[0][0]], history)
    parts = [f"{times(count)}, {text(last[kind], history)}" for kind, count in counts]
    return "; ".join(parts)


def _admission(history: History, told: Story, stay: Stay, at: int) -> None:
    life = told.life
    begins = "is admitted" if not at else "resumes"
    line = f"{begins} with {number(stay.num_tokens, 'token')}" if stay.num_tokens else begins
    if history.is_v1 and history.start.caching and stay.first is not None:
        line += f"; {stay.found:,} were found" if stay.found else "; none was found"
    if at and history.is_v1:
        before = life.stays[at - 1].computed
        again = max(min(before, stay.num_tokens) - stay.found, 0)
        line += f", and {number(again, 'token')} must be computed again"
    told.events.append((stay.event + 1, f"{line}{_why_not_more(history, stay)}"))
    if stay.steps:
        prefill = number(stay.steps - stay.sampled + (stay.sampled > 0), "step")
        line = f"computes its prompt in {prefill}, and generates {number(stay.sampled, 'token')}"
        if not stay.sampled:
            line = f"computes a part of its prompt in {prefill}"
        told.events.append((stay.event + 1, line))


def _why_not_more(history: History, stay: Stay) -> str:
    """Why a lookup found no more, if the run says so."""
    if (groups := who_said_no(stay.lookups)) is not None:
        missed = number(lost(stay.lookups), "token")
        return f". Another group had {missed} more: {group_text(groups, history.start)} said no"
    if (what := miss(history, stay)) is None:
        return ""
    size, held = history.start.block_size, what.held
    if what.kind == "last":
        return ". Its last block was cached too, but the next token is sampled from its output"
    if what.kind == "salt":
        where = f" in block {held.block}" if held else ""
        return (
            f". The tokens of the next block were cached{where}, and not found: a salt, an adapter "
            "or an image differs, or it does not read the cache"
        )
    if what.kind == "part":
        return f". {number(what.alike, 'token')} more agree, but not a whole block of {size}"
    if what.kind == "new":
        return ". The next block had never been cached"
    beyond = f" {number(what.beyond, 'block')} behind it were still cached." if what.beyond else ""
    return f". Why not more: {where_it_went(history, what)}{beyond}"


def _preemption(history: History, told: Story, at: int) -> None:
    life, stay = told.life, told.life.stays[at]
    by = f" for {who(stay.by)}" if stay.by is not None and stay.by != life.name else ""
    if stay.by == life.name:
        by = ": it needed a block itself, and nobody else could give one"
    if stay.is_kept:
        line = f"is swapped out{by}; nothing of it is lost"
    else:
        line = f"is preempted{by}, with {number(stay.computed, 'token')} computed"
        line += "; it had generated nothing" if not stay.sampled else ""
    count = sum(each.how == "preempt" for each in life.stays[: at + 1])
    line += f"; this is preemption {count}" if count > 1 else ""
    told.events.append(((stay.end or 0) + 1, line))
