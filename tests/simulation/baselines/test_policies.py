"""What each policy holds, reserves and wastes, in cases that can be counted by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagesim.errors import UsageError
from pagesim.simulation.baselines import ContiguousPolicy, MemoryPolicy, StaticPolicy, TokenPolicy
from pagesim.simulation.baselines.buddy import power_of_two_from
from pagesim.simulation.baselines.token import peak_tokens
from pagesim.workload import Request
from tests.simulation.test_baseline import LONGEST, POLICIES, POOL


def request(name: str, prompt: int, output: int) -> Request:
    return Request(name, 0.0, prompt, output)


@pytest.mark.parametrize(
    ("sizing", "asked", "granted"), [("max", 32, 32), ("pow2", 18, 32), ("oracle", 15, 16)]
)
def test_a_contiguous_request_from_its_start_to_its_end(
    sizing: str, asked: int, granted: int
) -> None:
    policy = ContiguousPolicy(POOL, LONGEST, sizing)
    a = request("a", 10, 5)
    assert policy.admit(a)
    rest = asked - 15, granted - asked
    assert policy.usage(head_waits=False) == (10, 5, *rest)
    policy.step()
    policy.step()
    assert policy.usage(head_waits=False) == (12, 3, *rest)
    unusable = POOL - granted
    assert policy.usage(head_waits=True) == (12, 3, asked - 15, granted - asked + unusable)
    policy.step()
    policy.step()
    policy.release(a)
    assert policy.usage(head_waits=False) == (0, 0, 0, 0)


def test_static_rows_last_until_the_batch_does() -> None:
    policy = StaticPolicy(POOL, LONGEST)
    a, b, c = request("a", 10, 2), request("b", 20, 4), request("c", 1, 1)
    assert policy.admit(a)
    assert policy.admit(b)
    assert not policy.admit(c)  # 80 slots are two rows of 32
    assert policy.usage(head_waits=False) == (30, 6, 64 - 36, 0)
    assert policy.usage(head_waits=True) == (30, 6, 64 - 36, 16)
    policy.step()
    policy.release(a)
    assert not policy.admit(c)  # a's row is not given to anybody
    assert policy.usage(head_waits=True) == (21, 3, 64 - 24, 16)
    policy.step()
    policy.step()
    policy.release(b)
    assert policy.usage(head_waits=False) == (0, 0, 0, 0)
    assert policy.admit(c)


def test_nobody_joins_a_static_batch_that_has_begun_with_a_row_to_spare() -> None:
    policy = StaticPolicy(POOL, LONGEST)
    policy.step()  # an iteration without anybody begins no batch
    assert policy.admit(request("a", 1, 9))
    policy.step()
    assert not policy.admit(request("b", 1, 1))
    assert policy.usage(head_waits=True) == (2, 8, 22, 48)


def test_token_tables_name_every_slot_once() -> None:
    policy = TokenPolicy(12)
    a, b = request("a", 3, 4), request("b", 2, 2)
    assert policy.admit(a)
    assert policy.admit(b)
    policy.step()
    assert [len(policy.tables[name]) for name in "ab"] == [4, 3]
    slots = [slot for table in policy.tables.values() for slot in table]
    assert len(set(slots)) == 7
    assert set(slots) <= set(range(12))
    assert policy.usage(head_waits=False) == (7, 0, 0, 0)
    assert policy.usage(head_waits=True) == (7, 0, 0, 5)
    policy.release(b)
    assert policy.usage(head_waits=False) == (4, 0, 0, 0)


def test_a_newcomer_waits_until_the_forecast_leaves_room() -> None:
    policy = TokenPolicy(12)
    a, b = request("a", 4, 5), request("b", 4, 5)
    assert policy.admit(a)  # grows to 8 slots
    assert not policy.admit(b)  # together they would grow to 16
    for _ in range(2):
        policy.step()
    assert not policy.admit(b)  # a ends with 8 while b has 6
    policy.step()
    policy.step()
    assert policy.admit(b)  # a has its 8 and is gone before b needs a fifth
    policy.release(a)
    policy.step()


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 30)), max_size=8))
def test_the_forecast_is_the_peak_that_comes(batch: list[tuple[int, int]]) -> None:
    steps = range(max((to_come for _, to_come in batch), default=0) + 1)
    peak = max(
        (sum(held + step for held, to_come in batch if to_come >= step) for step in steps),
        default=0,
    )
    assert peak_tokens(batch) == peak


def test_a_token_table_that_is_never_released_runs_into_the_end_of_the_pool() -> None:
    policy = TokenPolicy(2)
    assert policy.admit(request("a", 1, 2))
    policy.step()
    with pytest.raises(UsageError, match="1 requests need a slot, but only 0"):
        policy.step()


@pytest.mark.parametrize(
    ("policy", "fits", "too_long"),
    [
        (ContiguousPolicy(20, 32, "max"), None, (1, 1)),
        (ContiguousPolicy(40, 32, "max"), (1, 1), None),
        (ContiguousPolicy(20, 32, "oracle"), (8, 8), (8, 9)),
        (ContiguousPolicy(20, 32, "pow2"), (8, 7), (9, 7)),
        (StaticPolicy(31, 32), None, (1, 1)),
        (StaticPolicy(32, 32), (1, 1), None),
        (TokenPolicy(20), (10, 11), (10, 12)),
    ],
)
def test_what_could_never_be_admitted(
    policy: MemoryPolicy, fits: tuple[int, int] | None, too_long: tuple[int, int] | None
) -> None:
    if fits is not None:
        assert policy.can_ever_admit(request("a", *fits))
        assert policy.admit(request("a", *fits))
    if too_long is not None:
        assert not policy.can_ever_admit(request("b", *too_long))


def test_an_unknown_sizing_is_refused() -> None:
    with pytest.raises(UsageError, match="one of max, pow2, oracle, not 'half'"):
        ContiguousPolicy(POOL, LONGEST, "half")


@given(st.integers(1, 10**6))
def test_power_of_two_from(n: int) -> None:
    power = power_of_two_from(n)
    assert n <= power < 2 * n
    assert bin(power).count("1") == 1


@pytest.mark.parametrize("name", POLICIES)
def test_being_refused_takes_nothing(name: str) -> None:
    policy = POLICIES[name][0]()
    admitted = 0
    while policy.admit(request(str(admitted), 16, 16)):
        admitted += 1
    before = policy.usage(head_waits=True)
    assert not policy.admit(request("again", 16, 16))
    assert policy.usage(head_waits=True) == before
    assert 1 <= admitted <= 5
