"""7.4: one step of the scheduler by hand."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from pagesim.exercises.ch07.serving import ONE, new_scheduler
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.source import variant
from pagesim.timeline.record import record
from pagesim.timeline.run import Timeline
from pagesim.v0.block.interfaces import Device
from pagesim.v0.scheduler import Scheduler
from pagesim.v0.sequence import Sequence, SequenceGroup

Waiting = list[tuple[int, int]]
Running = list[tuple[int, int, list[int]]]
Step = tuple[list[tuple[int, int]], list[int], list[int]]

STATEMENT = """
What does the scheduler decide next? Two queues and the free list are given; no request is swapped
out, preemption is by recomputation, both budgets are wide, and there is no watermark. Write

```python
def next_step(waiting, running, free, block_size):
    return computed, preempted, free_after
```

* `waiting`: `(name, tokens)` of each prompt, the head first. The names are numbers;
* `running`: `(name, tokens, table)` of each decoding sequence, the oldest first. `tokens` includes
  the newest one, which was sampled in the last step and has no slot yet;
* `free`: the free list. Blocks are taken from its left and put back on its left, one by one;
* `computed`: `(name, number of tokens)` of every sequence that computes in this step, in order;
* `preempted`: the names of the victims, in the order in which they were preempted;
* `free_after`: the free list when the step begins to compute.

Chapter 7 has the rules: prompts first, and alone (section 5); victims from the end (section 3); a
sequence goes on only if *one* block is free, even if it has room in its own (section 4).

Example, with blocks of 4: `next_step([], [(0, 5, [2]), (1, 3, [0])], [1], 4)` is
`([(0, 1)], [1], [0])`. s0 has 4 tokens in block 2, and takes block 1 for the fifth. Then nothing is
free, so s1 is preempted, although its block 0 has room.
"""


def next_step(
    waiting: list[tuple[int, int]],
    running: list[tuple[int, int, list[int]]],
    free: list[int],
    block_size: int,
) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """The next step: (name, tokens) of those that compute, the victims' names, the free list."""
    ### BEGIN SOLUTION
    free, running = list(free), list(running)
    computed: list[tuple[int, int]] = []
    preempted: list[int] = []
    for name, tokens in waiting:
        needed = -(-tokens // block_size)
        if needed > len(free):
            break
        free = free[needed:]
        computed.append((name, tokens))
    if computed:
        return computed, preempted, free
    while running:
        name, tokens, table = running.pop(0)
        while not free:
            victim, _, blocks = running.pop() if running else (name, tokens, table)
            preempted.append(victim)
            for block in blocks:
                free.insert(0, block)
            if victim == name:
                return computed, preempted, free
        if (tokens - 1) % block_size == 0:
            free.pop(0)
        computed.append((name, 1))
    return computed, preempted, free
    ### END SOLUTION


def _scheduler(
    waiting: Waiting, running: Running, free: list[int], block_size: int
) -> tuple[Scheduler, dict[int, int]]:
    """A scheduler in this state, and what its block ids are called in the case."""
    total = len(free) + sum(len(table) for _, _, table in running)
    scheduler = new_scheduler(total, block_size=block_size, preemption_mode="recompute")
    for name, tokens, _ in running:
        scheduler.add_seq_group(_group(name, tokens - 1, block_size))
    if running:
        metadata, outputs, _ = scheduler.schedule()
        for scheduled, meta in zip(outputs.scheduled_seq_groups, metadata, strict=True):
            seq = scheduled.seq_group.first_seq
            seq.data.update_num_computed_tokens(meta.token_chunk_size)
            seq.append_token_id(1, ONE)
    tables = scheduler.block_manager.block_tables
    called = {
        ours: theirs
        for name, _, table in running
        for ours, theirs in zip(tables[name].physical_block_ids, table, strict=True)
    }
    called |= zip(_free_list(scheduler), free, strict=True)
    for name, tokens in waiting:
        scheduler.add_seq_group(_group(name, tokens, block_size))
    return scheduler, called


def _group(name: int, tokens: int, block_size: int) -> SequenceGroup:
    return SequenceGroup(str(name), [Sequence(name, [0] * tokens, block_size)])


def _free_list(scheduler: Scheduler) -> list[int]:
    return list(scheduler.block_manager.block_allocator.free_block_ids(Device.GPU))


def expected(waiting: Waiting, running: Running, free: list[int], block_size: int) -> Step:
    """What the scheduler decides in this state."""
    scheduler, called = _scheduler(waiting, running, free, block_size)
    with record(scheduler) as run:
        metadata, _, _ = scheduler.schedule()
    preempted = [int(run[index].subject or 0) for index in run.find(kind="preempt")]
    computed = [(int(meta.request_id), meta.token_chunk_size) for meta in metadata]
    return computed, preempted, [called[block] for block in _free_list(scheduler)]


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    if not hidden:
        yield Case(([(0, 3)], [], [0], 4), tag="one prompt")
        yield Case(([], [(0, 3, [0])], [1], 4), tag="room in its own block")
        yield Case(([], [(0, 5, [0])], [1], 4), tag="a new block")
        yield Case(([(1, 4)], [(0, 3, [0])], [1], 4), tag="a prompt, and one that decodes")
        yield Case(([], [(0, 5, [0]), (1, 5, [1])], [], 4), tag="two, and nothing is free")
        yield Case(
            ([], [(0, 3, [0]), (1, 3, [1])], [], 4), tag="nothing is free, room in its own block"
        )
        yield Case(([], [(0, 5, [0]), (1, 6, [2, 1])], [], 4), tag="a victim with two blocks")
        yield Case(
            ([], [(0, 5, [0]), (1, 2, [1]), (2, 2, [2])], [], 4), tag="three, and nothing is free"
        )
        yield Case(([(2, 9), (3, 1)], [(0, 3, [0])], [1, 2], 4), tag="the head does not fit")
    for _ in range(150 if hidden else 60):
        yield _random(rng)


def _random(rng: random.Random) -> Case:
    block_size = rng.choice((1, 2, 4))
    lengths = [rng.randint(2, 3 * block_size + 2) for _ in range(rng.randint(1, 4))]
    needs = [-(-(length - 1) // block_size) for length in lengths]
    ids = list(range(sum(needs) + rng.choice((0, 0, 1, 2, 4))))
    rng.shuffle(ids)
    running = []
    for name, (length, blocks) in enumerate(zip(lengths, needs, strict=True)):
        running.append((name, length, ids[:blocks]))
        ids = ids[blocks:]
    most = block_size * (sum(needs) + len(ids))
    waiting = [(10 + i, rng.randint(1, most)) for i in range(rng.randint(0, 2))]
    return Case((waiting, running, ids, block_size), tag="random")


def why(case: Case, yours: Any, right: Any) -> str:
    said, is_so = (list(map(tuple, yours[0])), list(yours[1])), (right[0], right[1])
    if said != is_so:
        if any(name >= 10 or tokens > 1 for name, tokens in right[0]):
            return "Prompts are admitted from the head of waiting, and no decode is in their step."
        if said[1] != is_so[1]:
            return (
                "Each sequence needs one free block to go on, whether it takes it or not. While "
                "there is none, the last of running is preempted, and in the end the sequence "
                "itself."
            )
        return "Those that are not preempted compute one token each, in the order of running."
    return (
        "Blocks are taken from the left of the free list; a victim's blocks go back to its left "
        "one by one, in the order of the table, so that the last one stands first."
    )


def play(case: Case) -> Timeline:
    """The step in the simulator, whose blocks have other numbers."""
    scheduler, called = _scheduler(*case.args)
    with record(scheduler) as run:
        scheduler.schedule()
    names = ", ".join(f"{ours} is your {theirs}" for ours, theirs in sorted(called.items()))
    return run.annotate(title=f"One step; block {names}"[:120])


def _mixed(waiting: Waiting, running: Running, free: list[int], block_size: int) -> Step:
    first, _, left = next_step(waiting, [], free, block_size)
    rest, preempted, left = next_step([], running, left, block_size)
    return first + rest, preempted, left


EXERCISE = Exercise(
    number="7.4",
    title="One step by hand",
    stars=2,
    statement=STATEMENT,
    reference=next_step,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "mixed": Wrong(
            _mixed,
            "A step computes prompts and decodes together.",
            "a prompt, and one that decodes",
        ),
        "room_in_its_own": Wrong(
            variant(next_step, "while not free:", "while not free and tokens % block_size == 1:"),
            "A sequence with room in its own block needs no free one.",
            "nothing is free, room in its own block",
        ),
        "oldest_first": Wrong(
            variant(next_step, "running.pop() if", "running.pop(0) if"),
            "The one that has run longest gives way.",
            "three, and nothing is free",
        ),
        "table_put_back_as_a_run": Wrong(
            variant(next_step, "for block in blocks:", "for block in blocks[::-1]:"),
            "A table goes back as it is, its first block in front.",
            "a victim with two blocks",
        ),
        "overtaking": Wrong(
            variant(
                next_step,
                "len(free):\n            break",
                "len(free):\n            continue",
            ),
            "What does not fit is skipped.",
            "the head does not fit",
        ),
        "always_a_block": Wrong(
            variant(next_step, "if (tokens - 1) % block_size == 0:", "if True:"),
            "Every new token takes a block.",
            "room in its own block",
        ),
    },
    hints=(
        "First the prompts: if one is admitted, the step is done. Else go through running.",
        "While nothing is free, preempt the last of running; only then look whether the token "
        "needs the block: (tokens - 1) % block_size == 0.",
        "A victim's blocks: for block in table: free.insert(0, block). If nothing else runs, the "
        "sequence preempts itself, and the step ends.",
    ),
    vllm=(
        "vllm/core/scheduler.py: Scheduler._schedule_default",
        "vllm/core/scheduler.py: Scheduler._schedule_running",
        "vllm/core/block_manager.py: SelfAttnBlockSpaceManager.can_append_slots",
    ),
    play=play,
)
