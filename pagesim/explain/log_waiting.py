"""What a log says of requests that are ignored, preempted, or held back while others run."""

import math

from pagesim.explain.finding import Finding
from pagesim.explain.log_engine import FULL
from pagesim.explain.log_story import LogStory
from pagesim.explain.log_words import LEAST, where
from pagesim.sizing.room import WATERMARK, Room
from pagesim.sizing.waste import counted

EVERY = 50
"""V0 logs one preemption of so many."""


def ignored(story: LogStory) -> list[Finding]:
    """V0 gives up prompts that need more blocks than it may give."""
    if (event := story.events.get("ignored")) is None:
        return []
    room, printed = story.room, event.most
    detail = (
        f"{counted(event.count, 'warning')}, of up to {printed:,} tokens. V0 counts the blocks of "
        "the whole prompt, and 1 % of the pool (the watermark) must stay free; a prompt for which "
        "that is impossible ends with an empty output."
    )
    change = "Give more memory, or a --max-model-len below that, so that clients get an error."
    if room is not None:
        longest = (room.blocks[0] - math.floor(WATERMARK * room.blocks[0])) * room.block_size
        detail += f" The longest prompt that fits into {room.blocks[0]:,} blocks has {longest:,}."
        change = f"--max-model-len {longest} lets clients get an error; more memory lets them in."
        if printed <= longest:
            detail += (
                f" {printed:,} are the tokens of one step of chunked prefill; the prompt was longer"
                f" than {longest:,}."
            )
    title = f"V0 ignored {counted(event.count, 'prompt')} that can never fit"
    return [Finding(None, title, detail, {}, tuple(event.lines), change)]


def preempted(story: LogStory) -> list[Finding]:
    """Running requests lost their blocks."""
    found = []
    if (event := story.events.get("preempted")) is not None:
        detail = (
            f"The last warning counts {event.most:,}; V0 logs one of {EVERY}. By default a request "
            "of one sequence is computed again from its first token, and one of several is swapped."
        )
        found.append(_preempted(story, f"V0 preempted {event.most:,} times", detail, event.lines))
    for engine in story.engines.values():
        if engine.preempted.count:
            seen = engine.preempted
            title = f"V1 preempted {seen.count:,} times"
            detail = where(story, engine) + (
                f"the usage reached {engine.max_usage:g} %. A preempted request is computed again "
                "from its first token, less what the prefix cache still holds of it."
            )
        elif engine.suspected.count > 1 and event is None:
            seen = engine.suspected
            title = "The pool is full, and requests are probably preempted"
            detail = where(story, engine) + (
                f"{len(seen.lines):,} times fewer ran and more waited while the usage was above "
                f"{FULL:g} %. This release does not log preemptions."
            )
        else:
            continue
        found.append(_preempted(story, title, detail, seen.lines))
    return found


def _preempted(story: LogStory, title: str, detail: str, lines: list[int]) -> Finding:
    most = max((engine.max_running for engine in story.engines.values()), default=0)
    fewer = f" (at most {most:,} ran)" if most else ""
    change = (
        f"Let fewer run together: --max-num-seqs lower than now{fewer}. Or more cache: a higher "
        "--gpu-memory-utilization, --kv-cache-dtype fp8, more GPUs."
    )
    return Finding(None, title, detail, {}, tuple(lines), change)


def held_back(story: LogStory) -> list[Finding]:
    """Requests wait although the pool has room."""
    found = []
    for engine in story.engines.values():
        room, most = story.room, story.number("max_num_seqs")
        blocked, last = engine.longest.get("blocked"), engine.last
        if last is None:
            continue
        if engine.at_most.count >= LEAST and most in (None, engine.max_running):
            free, run = 100 - last.usage, engine.max_running
            title = f"{run:,} run and up to {engine.max_waiting:,} wait, though the pool has room"
            is_limit = f"max_num_seqs is {run:,}" if most else f"max_num_seqs may be {run:,}"
            detail = where(story, engine) + (
                f"in {engine.at_most.count:,} lines exactly {run:,} run and others wait, with "
                f"{last.usage:g} % in use in the last line: {is_limit}."
            )
            if not most:
                detail += (
                    f" Or the head of the queue needs more than what is free{_free(room, free)}."
                )
            change = f"--max-num-seqs above {run:,}, if the usage stays below {FULL:g} %."
            lines = tuple(engine.at_most.lines)
        elif blocked is not None and blocked.lines >= LEAST:
            free = 100 - blocked.usage
            title = "The head of the queue waits for room, and everything behind it waits too"
            detail = where(story, engine, blocked) + (
                f"{blocked.running:,} run, {blocked.waiting:,} wait, no prompt is computed. The "
                f"first waiting request needs more than what is free{_free(room, free)}. Nobody "
                "passes it."
            )
            change = (
                "Send long prompts to a server of their own, or give more cache; a priority only "
                "changes who stands first."
            )
            lines = (blocked.start,)
        else:
            continue
        found.append(Finding(None, title, detail, {}, lines, change))
    return found


def _free(room: Room | None, percent: float) -> str:
    if room is None:
        return f" ({percent:.1f} %)"
    blocks = int(room.usable[1] * percent / 100)
    return f" ({percent:.1f} %: {blocks:,} blocks, {blocks * room.block_size:,} tokens)"


def crowded(story: LogStory) -> list[Finding]:
    """Long prompts keep outputs from growing."""
    found = []
    for engine in story.engines.values():
        spell = engine.longest.get("crowded")
        if spell is None or spell.lines < LEAST - 1:
            continue
        step = story.number("max_num_batched_tokens")
        now = f" (now {step:,})" if step else ""
        detail = where(story, engine, spell) + (
            f"{spell.running:,} run, prompts are computed, and hardly a token is generated. A step "
            f"serves the running requests in turn from one budget of tokens{now}; a long prompt "
            "takes what is left, step after step."
        )
        change = (
            "--long-prefill-token-threshold, so that a long prompt leaves room in each step."
            if engine.version == "v1"
            else "--enable-chunked-prefill with a smaller --max-num-batched-tokens."
        )
        quirk = "w14" if engine.version == "v1" else None
        title = "Long prompts keep outputs from growing"
        found.append(Finding(quirk, title, detail, {}, (spell.start,), change))
    return found


def uneven(story: LogStory) -> list[Finding]:
    """One replica has a queue while another one is idle."""
    busy = [one for one in story.engines.values() if one.last and one.last.waiting]
    idle = [one for one in story.engines.values() if one.last and one.last.idle]
    if not busy or not idle:
        return []
    most = max(busy, key=lambda one: one.last.waiting if one.last else 0)
    waiting = most.last.waiting if most.last else 0
    title = "One engine has a queue while another one is idle"
    detail = (
        f"In their last lines, engine {most.number:03d} has {waiting:,} waiting, and {len(idle):,} "
        f"of {len(story.engines):,} have no request. A request stays with the engine to which it "
        "was sent."
    )
    change = "Look at what distributes the requests: a session or a prefix may bind them."
    lines = tuple(sorted((most.last_line, idle[0].last_line)))
    return [Finding(None, title, detail, {}, lines, change)]
