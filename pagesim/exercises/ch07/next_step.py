"""# 7.4 One step by hand ★★

What does the scheduler decide next? You are given two queues and the free list. No request is
swapped out, preemption means recomputation, the budgets of tokens and of sequences are large, and
there is no watermark. Write

```python
def next_step(waiting, running, free, block_size):
    return computed, preempted, free_after
```

* `waiting`: `(name, tokens)` of each prompt, the head of the queue first. The names are numbers;
* `running`: `(name, tokens, table)` of each decoding sequence, the oldest first. `tokens` includes
  the newest token, which was sampled in the last step and has no slot yet;
* `free`: the free list. Blocks are taken from its left, and freed blocks go back to its left, one
  by one;
* `computed`: `(name, number of tokens)` of every sequence that is computed in this step, in order;
* `preempted`: the names of the victims, in the order in which they were preempted;
* `free_after`: the free list at the end of the scheduler's work.

Three rules of chapter 7 decide the step:

* Prompts go first, in a step of their own (section 4).
* Otherwise the running sequences continue, each with one token. A sequence continues only if at
  least *one* block is free, even if it has room in its last block ("0.6.4's surprises").
* Victims come from the end of `running` (section 3).

Example, with blocks of 4: `next_step([], [(0, 5, [2]), (1, 3, [0])], [1], 4)` is
`([(0, 1)], [1], [0])`. `s0` has 4 tokens in block 2, so it takes block 1 for the fifth. Now nothing
is free. So `s1` is preempted, although its block 0 has room.

## Hints
1. Look at the prompts first. If one is admitted, the step has no decodes. If none is, go through
   `running`.
2. While nothing is free, preempt the last sequence of `running`. Only then find out whether the
   token needs a block: `(tokens - 1) % block_size == 0`.
3. Free a victim's blocks in the order of its table: `for block in table: free.insert(0, block)`. If
   nothing is free and nothing else runs, the sequence preempts itself, and the step ends.

## Wrong answers
* mixed (a prompt, and one that decodes): A step computes prompts and decodes together.
* room_in_its_own (nothing is free, room in its own block): A sequence with room in its own block
  needs no free block.
* oldest_first (three, and nothing is free): The sequence that has run longest is preempted.
* table_put_back_as_a_run (a victim with two blocks): A table goes back to the free list in its own
  order, with its first block at the front.
* overtaking (the head does not fit): A prompt that does not fit is skipped.
* always_a_block (room in its own block): Every new token takes a block.

## vLLM
* vllm/core/scheduler.py: Scheduler._schedule_default
* vllm/core/scheduler.py: Scheduler._schedule_running
* vllm/core/block_manager.py: SelfAttnBlockSpaceManager.can_append_slots
"""

from itertools import islice

from pagesim.exercises.ch07.serving import Batch, ServingScheduler, add, step
from pagesim.exercises.kit import Case, Cases, Random, Timeline, recorded
from pagesim.v0.block.interfaces import Device

Waiting = list[tuple[int, int]]
Running = list[tuple[int, int, list[int]]]
Step = tuple[Batch, list[int], list[int]]


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
            ### overtaking: continue
        free = free[needed:]
        computed.append((name, tokens))
    if computed:
        ### mixed: if False:
        return computed, preempted, free
    while running:
        name, tokens, table = running.pop(0)
        while not free:
            ### room_in_its_own: while not free and tokens % block_size == 1:
            victim, _, blocks = running.pop() if running else (name, tokens, table)
            ### oldest_first: victim, _, blocks = (running or [(name, tokens, table)]).pop(0)
            preempted.append(victim)
            for block in blocks:
                ### table_put_back_as_a_run: for block in blocks[::-1]:
                free.insert(0, block)
            if victim == name:
                return computed, preempted, free
        if (tokens - 1) % block_size == 0:
            ### always_a_block: if True:
            free.pop(0)
        computed.append((name, 1))
    return computed, preempted, free
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """A state for each rule, then states at random."""
    shown: tuple[tuple[Waiting, Running, list[int], str], ...] = (
        ([(0, 3)], [], [0], "one prompt"),
        ([], [(0, 3, [0])], [1], "room in its own block"),
        ([], [(0, 5, [0])], [1], "a new block"),
        ([(1, 4)], [(0, 3, [0])], [1], "a prompt, and one that decodes"),
        ([], [(0, 5, [0]), (1, 5, [1])], [], "two, and nothing is free"),
        ([], [(0, 3, [0]), (1, 3, [1])], [], "nothing is free, room in its own block"),
        ([], [(0, 5, [0]), (1, 6, [2, 1])], [], "a victim with two blocks"),
        ([], [(0, 5, [0]), (1, 2, [1]), (2, 2, [2])], [], "three, and nothing is free"),
        ([(2, 9), (3, 1)], [(0, 3, [0])], [1, 2], "the head does not fit"),
    )
    for *state, tag in () if hidden else shown:
        yield Case((*state, 4), tag=tag)
    for _ in range(150 if hidden else 60):
        block_size = rng.choice((1, 2, 4))
        lengths = [rng.randint(2, 3 * block_size + 2) for _ in range(rng.randint(1, 4))]
        needs = [-(-(length - 1) // block_size) for length in lengths]
        ids = list(range(sum(needs) + rng.choice((0, 0, 1, 2, 4))))
        rng.shuffle(ids)
        left, running = iter(ids), []
        for name, (length, blocks) in enumerate(zip(lengths, needs, strict=True)):
            running.append((name, length, [*islice(left, blocks)]))
        sizes = (rng.randint(1, block_size * len(ids)) for _ in range(rng.randint(0, 2)))
        yield Case(([*enumerate(sizes, 10)], running, [*left], block_size), tag="random")


def oracle(
    waiting: Waiting, running: Running, free: list[int], block_size: int, *, record: bool = True
) -> tuple[Step, Timeline]:
    """What the scheduler decides in this state. The blocks of its run have other ids."""
    total = len(free) + sum(len(table) for _, _, table in running)
    scheduler = ServingScheduler(total, block_size, preemption_mode="recompute")
    for name, tokens, _ in running:
        add(scheduler, name, tokens - 1, token=0)
    if running:
        step(scheduler, answers=[2] * len(running))
    manager = scheduler.block_manager
    called = dict(zip(manager.block_allocator.free_block_ids(Device.GPU), free, strict=True))
    for name, _, table in running:
        called |= zip(manager.block_tables[name].physical_block_ids, table, strict=True)
    for name, tokens in waiting:
        add(scheduler, name, tokens, token=0)
    with recorded(scheduler) as run:
        metadata, _, _ = scheduler.schedule()
    computed = [(int(meta.request_id), meta.token_chunk_size) for meta in metadata]
    names = ", ".join(f"{ours} is your {yours}" for ours, yours in sorted(called.items()))
    after = [called[block] for block in manager.block_allocator.free_block_ids(Device.GPU)]
    right = computed, list(scheduler.preempted), after
    return right, run.annotate(title=f"One step; block {names}"[:120])


def why(yours: Step, right: Step, waiting: Waiting) -> str:
    computed, preempted = list(map(tuple, yours[0])), list(yours[1])
    if (computed, preempted) == right[:2]:
        back = "A victim's blocks go back to the left one by one, in the order of its table"
        taken = "Blocks are taken from the left of the free list"
        return f"{taken}. {back}, so its last block is then the first."
    prompts = {name for name, _ in waiting}
    if any(name in prompts for name, _ in right[0]):
        return "Prompts are admitted from the head of waiting, and no sequence decodes beside them."
    if any(name in prompts for name, _ in computed):
        behind = "and no prompt behind it may overtake it"
        return f"The prompt at the head of waiting does not fit, {behind}. So the others decode."
    if preempted != right[1]:
        needs = "A sequence continues only if a block is free, even if it does not need the block"
        last = "the last of running is preempted, and finally the sequence itself"
        return f"{needs}. While none is free, {last}."
    return "The sequences that are not preempted compute one token each, in the order of running."
