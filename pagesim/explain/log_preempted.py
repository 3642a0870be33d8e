"""What a log says of requests that are ignored or preempted."""

import math

from pagesim.explain.finding import Finding
from pagesim.explain.log_engine import FULL
from pagesim.explain.log_story import LogStory
from pagesim.explain.log_words import where
from pagesim.sizing.room import WATERMARK
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
        found.append(
            _preempted(story, f"V0 preempted {counted(event.most, 'request')}", detail, event.lines)
        )
    for engine in story.engines.values():
        if engine.preempted.count:
            seen = engine.preempted
            title = f"V1 preempted {counted(seen.count, 'request')}"
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
    full = max((engine.full_running for engine in story.engines.values()), default=0)
    most = max((engine.max_running for engine in story.engines.values()), default=0)
    fewer = "lower than now"
    if full:
        fewer = (
            f"{full} (as many ran when the pool was full for the last time; at most {most:,} did)"
        )
    change = (
        f"Let fewer run together: --max-num-seqs {fewer}. Or more cache: a higher "
        "--gpu-memory-utilization, --kv-cache-dtype fp8, more GPUs."
    )
    return Finding(None, title, detail, {}, tuple(lines), change)
