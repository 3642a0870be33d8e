"""7.1: which of the waiting prompts are admitted in the next step?"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from pagesim.errors import UsageError
from pagesim.exercises.ch07.serving import add, new_scheduler
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.source import variant
from pagesim.timeline.record import record
from pagesim.timeline.run import Timeline
from pagesim.v0.scheduler import Scheduler
from pagesim.v0.scheduler_outputs import SchedulerPrefillOutputs, SchedulingBudget
from pagesim.v0.sequence import Sequence as TokenSequence
from pagesim.v0.sequence import SequenceGroup

STATEMENT = """
A step begins. The scheduler admits prompts from the head of `waiting`, first come, first served,
and stops at the first one that does not fit. Write

```python
def admit(waiting, free_blocks, token_budget, seq_budget, watermark_blocks, block_size):
    return admitted
```

* `waiting`: the lengths of the prompts in tokens, the oldest first;
* `free_blocks`: free blocks of the GPU, of which `watermark_blocks` must stay free;
* `token_budget`, `seq_budget`: how many tokens the step may compute, and how many sequences it may
  have. No decode is charged to them: nothing else runs in this step;
* `admitted`: the places of the admitted prompts in `waiting`, counted from 0.

A prompt takes whole blocks of `block_size` tokens. Each of them would fit an empty GPU.

Example: `admit([12, 6, 9, 2], 6, 64, 8, 0, 4)` is `[0, 1]`: the first two take 3 + 2 of the 6
blocks, the third needs 3, and the fourth must not overtake it.
"""


def admit(
    waiting: list[int],
    free_blocks: int,
    token_budget: int,
    seq_budget: int,
    watermark_blocks: int,
    block_size: int,
) -> list[int]:
    """The places in `waiting` (prompt lengths, oldest first) that the next step admits."""
    ### BEGIN SOLUTION
    admitted: list[int] = []
    for place, length in enumerate(waiting):
        blocks = -(-length // block_size)
        if free_blocks - blocks < watermark_blocks:
            break
        if length > token_budget or len(admitted) == seq_budget:
            break
        free_blocks -= blocks
        token_budget -= length
        admitted.append(place)
    return admitted
    ### END SOLUTION


def _scheduler(
    waiting: list[int],
    free_blocks: int,
    token_budget: int,
    seq_budget: int,
    watermark_blocks: int,
    block_size: int,
    kind: type[Scheduler] = Scheduler,
) -> Scheduler:
    """A scheduler with these prompts, and so many other blocks taken that none is too long."""
    taken = max(-(-length // block_size) for length in waiting) + watermark_blocks
    total = free_blocks + taken
    scheduler = new_scheduler(
        total,
        block_size=block_size,
        kind=kind,
        watermark=(watermark_blocks + 0.5) / total,  # the manager rounds down
        max_num_batched_tokens=token_budget,
        max_num_seqs=min(seq_budget, token_budget),
        max_model_len=token_budget,
    )
    other = TokenSequence(1000, [0] * (taken * block_size), block_size)
    scheduler.block_manager.allocate(SequenceGroup("others", [other]))
    return scheduler


def expected(*args: Any) -> list[int]:
    """What the scheduler schedules."""
    scheduler = _scheduler(*args)
    for number, length in enumerate(args[0]):
        add(scheduler, number, length)
    metadata, _, _ = scheduler.schedule()
    return [int(meta.request_id) for meta in metadata]


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    if not hidden:
        yield Case(([4], 1, 64, 8, 0, 4), tag="one prompt that fits exactly")
        yield Case(([5], 1, 64, 8, 0, 4), tag="one token too many")
        yield Case(([4], 1, 64, 8, 1, 4), tag="the watermark")
        yield Case(([1, 1], 1, 64, 8, 0, 4), tag="a block for each")
        yield Case(([4, 4], 3, 4, 8, 0, 4), tag="the token budget")
        yield Case(([4, 4], 3, 64, 1, 0, 4), tag="the sequence budget")
        yield Case(([8, 4], 1, 64, 8, 0, 4), tag="a later one would fit")
        yield Case(([4, 8, 4], 2, 64, 8, 0, 4), tag="a later one would fit")
    for _ in range(200 if hidden else 100):
        waiting = [rng.randint(1, 24) for _ in range(rng.randint(1, 7))]
        budget = rng.randint(max(waiting), 80)
        watermark_blocks, block_size = rng.randint(0, 3), rng.choice((1, 3, 4, 16))
        free_blocks = rng.randint(0, 80 // block_size)
        yield Case(
            (waiting, free_blocks, budget, rng.randint(1, 6), watermark_blocks, block_size),
            tag="random",
        )


def why(case: Case, yours: Any, right: Any) -> str:
    waiting, free_blocks, token_budget, seq_budget, watermark_blocks, block_size = case.args
    if yours[: len(right)] != right:
        place = next(i for i, place in enumerate(right) if i >= len(yours) or yours[i] != place)
        return f"The prompt at place {place} fits, and so does everything before it."
    needs = [-(-length // block_size) for length in waiting]
    place = len(right)
    blocks = free_blocks - sum(needs[:place])
    if needs[place] > blocks - watermark_blocks:
        reason = (
            f"needs {needs[place]} of {blocks} free blocks, and {watermark_blocks} must stay free"
        )
    elif len(right) == seq_budget:
        reason = f"would be one more than the {seq_budget} sequences of the budget"
    else:
        left = token_budget - sum(waiting[:place])
        reason = f"has {waiting[place]} tokens, and {left} of the budget are left"
    return f"The prompt at place {place} {reason}: there the scheduler stops."


def play(case: Case) -> Timeline:
    scheduler = _scheduler(*case.args)
    with record(scheduler) as run:
        for number, length in enumerate(case.args[0]):
            add(scheduler, number, length)
        scheduler.schedule()
    return run.annotate(title="The next step: which requests are admitted?")


class _Yours(Scheduler):
    """Admits those that are named and no others, if there are blocks for them."""

    admitted: Sequence[int]

    def _schedule_prefills(self, budget: SchedulingBudget) -> SchedulerPrefillOutputs:
        for place in self.admitted[::-1]:
            group = next(group for group in self.waiting if group.request_id == str(place))
            self.waiting.remove(group)
            self.waiting.appendleft(group)
        return super()._schedule_prefills(budget)


def replay(_: Any, case: Case, yours: list[int]) -> Timeline:
    waiting, free_blocks, _, _, watermark_blocks, block_size = case.args
    wide = sum(waiting), max(1, len(yours)), watermark_blocks
    scheduler = _scheduler(waiting, free_blocks, *wide, block_size, _Yours)
    assert isinstance(scheduler, _Yours)
    scheduler.admitted, scheduler.block_manager.watermark_blocks = yours, 0
    with record(scheduler) as run:
        for number, length in enumerate(waiting):
            add(scheduler, number, length)
        admitted = [int(meta.request_id) for meta in scheduler.schedule()[0]] if yours else []
    if admitted != yours:
        raise UsageError(f"there are no blocks for all of {yours}")
    return run.annotate(title="With your answer")


def case_of(*args: Any) -> Case | None:
    """A case, if each prompt has tokens and fits the budget by itself."""
    waiting, _, token_budget, seq_budget, _, block_size = args
    fits = 0 < min(waiting) <= max(waiting) <= token_budget
    return Case(args) if fits and min(seq_budget, block_size) > 0 else None


EXERCISE = Exercise(
    number="7.1",
    title="Which requests are admitted",
    stars=1,
    statement=STATEMENT,
    reference=admit,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "overtaking": Wrong(
            variant(
                admit,
                "watermark_blocks:\n            break",
                "watermark_blocks:\n            continue",
            ),
            "What does not fit is skipped, and the next one is tried.",
            "a later one would fit",
        ),
        "no_watermark": Wrong(
            variant(admit, "free_blocks - blocks < watermark_blocks", "free_blocks < blocks"),
            "A prompt may take the last block.",
            "the watermark",
        ),
        "rounded_down": Wrong(
            variant(admit, "-(-length // block_size)", "length // block_size"),
            "A block that is only begun does not count.",
            "one token too many",
        ),
        "tokens_in_one_piece": Wrong(
            variant(admit, "blocks = -(-length // block_size)", "blocks = length / block_size"),
            "Two prompts can share a block.",
            "a block for each",
        ),
        "strictly_more": Wrong(
            variant(admit, "- blocks < watermark_blocks", "- blocks <= watermark_blocks"),
            "More than the watermark must stay free.",
            "one prompt that fits exactly",
        ),
        "no_token_budget": Wrong(
            variant(admit, "length > token_budget or len", "len"),
            "Blocks are the only limit.",
            "the token budget",
        ),
    },
    hints=(
        "Go through the queue from its head, and keep account of three things that run out.",
        "A prompt needs its length divided by block_size, rounded up. Where it does not fit: stop.",
        "Stop if free_blocks - blocks < watermark_blocks, if the length exceeds what is left of "
        "token_budget, or if seq_budget prompts are in. Else subtract, and go on.",
    ),
    vllm=(
        "vllm/core/scheduler.py: Scheduler._schedule_prefills",
        "vllm/core/block_manager.py: SelfAttnBlockSpaceManager.can_allocate",
        "vllm/core/scheduler.py: SchedulingBudget.can_schedule",
    ),
    play=play,
    replay=replay,
    case_of=case_of,
)
