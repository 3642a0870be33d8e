"""5.3: three caches with a fault, and the shortest story that shows it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from pagesim.errors import UsageError
from pagesim.exercises import replays
from pagesim.exercises.acts import Act, perform, told
from pagesim.exercises.ch05.machines import CAUSES, DECOYS, MACHINES, Machine
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.goal import Goal
from pagesim.exercises.source import variant
from pagesim.story import Story
from pagesim.timeline.run import Timeline

MAX_ACTS = 8
MAX_NUMBER = 64
SHOWN = "shown: a sequence reads what it has not written"


def find_the_bug(machine: str, block_size: int) -> tuple[list[tuple[Any, ...]], str]:
    """A story of at most 8 acts that goes wrong on this machine, and the cause.

    machine: "A", "B" or "C"; block_size: slots in a block, at least 2.
    """
    ### BEGIN SOLUTION
    begin = [("arrive", 0, block_size - 1), ("fork", 0, 1)]
    if machine == "A":
        story = [*begin, ("leave", 0), ("arrive", 2, 1)]
        return story, "a shared block is freed with its first owner"
    if machine == "B":
        story = [*begin, ("write", 0, 1), ("write", 1, 1)]
        return story, "a fork does not raise the count"
    return [*begin, ("write", 0, 1)], "the copy is made after the write"
    ### END SOLUTION


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """The three machines, with several block sizes: a story for one of them shows little."""
    for block_size in (2, 3, 5, 6) if hidden else (2, 3, 4, 5):
        for machine in MACHINES:
            yield Case((machine, block_size), tag=f"machine {machine}")


def judged(story: Any, machine: str, block_size: int) -> str:
    """Play the student's story on the machine and on a sound one."""
    acts = [tuple(act) for act in story]
    if len(acts) > MAX_ACTS:
        return f"{len(acts)} acts: {told(acts)}"
    if any(type(n) is not int or not 0 <= n <= MAX_NUMBER for act in acts for n in act[1:]):
        raise UsageError(f"the numbers in an act must be ints from 0 to {MAX_NUMBER}: {acts}")
    return differs(acts, machine, block_size)


def differs(acts: list[Act], machine: str, block_size: int) -> str:
    """What the machine does otherwise than a sound one, after any of the acts."""
    sound, faulty = Machine(block_size), MACHINES[machine](block_size)
    for number, act in enumerate(acts):
        sound.act(act)  # an act that cannot be is the student's error, and raises here
        try:
            faulty.act(act)
        except Exception as error:
            return f"act {number}: machine {machine} stops, {error}"
        if any(faulty.read(name) != sound.read(name) for name in sound.here):
            return SHOWN
    return f"nothing goes wrong: {told(acts)}"


def expected(machine: str, block_size: int) -> Goal:
    """That it is shown, and the fault that was planted."""

    def accepts(yours: Any) -> bool:
        story, cause = yours
        return cause == CAUSES[machine] and judged(story, machine, block_size) == SHOWN

    return Goal(
        accepts, like=[[], CAUSES[machine]], words="a story that shows the fault, and its cause"
    )


def why(case: Case, yours: Any, right: Any) -> str:
    """No symptom, too long, or a symptom for a cause."""
    story, cause = yours
    machine, block_size = case.args
    said = judged(story, machine, block_size)
    if said != SHOWN:
        if "acts:" in said:
            return f"At most {MAX_ACTS} acts: omit those that machine {case.args[0]} does well."
        if "stops" in said:
            return (
                "That is close: find a story in which the machine goes on, and a sequence misreads."
            )
        return (
            "Every sequence read its own tokens. The faults concern sharing: fork first, then let "
            "the owners write or leave."
        )
    causes = [*CAUSES.values(), *DECOYS]
    if cause not in causes:
        return f"The cause must be one of {causes}."
    return (
        "Your story shows it, but this is not why: several faults have this symptom. Change one "
        "act, and see whether your cause still foretells what happens."
    )


def play(case: Case) -> Timeline:
    """A fork that a sound machine comes through: its owners write, and one leaves."""
    story = Story(gpu_blocks=12, block_size=case.args[1])
    acts = [("arrive", 0, case.args[1] - 1), ("fork", 0, 1), ("write", 0, 1), ("write", 1, 1)]
    perform([*acts, ("leave", 0), ("arrive", 2, 1)], story)
    return story.run


EXERCISE = Exercise(
    number="5.3",
    title="Find the bug",
    stars=3,
    statement="""\
`pagesim.exercises.ch05.machines` has three machines, each a block manager with a memory and one
planted fault. `MACHINES["A"](block_size=4).play(acts)` returns what each sequence reads through its
table when the acts are over; `Machine(block_size=4)` is the sound one. An act is one of

* `("arrive", 0, 6)`: s0 arrives with a prompt of 6 tokens, called 0 to 5 (s1's are 100, 101, …);
* `("fork", 0, 1)`: s1 is forked from s0;
* `("write", 0, 1)`: s0 writes 1 token;
* `("leave", 0)`: s0 leaves.

Write `find_the_bug(machine, block_size)`. It returns a story, at most 8 acts, after which some
sequence of this machine reads something other than its own tokens, as short as you can make it; and
the cause, one of

* `"a shared block is freed with its first owner"`
* `"a fork does not raise the count"`
* `"the copy is made after the write"`
* `"a full block is also copied"`
* `"a freed block goes to the back of the free list"`

Find it by playing. The file gives the faults away; a bug report would not.""",
    reference=find_the_bug,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "no_fork": Wrong(
            variant(
                find_the_bug,
                'begin = [("arrive", 0, block_size - 1), ("fork", 0, 1)]',
                'begin = [("arrive", 0, block_size - 1), ("arrive", 1, block_size - 1)]',
            ),
            "Any two sequences will get into each other's way.",
            "machine A",
        ),
        "full_blocks_only": Wrong(
            variant(find_the_bug, "block_size - 1", "block_size"),
            "It does not matter whether the shared block is full.",
            "machine B",
        ),
        "symptom_for_cause": Wrong(
            variant(
                variant(
                    find_the_bug,
                    '("write", 0, 1), ("write", 1, 1)]',
                    '("leave", 0), ("arrive", 2, 1)]',
                ),
                '"a fork does not raise the count"',
                '"a shared block is freed with its first owner"',
            ),
            "A block that is reused too early was freed too early.",
            "machine B",
        ),
        "one_story_for_all": Wrong(
            variant(
                find_the_bug,
                '[*begin, ("leave", 0), ("arrive", 2, 1)]',
                '[*begin, ("write", 0, 1)]',
            ),
            "A fork and a write show every fault.",
            "machine A",
        ),
    },
    hints=(
        "All three faults are about blocks with two owners. What can owners do? Try each: one "
        "writes, both write, one leaves and another sequence arrives.",
        "Machine C needs three acts, the others four. Let the shared last block be partly filled.",
        "Fork, then: the first owner leaves and a third sequence arrives; both owners write; one "
        "owner writes. Two of the faults show the first symptom, but only one of them the second.",
    ),
    vllm=(
        "vllm/core/block/naive_block.py: NaiveBlockAllocator._free_block_id, fork",
        "vllm/core/block/common.py: RefCounter, CopyOnWriteTracker",
        "vllm/worker/worker.py: Worker.execute_worker, where copies come before the model runs",
    ),
    play=play,
    replay=replays.acts,
)
