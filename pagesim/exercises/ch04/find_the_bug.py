"""# 4.3 Find the bug ★★★

`pagesim.exercises.ch04.machines` has three machines. Each is a block manager with a memory, and
each has one fault. A machine plays a story, which is a list of **acts**, and returns what each
sequence reads through its table at the end:

```python
from pagesim.exercises.ch04.machines import MACHINES, Machine

story = [("arrive", 0, 6), ("write", 0, 1)]
print(MACHINES["A"](block_size=4).play(story))  # {0: [0, 1, 2, 3, 4, 5, 6]}
print(Machine(block_size=4).play(story))  # the same machine without a fault
```

An act is one of these:

* `("arrive", 0, 6)`: `s0` arrives with a prompt of 6 tokens. Its tokens are called 0 to 5; those of
  `s1` would be 100, 101, …;
* `("fork", 0, 1)`: `s1` is forked from `s0`;
* `("write", 0, 1)`: `s0` writes 1 token;
* `("leave", 0)`: `s0` leaves.

Write `find_the_bug(machine, block_size)`, where `machine` is `"A"`, `"B"` or `"C"`. The function
returns two things. The first is a story of at most 8 acts after which some sequence on this machine
reads something other than its own tokens. Make it as short as you can. The second is the cause, one
of

* `"a shared block is freed with its first owner"`
* `"a fork does not raise the count"`
* `"the copy is made after the write"`
* `"a full block is also copied"`
* `"a freed block goes to the back of the free list"`

Find the faults by playing with the machines. You could also read their code, but then you would not
learn to find a fault from what it does.

## Hints
1. All three faults concern blocks with two owners. What can the owners do? Try each: one of them
   writes, both write, or one leaves and another sequence arrives.
2. Machine C needs three acts, and the others need four. Let the shared last block be partly filled.
3. Begin with an arrival and a fork. Then try three endings: the first owner leaves and a third
   sequence arrives; both owners write; one owner writes. The faults of A and B both show in the
   first ending, but only one of them shows in the second.

## Wrong answers
* no_fork (machine A): Any two sequences will show the fault, even if they share nothing.
* full_blocks_only (machine B): It does not matter whether the shared block is full.
* symptom_for_cause (machine B): A block that is reused too early was freed too early.
* one_story_for_all (machine A): A fork and a write show every fault.

## vLLM
* vllm/core/block/naive_block.py: NaiveBlockAllocator._free_block_id, fork
* vllm/core/block/common.py: RefCounter, CopyOnWriteTracker
* vllm/worker/worker.py: Worker.execute_worker, where copies come before the model runs
"""

from typing import Any

from pagesim.errors import UsageError
from pagesim.exercises.acts import Act, perform
from pagesim.exercises.ch04.machines import CAUSES, DECOYS, MACHINES, Machine
from pagesim.exercises.kit import Case, Cases, Goal, Random, Story, Timeline

Found = tuple[list[Act], str]
"""A story, and the cause of what it shows."""


def find_the_bug(machine: str, block_size: int) -> tuple[list[tuple[Any, ...]], str]:
    """A story of at most 8 acts that shows this machine's fault, and the cause.

    machine: "A", "B" or "C"; block_size: slots in a block, at least 2.
    """
    ### BEGIN SOLUTION
    begin = [("arrive", 0, block_size - 1), ("fork", 0, 1)]
    ### no_fork: begin = [("arrive", 0, block_size - 1), ("arrive", 1, block_size - 1)]
    ### full_blocks_only: begin = [("arrive", 0, block_size), ("fork", 0, 1)]
    if machine == "A":
        story = [*begin, ("leave", 0), ("arrive", 2, 1)]
        ### one_story_for_all: story = [*begin, ("write", 0, 1)]
        return story, "a shared block is freed with its first owner"
    if machine == "B":
        story = [*begin, ("write", 0, 1), ("write", 1, 1)]
        ### symptom_for_cause: story = [*begin, ("leave", 0), ("arrive", 2, 1)]
        return story, "a fork does not raise the count"
        ### symptom_for_cause: return story, "a shared block is freed with its first owner"
    return [*begin, ("write", 0, 1)], "the copy is made after the write"
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """The three machines, with several block sizes: a story for one of them shows little."""
    for block_size in (2, 3, 5, 6) if hidden else (2, 3, 4, 5):
        for machine in MACHINES:
            yield Case((machine, block_size), tag=f"machine {machine}")


def oracle(machine: str, block_size: int) -> Goal:
    """That it is shown, and the fault that was planted."""
    return Goal([[], CAUSES[machine]], "a story that shows the fault, and its cause")


def why(yours: Found, machine: str, block_size: int) -> str:
    story, cause = yours
    acts = [tuple(act) for act in story]
    if len(acts) > 8:
        return f"A story has at most 8 acts. Leave out those that machine {machine} does right."
    if any(type(n) is not int or not 0 <= n <= 64 for act in acts for n in act[1:]):
        raise UsageError(f"the numbers in an act must be ints from 0 to 64: {acts}")
    sound, faulty = Machine(block_size), MACHINES[machine](block_size)
    for act in acts:
        sound.act(act)  # an act that cannot be is the student's error, and raises here
        try:
            faulty.act(act)
        except Exception:
            goes_on = "a story that it plays to the end, so that a sequence reads something wrong"
            return f"The machine stopped with an error. That is close. Now find {goes_on}."
        if any(faulty.read(name) != sound.read(name) for name in sound.here):
            break
    else:
        fork = "The faults concern sharing, so fork first, and then let the owners write or leave"
        return f"Every sequence read its own tokens. {fork}."
    if cause not in (causes := [*CAUSES.values(), *DECOYS]):
        return f"The cause must be one of {causes}."
    other = "Your story shows a fault, but the cause is another: several can look alike"
    change = "Change one act, and see whether your cause still predicts what happens"
    return "" if cause == CAUSES[machine] else f"{other}. {change}."


def play(block_size: int) -> Timeline:
    """A fork that a sound machine comes through: its owners write, and one leaves."""
    fork = [("arrive", 0, block_size - 1), ("fork", 0, 1)]
    after = [("write", 0, 1), ("write", 1, 1), ("leave", 0), ("arrive", 2, 1)]
    return played([*fork, *after], 12, block_size)


def replay(yours: Found, block_size: int) -> Timeline:
    """The story of the answer, with a manager without a fault."""
    return played(yours[0], 64, block_size).annotate(title="Your story, without a fault")


def played(acts: list[Act], gpu_blocks: int, block_size: int) -> Timeline:
    story = Story(gpu_blocks, block_size=block_size)
    perform(acts, story)
    return story.run
