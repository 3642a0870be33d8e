"""What a log says of requests that are held back while others run."""

from pagesim.explain.finding import Finding
from pagesim.explain.log_engine import FULL, EngineLog, Spell
from pagesim.explain.log_story import LogStory
from pagesim.explain.log_words import LEAST, where
from pagesim.sizing.room import Room


def held_back(story: LogStory) -> list[Finding]:
    """Requests wait although the pool has room."""
    found = []
    for engine in story.engines.values():
        most, blocked = story.number("max_num_seqs"), engine.longest.get("blocked")
        filling = engine.longest.get("filling")
        if engine.preempted.count or engine.suspected.count > 1:
            continue  # the pool had no room
        if engine.at_most.count >= LEAST and most in (None, engine.max_running):
            if most is None and _next_is_too_large(engine.at_usage, engine.max_running):
                found.append(_no_room(story, engine, engine.max_running, engine.at_usage))
            else:
                found.append(_limited(story, engine, known=most is not None))
        elif blocked is not None and blocked.lines >= LEAST:
            found.append(_no_room(story, engine, blocked.running, blocked.usage, blocked))
        elif filling is not None and filling.lines >= LEAST:
            found.append(_filling(story, engine, filling))
    return found


def _next_is_too_large(usage: float, running: int) -> bool:
    """Whether one more request like those that run does not fit."""
    return usage / max(running, 1) > 100 - usage


def _limited(story: LogStory, engine: EngineLog, known: bool) -> Finding:
    """As many run as max_num_seqs allows."""
    run, usage = engine.max_running, engine.at_usage
    each = usage / max(run, 1)
    detail = where(story, engine) + (
        f"in {engine.at_most.count:,} lines exactly {run:,} run and others wait, with {usage:g} % "
        f"of the pool in use: {each:.1f} % for each that runs."
    )
    limit = (
        f" max_num_seqs is {run:,}."
        if known
        else (
            " The log does not say max_num_seqs. With LoRA adapters, max_loras is such a limit too."
        )
    )
    room = f"; the pool has room for about {int(FULL / each):,}" if each else ""
    title = f"{run:,} run and up to {engine.max_waiting:,} wait, though the pool has room"
    change = f"--max-num-seqs above {run:,}{room}."
    return Finding(None, title, detail + limit, {}, tuple(engine.at_most.lines), change)


def _no_room(
    story: LogStory, engine: EngineLog, running: int, usage: float, spell: Spell | None = None
) -> Finding:
    """What is free is not enough for the head of the queue."""
    waiting = engine.max_waiting if spell is None else spell.waiting
    lines = tuple(engine.at_most.lines) if spell is None else (spell.start,)
    each = usage / max(running, 1)
    detail = where(story, engine, spell) + (
        f"{running:,} run, {waiting:,} wait. Those that run hold {each:.1f} % of the pool each, "
        f"and the first that waits needs more than is free{_free(story.room, 100 - usage)}. Nobody "
        "passes it."
    )
    change = (
        "More cache, or shorter requests; send long prompts to a server of their own. A priority "
        "only changes who stands first."
    )
    title = "The head of the queue waits for room, and everything behind it waits too"
    return Finding(None, title, detail, {}, lines, change)


def _filling(story: LogStory, engine: EngineLog, spell: Spell) -> Finding:
    """The queue is served as fast as prompts are computed."""
    each = spell.usage / max(spell.running, 1)
    full = f" The pool is full with about {int(FULL / each):,}." if each else ""
    detail = where(story, engine, spell) + (
        f"up to {spell.waiting:,} wait while more and more run, {spell.running:,} in the end, with "
        f"{each:.1f} % of the pool each.{full} Until then requests wait only because prompts are "
        "computed one step after another."
    )
    step = story.number("max_num_batched_tokens")
    now = f" (now {step:,})" if step else ""
    change = (
        f"A larger --max-num-batched-tokens{now} computes prompts sooner, at the price of longer "
        "steps; prefix caching, if prompts begin alike."
    )
    title = f"Up to {spell.waiting:,} requests wait for prompts to be computed"
    return Finding("w14", title, detail, {}, (spell.start,), change)


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
            f"{spell.running:,} run, prompts are computed, and less than one token a second is "
            f"generated for each. A step serves the running requests in turn from one budget of "
            f"tokens{now}; a long prompt takes what is left, step after step."
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
