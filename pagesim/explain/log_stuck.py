"""What a log says of an engine in which nothing runs although requests wait."""

from pagesim.explain.finding import Finding
from pagesim.explain.log_engine import PERIOD, SILENT, EngineLog, Spell
from pagesim.explain.log_start import changes
from pagesim.explain.log_story import LogStory
from pagesim.explain.log_words import LEAST, where


def stuck(story: LogStory) -> list[Finding]:
    """Nothing runs although requests wait."""
    found = []
    for engine in story.engines.values():
        if (spell := engine.stalled) is None:
            continue
        if engine.version == "v0":
            found.append(_stuck_v0(story, engine, spell))
        elif spell.usage > 0 and (spell.fetching or "kv_connector" in story.facts):
            found.append(_loading(story, engine, spell))
        else:
            found.append(_stuck_v1(story, engine, spell))
    return found


def _stuck_v1(story: LogStory, engine: EngineLog, spell: Spell) -> Finding:
    room, length = story.room, story.number("max_model_len")
    longest = None if room is None else room.longest()
    fits = longest is not None and length is not None and length <= longest
    quirk = None if fits else "w09" if _were_preempted(engine) else "w08"
    title = f"Nothing runs, and {spell.waiting:,} wait"
    title += ", though any of them would fit" if fits else ": the head of the queue does not fit"
    why = [
        f"Running 0, Waiting {spell.waiting:,}. V1 admits the head of the queue only if its whole "
        "prompt fits, nobody passes it, and it is never refused."
    ]
    if room is not None and longest is not None:
        holds = f"The pool holds {longest:,} tokens, in {room.usable[1]:,} blocks beside block 0"
        if length is None:
            holds += "; the log does not say max_model_len"
        elif fits:
            holds += f", and no request has more than {length:,}: size alone is not the reason"
        else:
            holds += f", and max_model_len {length:,} accepts more"
        why.append(f"{holds}.")
    if fits:
        why.append(
            "Perhaps loads from a second tier hold blocks and wait for each other, the engine is "
            "paused, or a grammar is still being compiled."
        )
    if quirk == "w09":
        why.append("Requests were preempted: one may have outgrown the pool and preempted itself.")
    if spell.usage > 0:
        why.append(f"Requests that do not run hold {spell.usage:g} % of the pool.")
    why.append(_how_long(story, engine, spell))
    if fits:
        change = "See Deferred and KV fetch, which 0.33.0 logs; try without the KV connector."
    elif room is not None and length is not None:
        change = f"Abort the first waiting request; then {_lower(changes(story, room, length))}"
    else:
        change = "Abort the first waiting request, and give a --max-model-len that fits the pool."
    cost = {"requests starving": spell.waiting}
    detail = where(story, engine, spell) + " ".join(why)
    return Finding(quirk, title, detail, cost, (spell.start,), change)


def _loading(story: LogStory, engine: EngineLog, spell: Spell) -> Finding:
    """Requests hold blocks for what they load, and each lacks the rest."""
    loads = f" {spell.fetching:,} loads are waiting or in progress." if spell.fetching else ""
    free = 100 - spell.usage
    detail = where(story, engine, spell) + (
        f"Running 0, Waiting {spell.waiting:,}, and those that wait hold {spell.usage:g} % of the "
        f"pool for what they load from the second tier.{loads} If each needs more than the "
        f"{free:g} % that are free, they wait for each other: who waits is never preempted."
    )
    change = (
        "0.33.0 begins a load only if the whole request fits beside the earlier ones. Before that: "
        "abort one of them; fewer at once, or more cache."
    )
    title = f"Nothing runs, and {spell.waiting:,} wait and hold blocks for their loads"
    cost = {"requests starving": spell.waiting}
    return Finding("o21", title, detail, cost, (spell.start,), change)


def _how_long(story: LogStory, engine: EngineLog, spell: Spell) -> str:
    """V1 writes one or two lines when an engine stops to compute, and then none."""
    quiet = "An engine that computes nothing soon logs nothing"
    if engine.is_now("stuck") and (after := story.silence(engine)) > SILENT * PERIOD["v1"]:
        return f"{quiet}: the log goes on for {after:,} s without a line of it."
    if spell.lines == 1 and not spell.silent:
        return "Only the last line says so: a request may just have arrived."
    return f"{quiet}, so this may have lasted longer than its lines."


def looping(story: LogStory) -> list[Finding]:
    """The same prompt is computed again and again, and no token is ever generated."""
    found = []
    for engine in story.engines.values():
        spell, room = engine.longest.get("looping"), story.room
        if spell is None or room is None or engine.version == "v0":
            continue
        longest = room.longest()
        if spell.lines < LEAST or spell.tokens <= 1.5 * longest or not _fills(engine, spell):
            continue
        title = "A prompt is probably computed again and again: it outgrows the pool"
        detail = where(story, engine, spell) + (
            f"about {int(spell.tokens):,} tokens of prompts were computed, more than the "
            f"{longest:,} that the pool holds, at most one request ran, and no token was "
            "generated. Without the test of the whole prompt (releases before it, or "
            "--no-scheduler-reserve-full-isl), a prompt that is too long is computed in chunks, "
            "fills the pool, preempts itself and begins again."
        )
        change = f"Abort that request; --max-model-len {longest}."
        cost = {
            "requests starving": max(spell.waiting, 1),
            "tokens recomputed": int(spell.tokens - longest),
        }
        found.append(Finding("w10", title, detail, cost, (spell.start,), change))
    return found


def _fills(engine: EngineLog, spell: Spell) -> bool:
    return spell.full or bool(engine.preempted.count)


def _were_preempted(engine: EngineLog) -> bool:
    return bool(engine.preempted.count or engine.suspected.count)


def _stuck_v0(story: LogStory, engine: EngineLog, spell: Spell) -> Finding:
    swapped = bool(engine.max_swapped)
    title = f"Nothing runs, and {spell.waiting:,} wait"
    detail = where(story, engine, spell) + (
        "a swapped request returns only if its blocks and the watermark of 1 % fit, and as long as "
        "one is swapped out, nobody is admitted. V0 never ignores a swapped request."
        if swapped
        else "V0 ignores a prompt that can never fit, so these wait for something else than room: "
        "an engine that hangs, or a step that does not end."
    )
    change = (
        "Abort the swapped request; --preemption-mode recompute, or fewer sequences per request."
        if swapped
        else "See whether the GPU computes, and what the log says before these lines."
    )
    cost = {"requests starving": spell.waiting}
    return Finding("q16" if swapped else None, title, detail, cost, (spell.start,), change)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
