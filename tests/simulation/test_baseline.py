"""The iteration loop: who runs when, what is counted, and that running sums are true sums."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagesim.errors import UsageError
from pagesim.simulation import Outcomes
from pagesim.simulation.baseline import BaselineServer
from pagesim.simulation.baselines import ContiguousPolicy, MemoryPolicy, StaticPolicy, TokenPolicy
from pagesim.simulation.serving import serve
from pagesim.simulation.waste import WasteLog
from pagesim.workload import Request
from tests.simulation.ledger import Clock, Step

POOL, LONGEST = 80, 32


def run(
    policy: MemoryPolicy, *lengths: tuple[float, int, int], seats: int = 9, budget: int = 64
) -> tuple[WasteLog, Outcomes, Clock]:
    requests = [Request(str(i), *row) for i, row in enumerate(lengths)]
    log, outcomes, clock = WasteLog(policy.pool), Outcomes(requests), Clock()
    serve(BaselineServer(policy, LONGEST, seats, budget), requests, log, outcomes, clock)
    log.check()
    return log, outcomes, clock


def oracle(pool: int = 64) -> ContiguousPolicy:
    return ContiguousPolicy(pool, LONGEST, "oracle")


def test_waiting_for_a_seat_makes_nothing_external() -> None:
    log, outcomes, _ = run(oracle(), (0, 4, 4), (0, 4, 4), seats=1)
    assert list(outcomes.first_scheduled) == [0, 4]
    assert (log.at(0).external, log.at(0).free) == (0, 56)


def test_a_prompt_beyond_the_budget_of_an_iteration_waits_for_the_next() -> None:
    log, outcomes, _ = run(oracle(), (0, 8, 8), (0, 8, 8), budget=15)
    assert list(outcomes.first_scheduled) == [0, 1]
    assert (log.at(0).external, log.at(0).free) == (0, 48)


def test_the_clock_jumps_to_the_next_arrival_when_nothing_runs() -> None:
    log, outcomes, _ = run(oracle(), (1.5, 4, 1), (10, 4, 1))
    assert list(log.seconds) == [1.5, 2.5, 10, 11]
    assert [log.at(i).batch for i in range(4)] == [0, 1, 0, 1]
    assert log.iterations == 2
    assert list(outcomes.latency("end_to_end")) == [1, 1]


def test_a_request_that_arrives_during_an_iteration_waits_for_its_end() -> None:
    _, outcomes, _ = run(oracle(), (0, 4, 4), (0.5, 4, 1))
    assert list(outcomes.first_scheduled) == [0, 1]
    assert list(outcomes.latency("queueing")) == [0, 0.5]


def test_static_batches_follow_one_another() -> None:
    _, outcomes, _ = run(StaticPolicy(70, LONGEST), *[(0, 4, n) for n in (2, 5, 1, 1)])
    assert list(outcomes.first_scheduled) == [0, 0, 5, 5]
    assert list(outcomes.finished) == [2, 5, 6, 6]


def test_what_can_never_be_served_is_ignored_and_holds_nobody_up() -> None:
    too_long, beyond_budget, no_room = (0, 20, 13), (0, 17, 1), (0, 9, 8)
    stream = too_long, (0, 4, 4), beyond_budget, no_room, (0, 4, 4)
    _, outcomes, _ = run(oracle(16), *stream, budget=16)
    assert list(outcomes.ignored) == [1, 0, 1, 1, 0]
    assert (outcomes.num_ignored, outcomes.num_finished) == (3, 2)
    assert len(outcomes.latency("normalized")) == 2


def test_progress_counts_the_ignored_and_the_finished() -> None:
    done: list[int] = []
    stream = [Request(str(i), 0, *row) for i, row in enumerate([(30, 30), (4, 1), (4, 2)])]
    server, outcomes = BaselineServer(oracle(), LONGEST, 9, 64), Outcomes(stream)
    serve(server, stream, WasteLog(64), outcomes, Clock(), done.append)
    assert done == [1, 2, 3]


def test_a_policy_that_refuses_for_ever_is_an_error_and_no_endless_loop() -> None:
    class Never(TokenPolicy):
        def admit(self, request: Request) -> bool:
            return False

    with pytest.raises(UsageError, match="though nothing runs"):
        run(Never(64), (0, 1, 1))


# -- against sums that are taken afresh ----------------------------------------------------------


def recount(
    name: str,
    log: WasteLog,
    outcomes: Outcomes,
    charged: list[Step],
    asked: Callable[[Request], int],
) -> None:
    """Every row again, from the start and end of each request alone (an iteration is a second)."""
    for i, second in enumerate(log.seconds):
        now = second - 1
        running = [
            (request, int(now - start))
            for request, start, end in zip(
                outcomes.requests, outcomes.first_scheduled, outcomes.finished, strict=True
            )
            if start <= now < end
        ]
        row = log.at(i)
        if not row.batch:
            assert not running
            continue
        held = [request.prompt_tokens + steps for request, steps in running]
        prefill = sum(request.prompt_tokens for request, steps in running if not steps)
        decodes = sum(steps > 0 for _, steps in running)
        assert charged.pop(0) == (prefill, decodes, sum(held) - prefill, 0)
        assert row.batch == len(running)
        assert row.token == sum(held)
        if name == "token":
            assert (row.reserved, row.internal) == (0, 0)
            assert row.token + row.external + row.free == POOL
            continue
        assert row.reserved == sum(request.total_tokens for request, _ in running) - row.token
        if name != "static":  # there the rows of those who are done count besides
            wanted = sum(asked(request) for request, _ in running)
            assert row.internal == wanted - row.token - row.reserved


STREAMS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 20), st.integers(1, 12)), min_size=1, max_size=14
)


def pow2(request: Request) -> int:
    return min(request.prompt_tokens + 2 ** (request.output_tokens - 1).bit_length(), LONGEST)


# Each policy, and how many slots a request asks it for.
POLICIES: dict[str, tuple[Callable[[], MemoryPolicy], Callable[[Request], int]]] = {
    "max": (lambda: ContiguousPolicy(POOL, LONGEST, "max"), lambda request: LONGEST),
    "pow2": (lambda: ContiguousPolicy(POOL, LONGEST, "pow2"), pow2),
    "oracle": (lambda: oracle(POOL), lambda request: request.total_tokens),
    "static": (lambda: StaticPolicy(POOL, LONGEST), lambda request: LONGEST),
    "token": (lambda: TokenPolicy(POOL), lambda request: 0),
}


@settings(max_examples=60)
@given(STREAMS, st.sampled_from(sorted(POLICIES)), st.integers(1, 6))
def test_running_sums_are_what_a_recount_gives(
    stream: list[tuple[float, int, int]], name: str, seats: int
) -> None:
    make, asked = POLICIES[name]
    policy = make()
    log, outcomes, clock = run(policy, *sorted(stream), seats=seats, budget=20)
    assert outcomes.num_finished == len(stream)
    assert policy.usage(head_waits=False) == (0, 0, 0, 0)
    recount(name, log, outcomes, clock.asked, asked)
    assert not clock.asked
    starts = list(outcomes.first_scheduled)
    assert starts == sorted(starts)
    for request, start, end in zip(outcomes.requests, starts, outcomes.finished, strict=True):
        assert request.arrival_s <= start == end - request.output_tokens
