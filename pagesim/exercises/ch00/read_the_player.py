"""0.2: who owned a block, since which step, and who wrote into it last."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

from pagesim.exercises.acts import Act, act_once, told
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.source import variant
from pagesim.story import Story, Writer
from pagesim.timeline.run import Timeline

BLOCKS, BLOCK_SIZE = 6, 4


def owners(run, block):  # type: ignore[no-untyped-def]
    """Every change of the block's owner, and the last sequence that wrote into it.

    A change is (step, owner): the first step at which the player shows it, and the sequence then,
    or None if the block is free again. The writer is None if nothing was ever written.
    """
    ### BEGIN SOLUTION
    changes: list[Any] = []
    owner = writer = None
    for step in range(1, len(run) + 1):
        for effect in run[step - 1].effects:  # the event that leads to this step
            if effect.kind == "write" and effect.block == block:
                writer = effect.table
        now = None
        for name, table in run.at(step).tables.items():
            if block in table.block_ids:
                now = name
        if now != owner:
            changes.append((step, now))
            owner = now
    return changes, writer
    ### END SOLUTION


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """Few sequences that come, write and go; then some longer stories."""
    yield _case((("arrive", 0, 3),), 0, "one event")
    yield _case((("arrive", 0, 3),), 1, "a block that is never taken")
    pairs = ((3, 6), (7, 4)) if hidden else ((4, 5), (6, 3))
    for (a, b), block in product(pairs, range(BLOCKS)):
        acts = (("arrive", 0, a), ("arrive", 1, b), ("write", 0, 2))
        yield _case(acts, block, "two sequences")
    for (a, b), block in product(pairs, range(BLOCKS)):
        story = (("arrive", 0, a), ("leave", 0), ("arrive", 1, b))
        yield _case(story, block, "a block that changes hands")
    for a, b in pairs:
        kept = (("arrive", 0, a), ("reserve", 0, 4))
        yield from (_case(kept, block, "a reserved block") for block in (1, 2))
        other = (("leave", 0), ("arrive", 1, 1), ("reserve", 1, b))
        yield from (_case(kept + other, block, "a reserved block") for block in range(BLOCKS))
    for _ in range(10):
        yield _case(_some(rng), rng.randrange(BLOCKS), "a longer story")


def _case(acts: tuple[Act, ...], block: int, tag: str) -> Case:
    said = ", ".join(
        f"s{act[1]} reserves {act[2]} slots" if act[0] == "reserve" else told([act]) for act in acts
    )
    return Case((acts, block), f"{said}; block {block}", tag)


def _some(rng: random.Random) -> tuple[Act, ...]:
    """Sequences of at most two blocks, at most three of them at a time."""
    acts: list[Act] = []
    lengths: dict[int, int] = {}
    for name in range(6):
        if len(lengths) == 3:
            gone = rng.choice(sorted(lengths))
            del lengths[gone]
            acts.append(("leave", gone))
        lengths[name] = rng.randint(1, 6)
        acts.append(("arrive", name, lengths[name]))
        writer = rng.choice(sorted(lengths))
        if lengths[writer] < 2 * BLOCK_SIZE:
            lengths[writer] += 1
            acts.append(("write", writer, 1))
    return tuple(acts)


def run_of(acts: Sequence[Act]) -> Timeline:
    """The run of these acts."""
    story = Story(gpu_blocks=BLOCKS, block_size=BLOCK_SIZE)
    here: dict[int, Writer] = {}
    for act in acts:
        if act[0] == "reserve":
            here[act[1]].write(lookahead=act[2])
        else:
            act_once(act, story, here)
    return story.run


def call(function: Callable[..., Any], case: Case) -> Any:
    """The student gets the run itself."""
    acts, block = case.args
    return function(run_of(acts), block)


def expected(acts: Sequence[Act], block: int) -> Any:
    """What the run finds: events that take the block, free it, and write into it."""
    run = run_of(acts)
    changes = [(k + 1, run[k].subject) for k in run.find(block=block, kind="take")]
    changes += [(k + 1, None) for k in run.find(block=block, kind="free")]
    events = [run[k] for k in run.find(block=block, kind="write")]
    writes = [
        e.table for event in events for e in event.effects if (e.kind, e.block) == ("write", block)
    ]
    return sorted(changes), writes[-1] if writes else None


def why(case: Case, yours: Any, right: Any) -> str:
    """Off by one, too many changes, or the wrong writer."""
    truth, last = right
    if not isinstance(yours[0], list | tuple):
        return "The pair begins with the list of changes; the last writer comes second."
    changes = [tuple(change) for change in yours[0]]
    if changes == [(step - 1, owner) for step, owner in truth] and truth:
        return (
            f"Event {truth[0][0] - 1} leads from step {truth[0][0] - 1} to step {truth[0][0]}: "
            f"run.at({truth[0][0]}) is the first state that shows what it did."
        )
    if changes != truth:
        odd = next(
            (c for c in [*changes, *truth] if (c in changes) != (c in truth)), (changes or truth)[0]
        )
        step, owner = odd
        is_so = "is" if odd in truth else "is not"
        what = "becomes free" if owner is None else f"becomes s{owner}'s"
        return f"Block {case.args[1]} {what} at step {step}: that {is_so} what the player shows."
    return f"The last event with a 'write' effect on block {case.args[1]} " + (
        "does not exist: nothing was ever written there."
        if last is None
        else f"writes for s{last}."
    )


def play(case: Case) -> Timeline:
    """The run that is to be read."""
    return run_of(case.args[0])


EXERCISE = Exercise(
    number="0.2",
    title="Reading a run",
    stars=1,
    statement="""\
`run.at(k)` is the state after `k` events, the one that the player shows at step `k`; `run[k]` is
the event that leads from step `k` to step `k + 1`. `run.at(k).tables` maps the name of each
sequence to its table, which has `block_ids`. `run[k].effects` lists what the event did to blocks:
an effect has a `kind`, and one whose kind is `"write"` has the `block` that was written and, as
`table`, the name of the sequence.

Write `owners(run, block)`. It returns a pair: every change of the block's owner as a list of
`(step, owner)`, where `step` is the first step that shows it and `owner` is None for a free block;
and the sequence that was the last to write into the block, or None.

If `s0` arrives and leaves, and `s2` then gets the same block 4, the pair is
`([(1, 0), (2, None), (3, 2)], 2)`. A sequence may reserve a block and never write into it. No block
has two owners at a time in these runs.""",
    reference=owners,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "event_for_step": Wrong(
            variant(owners, "changes.append((step, now))", "changes.append((step - 1, now))"),
            "Event k has the number of the step that it leads to.",
            "one event",
        ),
        "frees_left_out": Wrong(
            variant(owners, "if now != owner:", "if now is not None and now != owner:"),
            "A block belongs to its last owner until another sequence takes it.",
            "a block that changes hands",
        ),
        "state_before": Wrong(
            variant(owners, "run.at(step).tables", "run.at(step - 1).tables"),
            "run.at(k) is what event k finds, so it shows what event k does.",
            "one event",
        ),
        "any_effect_writes": Wrong(
            variant(
                owners, 'effect.kind == "write" and effect.block == block', "effect.block == block"
            ),
            "Whatever happens to a block writes into it.",
            "a block that changes hands",
        ),
    },
    hints=(
        "Step 0 is before the first event. How many steps does a run of 3 events have?",
        "For each step from 1 to len(run): which table in run.at(step).tables has the block, if "
        "any? Write down the step whenever the answer changes.",
        "For the writer, look through run[step - 1].effects for effect.kind == 'write' and "
        "effect.block == block, and keep the last effect.table.",
    ),
    vllm=(
        "vllm/core/block/block_table.py: BlockTable.physical_block_ids",
        "vllm/core/block/naive_block.py: NaiveBlockAllocator._allocate_block_id, _free_block_id",
    ),
    play=play,
    call=call,
)
