"""# 7.1 Which requests are admitted ★

A step begins. The scheduler admits prompts from the head of `waiting`, first come, first served,
and it stops at the first prompt that does not fit. Write

```python
def admit(waiting, free_blocks, token_budget, seq_budget, watermark_blocks, block_size):
    return admitted
```

* `waiting`: the lengths of the waiting prompts, in tokens, the oldest first;
* `free_blocks`: the number of free GPU blocks, of which `watermark_blocks` must stay free;
* `token_budget`, `seq_budget`: how many tokens and how many sequences this step may compute.
  Nothing else runs in this step, so the prompts have both budgets to themselves;
* `admitted`: the indices of the admitted prompts in `waiting`, from 0.

A prompt takes whole blocks of `block_size` tokens. Each prompt would fit into an empty GPU.

Example: `admit([12, 6, 9, 2], 6, 64, 8, 0, 4)` is `[0, 1]`. The first two prompts take 3 + 2 of the
6 blocks. The third needs 3 blocks and does not fit, and the fourth must not overtake it.

## Hints
1. Go through the queue from its head, and keep track of three things that can run out.
2. A prompt needs as many blocks as its length divided by `block_size`, rounded up. Stop at the
   first prompt that does not fit.
3. Stop if `free_blocks - blocks < watermark_blocks`, if the length is more than what is left of
   `token_budget`, or if `seq_budget` prompts have been admitted. Otherwise subtract the prompt's
   blocks and tokens, and go on.

## Wrong answers
* overtaking (a later one would fit): A prompt that does not fit is skipped, and the next one is
  tried.
* no_watermark (the watermark): A prompt may take the last block.
* rounded_down (one token too many): A block that is only partly filled does not count.
* tokens_in_one_piece (a block for each): Two prompts can share a block.
* strictly_more (one prompt that fits exactly): More blocks than the watermark must stay free.
* no_token_budget (the token budget): Blocks are the only limit.

## vLLM
* vllm/core/scheduler.py: Scheduler._schedule_prefills
* vllm/core/block_manager.py: SelfAttnBlockSpaceManager.can_allocate
* vllm/core/scheduler.py: SchedulingBudget.can_schedule
"""

from collections import deque
from typing import Any

from pagesim.exercises.ch07.serving import ServingScheduler, add
from pagesim.exercises.kit import Case, Cases, Random, Timeline, UsageError, counted, recorded
from pagesim.v0.sequence import Sequence, SequenceGroup


def admit(
    waiting: list[int],
    free_blocks: int,
    token_budget: int,
    seq_budget: int,
    watermark_blocks: int,
    block_size: int,
) -> list[int]:
    """The indices in `waiting` (prompt lengths, oldest first) of what the next step admits."""
    ### BEGIN SOLUTION
    admitted: list[int] = []
    for place, length in enumerate(waiting):
        blocks = -(-length // block_size)
        ### rounded_down: blocks = length // block_size
        ### tokens_in_one_piece: blocks = length / block_size
        if free_blocks - blocks < watermark_blocks:
            ### no_watermark: if free_blocks < blocks:
            ### strictly_more: if free_blocks - blocks <= watermark_blocks:
            break
            ### overtaking: continue
        if length > token_budget or len(admitted) == seq_budget:
            ### no_token_budget: if len(admitted) == seq_budget:
            break
        free_blocks -= blocks
        token_budget -= length
        admitted.append(place)
    return admitted
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """A queue for each limit, then queues at random."""
    shown: tuple[tuple[Any, ...], ...] = (
        ([4], 1, 64, 8, 0, "one prompt that fits exactly"),
        ([5], 1, 64, 8, 0, "one token too many"),
        ([4], 1, 64, 8, 1, "the watermark"),
        ([1, 1], 1, 64, 8, 0, "a block for each"),
        ([4, 4], 3, 4, 8, 0, "the token budget"),
        ([4, 4], 3, 64, 1, 0, "the sequence budget"),
        ([8, 4], 1, 64, 8, 0, "a later one would fit"),
        ([4, 8, 4], 2, 64, 8, 0, "a later one would fit"),
    )
    for *args, tag in () if hidden else shown:
        yield Case((*args, 4), tag=tag)
    for _ in range(200 if hidden else 100):
        waiting = [rng.randint(1, 24) for _ in range(rng.randint(1, 7))]
        budget = rng.randint(max(waiting), 80)
        watermark_blocks, block_size = rng.randint(0, 3), rng.choice((1, 3, 4, 16))
        free_blocks = rng.randint(0, 80 // block_size)
        limits = (free_blocks, budget, rng.randint(1, 6), watermark_blocks, block_size)
        yield Case((waiting, *limits), tag="random")


def valid(waiting: list[int], token_budget: int, seq_budget: int, block_size: int) -> bool:
    return 0 < min(waiting) <= max(waiting) <= token_budget and min(seq_budget, block_size) > 0


def step(
    waiting: list[int], order: list[int], *limits: int, watermark: bool = True
) -> tuple[list[int], Timeline]:
    """The prompts arrive and stand in this order; which are in the step, if there is one?

    So many other blocks are taken that no prompt is too long for the GPU.
    """
    free_blocks, token_budget, seq_budget, watermark_blocks, block_size = limits
    taken = max(-(-length // block_size) for length in waiting) + watermark_blocks
    fraction = (watermark_blocks + 0.5) / (free_blocks + taken)  # the manager rounds down
    budgets = {"max_num_batched_tokens": token_budget, "max_model_len": token_budget}
    budgets["max_num_seqs"] = min(seq_budget, token_budget)
    scheduler = ServingScheduler(free_blocks + taken, block_size, fraction, **budgets)
    if not watermark:
        scheduler.block_manager.watermark_blocks = 0
    other = Sequence(1000, [0] * (taken * block_size), block_size)
    scheduler.block_manager.allocate(SequenceGroup("others", [other]))
    with recorded(scheduler) as run:
        for number, length in enumerate(waiting):
            add(scheduler, number, length)
        group = {each.request_id: each for each in scheduler.waiting}
        names = dict.fromkeys([*map(str, order), *group])
        scheduler.waiting = deque(group[name] for name in names)
        metadata = scheduler.schedule()[0] if order else []
    return [int(meta.request_id) for meta in metadata], run


def oracle(waiting: list[int], *limits: int, record: bool = True) -> tuple[list[int], Timeline]:
    """What the scheduler schedules."""
    admitted, run = step(waiting, [*range(len(waiting))], *limits)
    return admitted, run.annotate(title="The next step: which requests are admitted?")


def why(yours: list[int], right: list[int], waiting: list[int], *limits: int) -> str:
    free_blocks, token_budget, seq_budget, watermark_blocks, block_size = limits
    for i, fits in enumerate(right):
        if yours[i : i + 1] != [fits]:
            return f"Prompt {fits} fits, and so do all prompts before it."
    needs, place = [-(-length // block_size) for length in waiting], len(right)
    blocks, left = free_blocks - sum(needs[:place]), token_budget - sum(waiting[:place])
    reason = f"has {counted(waiting[place], 'token')}, and {left} are left of the token budget"
    if needs[place] > blocks - watermark_blocks:
        free = f"The number of free blocks is {blocks}, and {watermark_blocks} must stay free"
        reason = f"needs {counted(needs[place], 'block')}. {free}"
    elif len(right) == seq_budget:
        reason = f"would be one sequence more than the budget of {seq_budget}"
    return f"Prompt {place} {reason}. So the scheduler stops there."


def replay(yours: list[int], waiting: list[int], *limits: int) -> Timeline:
    """The step with the prompts of the answer, if there are blocks for them."""
    wide = limits[0], sum(waiting), max(1, len(yours)), *limits[3:]
    admitted, run = step(waiting, yours, *wide, watermark=False)
    if admitted != yours:
        raise UsageError(f"there are no blocks for all of {yours}")
    return run.annotate(title="With your answer")
