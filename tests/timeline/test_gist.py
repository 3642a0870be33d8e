"""The title of a run that has none: who shares what, and how often it was too little."""

import pagesim
from pagesim.simulation import Limits
from pagesim.timeline.gist import gist
from pagesim.workload import Request


def test_requests_share_memory_and_one_gives_way() -> None:
    requests = [Request(f"r{i}", 0.01 * i, 20, 20) for i in range(4)]
    for policy, memory in (("paged", "8 blocks"), ("v1", "7 blocks"), ("max", "128 slots")):
        limits = Limits(max_model_len=64)
        run = pagesim.simulate(
            requests, policy=policy, pool=128, limits=limits, record=True, progress=False
        ).timeline
        assert run is not None
        said, times = gist(run), len(run.find(kind="preempt"))
        assert said.startswith(f"4 requests share {memory}")
        assert (f" {times} times " in said, " once " in said) == (times > 1, times == 1)
        assert times == 0 or policy != "max"


def test_without_requests_there_is_no_count() -> None:
    story = pagesim.Story(gpu_blocks=4, block_size=4)
    story.arrive(range(5))
    assert not any(letter.isdigit() for letter in gist(story.run))
