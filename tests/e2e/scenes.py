"""The runs that the browser is shown."""

import random

import pagesim
from pagesim import Question, SelfAttnBlockSpaceManager, Sequence, SequenceGroup, SequenceStatus
from tests.timeline.random_calls.manager import ManagerRun


def small() -> pagesim.Timeline:
    """Twelve blocks and a bit of everything: two sequences, a fork, a copy, a swap, an end.

    Events: 0 allocate a, 1 allocate b, 2 append, 3 fork, 4 append (copies), 5 swap out,
    6 swap in, 7 free.
    """
    manager = SelfAttnBlockSpaceManager(4, 12, 8, watermark=0.0)
    with pagesim.record(manager) as run:
        a, b = Sequence(0, [11, 12, 13, 14, 15], 4), Sequence(1, [21, 22, 23], 4)
        groups = [SequenceGroup(f"r{seq.seq_id}", [seq]) for seq in (a, b)]
        for group in groups:
            manager.allocate(group)
            group.first_seq.status = SequenceStatus.RUNNING
        _grow(manager, b, 24)
        child = a.fork(2)
        manager.fork(a, child)
        _grow(manager, a, 16)
        manager.swap_out(groups[1])
        b.status = SequenceStatus.SWAPPED
        manager.swap_in(groups[1])
        b.status = SequenceStatus.RUNNING
        manager.free(child)
    return run.annotate(title="A small run")


def asked() -> pagesim.Timeline:
    """The small run with one question of its own, before its first event."""
    question = Question(0, "Where does a begin?", "taken", "At the front of the list.", "first")
    return small().annotate(questions=[question])


def by_chance(seed: int, caching: bool, events: int = 400) -> pagesim.Timeline:
    """Whatever can happen to a manager."""
    world = ManagerRun(seed, caching)
    with pagesim.record(world.manager) as run:
        while len(run) < events:
            world.step()
    return run[:events]


def busy(events: int) -> pagesim.Timeline:
    """A server's day: 512 + 128 blocks of 16, prompts of 60 to 160 tokens, most of them in use."""
    rng = random.Random(0)
    manager = SelfAttnBlockSpaceManager(16, 512, 128, watermark=0.0)
    running: list[SequenceGroup] = []
    swapped: list[SequenceGroup] = []
    with pagesim.record(manager) as run:
        for number in range(events):
            if len(run) >= events:
                break
            if number % 4 == 0 and manager.get_num_free_gpu_blocks() > 100:
                prompt = [rng.randrange(32_000) for _ in range(rng.randrange(60, 161))]
                group = SequenceGroup(f"{number}", [Sequence(number, prompt, 16)])
                manager.allocate(group)
                _set(group, SequenceStatus.RUNNING)
                running.append(group)
            elif number % 90 == 1 and len(running) > 4 and len(swapped) < 8:
                group = running.pop(0)
                manager.swap_out(group)
                _set(group, SequenceStatus.SWAPPED)
                swapped.append(group)
            elif number % 90 == 46 and swapped and manager.get_num_free_gpu_blocks() > 30:
                group = swapped.pop(0)
                manager.swap_in(group)
                _set(group, SequenceStatus.RUNNING)
                running.append(group)
            else:
                group = rng.choice(running)
                if group.first_seq.get_output_len() > 20 + group.first_seq.seq_id % 30:
                    manager.free(group.first_seq)
                    running.remove(group)
                else:
                    _grow(manager, group.first_seq, rng.randrange(32_000))
    return run


def hostile(names: list[str], tokens: list[str], title: str, why: str) -> pagesim.Timeline:
    """A run in which all that can be named bears a name that would like to be more than text."""
    allocator = pagesim.CpuGpuBlockAllocator.create("naive", 24, 8, 4)
    with pagesim.record(allocator) as run:
        for number, name in enumerate(names):
            table = pagesim.BlockTable(4, allocator)
            run.label(table, name)
            table.allocate([number, number, number], pagesim.Device.GPU)
    labels = dict(enumerate(tokens))
    return run.annotate(title=title, tokens=labels, questions=[Question(1, why, "taken", why)])


def scheduled(num_requests: int = 3, **config: object) -> pagesim.Timeline:
    """A scheduler's work: by default three requests in 8 blocks, of which one is preempted."""
    limits = {"max_num_batched_tokens": 256, "max_num_seqs": 16, "max_model_len": 256}
    scheduler = pagesim.Scheduler(
        pagesim.SchedulerConfig(**(limits | config)),  # type: ignore[arg-type]
        pagesim.CacheConfig(4, 8 if num_requests < 4 else 96, 8, watermark=0.0),
        clock=lambda: 0.0,
    )
    with pagesim.record(scheduler) as run:
        for i in range(num_requests):
            seq = Sequence(i, [i] * 7, 4)
            scheduler.add_seq_group(SequenceGroup(f"chat-{i}", [seq]))
        for _ in range(9):
            metadata, outputs, _async = scheduler.schedule()
            for given, meta in zip(outputs.scheduled_seq_groups, metadata, strict=True):
                seq = given.seq_group.first_seq
                seq.data.update_num_computed_tokens(meta.token_chunk_size)
                seq.append_token_id(9, {9: pagesim.Logprob(0.0)})
                if seq.get_output_len() == 7:
                    seq.status = SequenceStatus.FINISHED_STOPPED
            scheduler.free_finished_seq_groups()
    return run


def _grow(manager: SelfAttnBlockSpaceManager, seq: Sequence, token: int) -> None:
    seq.append_token_id(token, {token: pagesim.Logprob(0.0)})
    manager.append_slots(seq, 0)


def _set(group: SequenceGroup, status: SequenceStatus) -> None:
    for seq in group.seqs:
        seq.status = status
