"""Several samples of one prompt: what they share is one block, and counted once."""

from typing import Any

import pytest

import pagesim
from pagesim.simulation import Outcomes, Roofline
from pagesim.simulation.paged import PagedServer
from pagesim.simulation.serving import steps
from pagesim.simulation.waste import WasteLog
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.workload import Request, Workload


def served(n: int, **keywords: Any) -> pagesim.Simulation:
    requests = [Request(str(i), 0.0, 10, 6) for i in range(4)]
    given: dict[str, Any] = {"pool": 400, "block_size": 4, "max_model_len": 64}
    return pagesim.simulate(requests, samples=n, warmup=0.0, **(given | keywords))


def test_samples_share_their_prompt_and_copy_the_block_they_write_to() -> None:
    run = served(3)
    prompts, first, second = (run.waste.at(i) for i in range(3))
    assert prompts.token == 4 * 10
    # Two full blocks are shared by the three samples; each then has a third one of its own.
    assert first.token == 4 * (8 + 3 * (2 + 1))
    assert first.internal == 4 * 3 * 1
    assert second.token == 4 * (8 + 3 * (2 + 2))
    assert run.requests.num_finished == 4
    assert run.waste.at(-1).batch == 4


def test_samples_that_find_no_room_are_swapped_and_come_back() -> None:
    run = served(2, pool=60, num_cpu_blocks=40)
    assert run.preemptions > 0
    assert run.requests.num_finished == 4
    again = served(2, pool=60, num_cpu_blocks=40)
    assert (again.waste.seconds == run.waste.seconds).all()


def test_what_samples_need() -> None:
    with pytest.raises(pagesim.UsageError, match=r"2 samples .* preemption_mode must be 'swap'"):
        served(2, preemption_mode="recompute")
    with pytest.raises(pagesim.UsageError, match="samples that share blocks copy"):
        served(2, fast_forward=True)
    with pytest.raises(pagesim.UsageError, match="samples must be at least 1, not 0"):
        served(0)
    with pytest.raises(RuntimeError, match="no CPU swap space"):
        served(2, pool=60)
    assert served(2, pool=24).requests.num_ignored == 4  # swapped in, nothing is shared any more


def test_chunked_prefill_decodes_beside_prompts() -> None:
    requests = [Request("a", 0.0, 4, 20), Request("b", 0.001, 40, 3)]
    limits = {"pool": 400, "block_size": 4, "max_model_len": 64, "max_num_seqs": 8}
    chunks = {"max_num_batched_tokens": 16, "enable_chunked_prefill": True}
    plain = pagesim.simulate(requests, **limits, max_num_batched_tokens=64)
    chunked = pagesim.simulate(requests, **limits, **chunks)
    assert plain.requests.num_finished == chunked.requests.num_finished == 2
    assert chunked.waste.column("reserved").max() > 0 == plain.waste.column("reserved").max()


def blocks_of(n: int, *requests: Request) -> list[list[int]]:
    """The tables in the last step before the first request ends, with prefix caching."""
    config = SchedulerConfig(2048, 8, 2048, preemption_mode="swap")
    engine = PagedServer(config, CacheConfig(4, 999, 99, enable_prefix_caching=True), samples=n)
    outcomes, tables = Outcomes(requests), {}
    for _ in steps(engine, requests, WasteLog(4000), outcomes, Roofline()):
        tables = engine.tables() or tables
    return list(tables.values())


def test_no_sample_and_no_request_says_what_another_one_says() -> None:
    """Equal outputs would be found in the prefix cache, and shared."""
    prompt = 512 // 4
    twins = [Request(name, 0.0, 512, 20, (7,)) for name in "abc"]
    for n, requests in {3: twins[:1], 1: twins}.items():
        tables = blocks_of(n, *requests)
        assert len(tables) == max(n, len(requests))
        assert {tuple(table[:prompt]) for table in tables} == {tuple(tables[0][:prompt])}
        outputs = [block for table in tables for block in table[prompt:]]
        assert len(outputs) == len(set(outputs)) == len(tables) * 5


@pytest.mark.parametrize(("output", "served_"), [(1, 1), (2, 0)])
def test_more_samples_than_a_step_has_tokens_are_served_if_none_decodes(
    output: int, served_: int
) -> None:
    limits = {"max_model_len": 64, "max_num_seqs": 2, "max_num_batched_tokens": 2}
    options = {"enable_chunked_prefill": True, "num_cpu_blocks": 9, "progress": False}
    run = pagesim.simulate([Request("a", 0.0, 3, output)], samples=3, **limits, **options)
    assert (run.requests.num_finished, run.requests.num_ignored) == (served_, 1 - served_)


def test_vllm_chooses_to_recompute_one_sequence_and_to_swap_several() -> None:
    for n, mode, cpu in ((1, "recompute", 0), (2, "swap", 40)):
        chosen, given = (
            served(n, pool=60, num_cpu_blocks=cpu, preemption_mode=each, fast_forward=False)
            for each in (None, mode)
        )
        assert chosen.preemptions > 0
        assert (chosen.waste.seconds == given.waste.seconds).all()
        assert chosen.summary() == given.summary()


def test_split_samples_are_requests_that_share_by_content_alone() -> None:
    alone = Workload("one", "made up", (Request("a", 0.0, 40, 6), Request("b", 0.0, 30, 3)))
    split = alone.split_samples(3)
    assert [one.request_id for one in split[:3]] == [f"a_parallel_sample_{i}" for i in range(3)]
    assert [one.prompt_tokens for one in split] == [40, 40, 40, 30, 30, 30]
    given = {"pool": 800, "block_size": 4, "max_model_len": 64}
    shared = pagesim.simulate(alone, samples=3, **given)
    apart = pagesim.simulate(split, **given)
    found = pagesim.simulate(split, policy="v1", **given)
    assert apart.waste.at(0).token == 3 * 70 > shared.waste.at(0).token == 70
    assert sum(apart.requests.hits) == 0 < sum(found.requests.hits) == 2 * (36 + 28)


def test_split_samples_keep_what_is_known_of_their_prompts() -> None:
    known = Request("a", 0.0, 3, 1, token_ids=(1, 2, 3))
    hashed = Request("b", 0.0, 5, 1, hash_ids=(7, 8), hash_block_tokens=4)
    plain = Request("c", 0.0, 9, 1)
    split = Workload("mixed", "made up", (known, hashed, plain)).split_samples(2)
    assert [one.token_ids for one in split[:2]] == [(1, 2, 3)] * 2
    assert [one.hash_ids for one in split[2:]] == [(7, 8)] * 2 + [(9, 10, 11)] * 2
    with pytest.raises(pagesim.UsageError, match="n must be at least 1"):
        split.split_samples(0)
