"""A caption is one sentence, names no block that the event does not, and is never an error."""

import random
import re

import pytest

from pagesim.journal.effects import CALLS, DECISIONS, EFFECTS
from pagesim.timeline import Effect, Event, State, TableChange
from pagesim.timeline.captions import caption
from pagesim.timeline.facts import blocks
from tests.timeline.runs import SOURCES, recorded

KINDS = [*CALLS, *DECISIONS, "failed", "something else"]


@pytest.mark.parametrize("kind", SOURCES)
def test_of_random_runs(kind: str) -> None:
    for seed in range(3):
        run = recorded(kind, seed, 80)
        for i, event in enumerate(run):
            text = event.caption
            assert re.fullmatch(r"\S.*[^.]\.", text), text
            assert "None" not in text and "  " not in text
            if event.kind == "failed":
                continue
            known = {str(effect.block) for effect in event.effects}
            known |= {str(effect.to) for effect in event.effects}
            for named in re.findall(r"\bblocks? (\d+(?:, \d+)*(?: and \d+)?)", text):
                assert set(re.findall(r"\d+", named)) <= known, text
            if event.subject is not None:
                who = event.subject
                assert (f"s{who}" if isinstance(who, int) else who) in text
            if "front of the free list" in text:
                before = run.at(i)
                fronts = {*before.free_gpu, *before.free_cpu, *_freed(event)}
                taken = r"blocks? ([\d, and]+?) (?:(?:is|are) taken )?from the front"
                for named in re.findall(taken, text):
                    assert {int(word) for word in re.findall(r"\d+", named)} <= fronts, text
            if "which had room" in text:
                before = run.at(i)
                for effect in event.effects:
                    if effect.kind == "write" and effect.table is not None:
                        table, group = before.tables[effect.table], before.group_of(effect.table)
                        at = table.block_ids.index(effect.block)
                        assert table.fill[at] < group.block_size


def _freed(event: Event) -> set[int]:
    return {effect.block for effect in event.effects if effect.kind == "free"}


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_the_effects_are(kind: str) -> None:
    """A file may combine any kind with any effects."""
    rng = random.Random(kind)
    state = State(2, {"GPU": 6, "CPU": 3}, True, {}, {}, {"list": ()})
    for _ in range(100):
        effects = []
        for word in rng.choices([*EFFECTS], k=rng.randrange(5)):
            to = rng.randrange(9) if word in ("copy", "move") else None
            owners = 2 if word == "copy" else None
            index = rng.choice([None, 1]) if word == "null" else None
            effects.append(Effect(word, rng.randrange(9), to=to, owners=owners, index=index))
        tables = (TableChange("t", 0, (1,)),) * rng.randrange(3)
        subject = rng.choice([None, 1, "t"])
        event = Event(kind, subject, tuple(effects), tables, called="x", error="y")
        assert re.fullmatch(r"\S.*\.", caption(event, state))


def test_lists_of_blocks() -> None:
    assert blocks([]) == "no block"
    assert blocks([7]) == "block 7"
    assert blocks([7, 2]) == "blocks 7 and 2"
    assert blocks([7, 2, 5]) == "blocks 7, 2 and 5"
    assert blocks(range(9)) == "9 blocks (0, 1, 2 … 8)"
