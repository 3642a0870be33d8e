"""# 0.2 Reading a run ★

A run is a series of events. `run.at(k)` is the state after the first `k` of them, and the player
shows this state as step `k`. `run[k]` is the event that leads from step `k` to step `k + 1`.

* `run.at(k).tables` maps the name of each sequence to its table, and a table has `block_ids`. The
  names are numbers here: `s2` is called 2.
* `run[k].effects` lists what the event did to blocks. Every effect has a `kind`. If the kind is
  `"write"`, the effect also has the `block` that was written to and, as `table`, the name of the
  sequence that wrote to it.

Write `owners(run, block)`. The function returns a pair:

1. a list of every change of the block's owner, as `(step, owner)`. `step` is the first step that
   shows the change. `owner` is the name of the new owner, or None if the block is free now;
2. the name of the sequence that was the last to write to the block, or None if none did.

Example: `s0` arrives and takes block 4. Then `s0` leaves, and after that `s2` arrives and takes
block 4. For this block, the pair is `([(1, 0), (2, None), (3, 2)], 2)`.

A sequence may reserve a block and never write to it. In these runs, no block has two owners at the
same time.

## Hints
1. Step 0 is the state before the first event. How many steps does a run of 3 events have?
2. For each step from 1 to `len(run)`, look for the block in the tables of `run.at(step)`. The owner
   is the sequence whose table has it, or None. Write down the step whenever the owner changes.
3. For the last sequence that wrote, look through `run[step - 1].effects` for effects with
   `effect.kind == 'write'` and `effect.block == block`. Keep the last `effect.table`.

## Wrong answers
* event_for_step (one event): Event k has the same number as the step that it leads to.
* frees_left_out (a block that changes hands): A block belongs to its last owner until another
  sequence takes it.
* state_before (one event): run.at(k) already shows what event k does.
* any_effect_writes (a block that changes hands): Everything that happens to a block writes to it.

## vLLM
* vllm/core/block/block_table.py: BlockTable.physical_block_ids
* vllm/core/block/naive_block.py: NaiveBlockAllocator._allocate_block_id, _free_block_id
"""

from itertools import product
from typing import Any

from pagesim.exercises.acts import Act, act_once, in_words
from pagesim.exercises.case import Function
from pagesim.exercises.kit import Case, Cases, Random, Story, Timeline
from pagesim.story import Writer

Acts = tuple[Act, ...]
Owners = tuple[list[Any], Any]


def owners(run, block):  # type: ignore[no-untyped-def]
    """Every change of the block's owner, and the last sequence that wrote into it.

    A change is (step, owner): the first step at which the player shows it, and the sequence then,
    or None if the block is free again. The second part is None if nothing was ever written.
    """
    ### BEGIN SOLUTION
    changes: list[Any] = []
    owner = writer = None
    for step in range(1, len(run) + 1):
        for effect in run[step - 1].effects:  # the event that leads to this step
            if effect.kind == "write" and effect.block == block:
                ### any_effect_writes: if effect.block == block:
                writer = effect.table
        now = None
        for name, table in run.at(step).tables.items():
            ### state_before: for name, table in run.at(step - 1).tables.items():
            if block in table.block_ids:
                now = name
        if now != owner:
            ### frees_left_out: if now is not None and now != owner:
            changes.append((step, now))
            ### event_for_step: changes.append((step - 1, now))
            owner = now
    return changes, writer
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Few sequences that come, write and go; then some longer stories."""
    yield Case(((("arrive", 0, 3),), 0), tag="one event")
    yield Case(((("arrive", 0, 3),), 1), tag="a block that is never taken")
    pairs = ((3, 6), (7, 4)) if hidden else ((4, 5), (6, 3))
    for (a, b), block in product(pairs, range(6)):
        both = (("arrive", 0, a), ("arrive", 1, b), ("write", 0, 2))
        yield Case((both, block), tag="two sequences")
    for (a, b), block in product(pairs, range(6)):
        turns = (("arrive", 0, a), ("leave", 0), ("arrive", 1, b))
        yield Case((turns, block), tag="a block that changes hands")
    for a, b in pairs:
        kept = (("arrive", 0, a), ("reserve", 0, 4))
        more = (*kept, ("leave", 0), ("arrive", 1, 1), ("reserve", 1, b))
        for acts, block in ((kept, 1), (kept, 2), *((more, block) for block in range(6))):
            yield Case((acts, block), tag="a reserved block")
    for _ in range(10):
        yield Case((longer_story(rng), rng.randrange(6)), tag="a longer story")


def longer_story(rng: Random) -> Acts:
    """Sequences of at most two blocks, at most three of them at a time."""
    acts: list[Act] = []
    lengths: dict[int, int] = {}
    for name in range(6):
        if len(lengths) == 3:
            acts.append(("leave", rng.choice(sorted(lengths))))
            del lengths[acts[-1][1]]
        lengths[name] = rng.randint(1, 6)
        acts.append(("arrive", name, lengths[name]))
        writer = rng.choice(sorted(lengths))
        if lengths[writer] < 8:
            lengths[writer] += 1
            acts.append(("write", writer, 1))
    return tuple(acts)


def words(acts: Acts, block: int) -> str:
    does = {act: in_words([act]) for act in acts if act[0] != "reserve"}
    each = [does.get(act) or f"s{act[1]} reserves {act[2]} slots" for act in acts]
    return f"{', '.join(each)}; block {block}"


def play(acts: Acts) -> Timeline:
    """The run that is to be read."""
    story, here = Story(gpu_blocks=6, block_size=4), dict[int, Writer]()
    for act in acts:
        if act[0] == "reserve":
            here[act[1]].write(lookahead=act[2])
        else:
            act_once(act, story, here)
    return story.run


def call(function: Function, acts: Acts, block: int) -> Any:
    return function(play(acts), block)


def oracle(acts: Acts, block: int) -> Owners:
    """What the run finds: events that take the block, free it, and write into it."""
    run = play(acts)
    changes: list[Any] = [(k + 1, run[k].subject) for k in run.find(block=block, kind="take")]
    changes += [(k + 1, None) for k in run.find(block=block, kind="free")]
    effects = [effect for k in run.find(block=block, kind="write") for effect in run[k].effects]
    writers = [each.table for each in effects if (each.kind, each.block) == ("write", block)]
    return sorted(changes), writers[-1] if writers else None


def why(yours: Owners, right: Owners, block: int) -> str:
    truth, last = right
    if not isinstance(yours[0], list):
        return "The first part of the pair is the list of changes, the second the last writer."
    changes = [(step, owner) for step, owner in yours[0]]
    if truth and changes == [(step - 1, owner) for step, owner in truth]:
        step = truth[0][0]
        event = f"Event {step - 1} leads from step {step - 1} to step {step}"
        return f"{event}: run.at({step}) is the first state that shows what event {step - 1} did."
    if changes != truth:
        odd = [c for c in [*changes, *truth] if (c in changes) != (c in truth)]
        step, owner = (odd or changes)[0]
        what = "becomes free" if owner is None else f"becomes s{owner}'s"
        if (step, owner) in truth:
            return f"Block {block} {what} at step {step}. This change is missing in your list."
        return f"In your list, block {block} {what} at step {step}. The player does not show that."
    if last is None:
        return f"No event has a 'write' effect on block {block}, so no sequence wrote to it."
    return f"The last event with a 'write' effect on block {block} is a write of s{last}."
