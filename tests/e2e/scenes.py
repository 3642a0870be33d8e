"""The runs that the browser is shown."""

import random
from typing import Any

import pagesim
from pagesim import Question, SequenceStatus
from tests.timeline.random_calls.manager import ManagerRun
from tests.v0.scheduling.engine import Engine


def small() -> pagesim.Timeline:
    """Twelve blocks and a bit of everything: two sequences, a fork, a copy, a swap, an end.

    Events: 0 allocate a, 1 allocate b, 2 append, 3 fork, 4 append (copies), 5 swap out,
    6 swap in, 7 free.
    """
    story = pagesim.Story(gpu_blocks=12, cpu_blocks=8, block_size=4)
    a, b = story.arrive([11, 12, 13, 14, 15]), story.arrive([21, 22, 23])
    b.write([24])
    child = a.fork()
    a.write([16])
    b.swap_out()
    b.swap_in()
    child.leave()
    return story.run.annotate(title="A small run")


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
    story = pagesim.Story(gpu_blocks=512, cpu_blocks=128, block_size=16)
    running: list[pagesim.Writer] = []
    swapped: list[pagesim.Writer] = []
    for number in range(events):
        free = story.manager.get_num_free_gpu_blocks()
        if number % 4 == 0 and free > 100:
            prompt = [rng.randrange(32_000) for _ in range(rng.randrange(60, 161))]
            running.append(story.arrive(prompt, number))
        elif number % 90 == 1 and len(running) > 4 and len(swapped) < 8:
            swapped.append(running.pop(0))
            swapped[-1].swap_out()
        elif number % 90 == 46 and swapped and free > 30:
            running.append(swapped.pop(0))
            running[-1].swap_in()
        else:
            writer = rng.choice(running)
            if writer.seq.get_output_len() > 20 + writer.name % 30:
                writer.leave()
                running.remove(writer)
            else:
                writer.write([rng.randrange(32_000)])
    return story.run


def cached(events: int) -> pagesim.Timeline:
    """V1 with caching: 128 blocks of 16, six beginnings that the prompts share."""
    rng = random.Random(0)
    story = pagesim.Story(gpu_blocks=128, block_size=16, engine="v1", caching=True)
    text = [rng.randrange(32_000) for _ in range(5000)]
    running: list[pagesim.Writer] = []
    for number in range(events):
        if number % 4 == 0 and len(running) < 9:
            head = rng.randrange(6) * 100
            own = rng.randrange(600, 4900)
            prompt = text[head : head + 75] + text[own : own + rng.randrange(20, 60)]
            running.append(story.arrive(prompt, number))
        elif rng.random() < 0.1:
            running.pop(rng.randrange(len(running))).leave()
        else:
            rng.choice(running).write([rng.randrange(32_000)])
    return story.run


def hostile(names: list[str], tokens: list[str], title: str, why: str) -> pagesim.Timeline:
    """A run in which all that can be named bears a name that would like to be more than text."""
    story = pagesim.Story(gpu_blocks=24, cpu_blocks=8, block_size=4)
    for number, name in enumerate(names):
        story.arrive([number, number, number], name)
    labels = dict(enumerate(tokens))
    asks = [Question(1, why, "taken", why)]
    return story.run.annotate(title=title, tokens=labels, questions=asks)


def scheduled(num_requests: int = 3, **config: Any) -> pagesim.Timeline:
    """A scheduler's work: by default three requests in 8 blocks, of which one is preempted."""
    limits = {"max_num_batched_tokens": 256, "max_num_seqs": 16, "max_model_len": 256}
    gpu = 8 if num_requests < 4 else 96
    engine = Engine(gpu=gpu, cpu=8, watermark=0.0, **limits | config)
    with pagesim.record(engine.scheduler) as run:
        for i in range(num_requests):
            engine.add(f"chat-{i}", [i] * 7)
        for _ in range(9):
            engine.step()
            for group in engine.groups.values():
                if group.first_seq.get_output_len() == 7:
                    group.first_seq.status = SequenceStatus.FINISHED_STOPPED
            engine.scheduler.free_finished_seq_groups()
    return run
