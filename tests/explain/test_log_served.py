"""A scheduler that runs here, its log as vLLM would write it, and what is found in the log."""

import pytest

from pagesim.story import Engine
from tests.explain.logs import found, tokens
from tests.explain.served import log_of

pytestmark = pytest.mark.ch10

POOL = [*tokens(1_600), "Using max model len 4096"]
"""100 blocks of 16, of which 99 can be used."""


def engine(**options: object) -> Engine:
    return Engine("v1", gpu_blocks=100, block_size=16, max_model_len=4_096, **options)


def test_a_prompt_that_never_fits() -> None:
    server = engine()
    server.add("long", 1_700), server.add("short", 20)
    assert [one.quirk for one in found(*POOL, *log_of(server, 4))] == ["w08"]
    assert server.status("short") == "WAITING"


def test_a_request_that_outgrows_the_pool() -> None:
    server = engine()
    server.add("grows", 1_500, max_tokens=400)
    quirks = [one.quirk for one in found(*POOL, *log_of(server, 12))]
    assert quirks[0] == "w09" and server.status("grows") == "PREEMPTED"


def test_a_prompt_that_is_computed_forever() -> None:
    server = engine(
        scheduler_reserve_full_isl=False, enable_prefix_caching=False, max_num_batched_tokens=256
    )
    server.add("long", 1_700), server.add("short", 20)
    quirks = [one.quirk for one in found(*POOL, *log_of(server, 9, steps=5))]
    assert "w10" in quirks and server.preemptions("long") > 2


def test_a_long_prompt_that_is_served() -> None:
    server = engine(max_num_batched_tokens=64)
    server.add("long", 1_500, max_tokens=40)
    assert found(*POOL[:1], *log_of(server, 9, steps=4)) == []


def test_a_limit_of_requests() -> None:
    server = engine(max_num_seqs=4)
    for number in range(20):
        server.add(f"r{number}", 20, max_tokens=200)
    (one,) = found("non-default args: {'max_num_seqs': 4}", *log_of(server, 6))
    assert "max_num_seqs is 4" in one.detail


def test_a_pool_that_is_too_small_for_its_outputs() -> None:
    server = engine()
    for number in range(20):
        server.add(f"r{number}", 60, max_tokens=300)
    reports = found(*POOL[:1], *log_of(server, 10))
    assert server.preemptions() > 0
    (one,) = [each for each in reports if "preempted" in each.title]
    assert f"preempted {server.preemptions()} requests" in one.title


def test_a_server_with_room() -> None:
    server = engine()
    for number in range(8):
        server.add(f"r{number}", 60, max_tokens=100)
    assert found(*POOL[:1], *log_of(server, 5)) == []
