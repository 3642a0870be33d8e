"""delay_factor: prompts are held back while others run, until the oldest has waited long enough."""

import pytest

from tests.v0.scheduling.engine import Engine, names


def after_a_prompt_step_of(seconds: float, factor: float) -> Engine:
    """a runs; the step that admitted it took so long, and it is now 10."""
    e = Engine(delay_factor=factor)
    e.add("a", 4, arrival=0.0)
    e.step(at=10.0 - seconds)
    return e


@pytest.mark.parametrize(("arrival", "held"), [(6.5, False), (7.0, True), (7.5, True)])
def test_a_prompt_must_have_waited_longer_than_the_last_prompt_step_took(
    arrival: float, held: bool
) -> None:
    e = after_a_prompt_step_of(2.0, factor=1.5)
    e.add("b", 4, arrival=arrival)
    assert names(e.step(at=10.0)) == ("a" if held else "b")


def test_one_that_waited_long_enough_brings_those_before_it() -> None:
    e = after_a_prompt_step_of(2.0, factor=1.0)
    for name, arrival in {"b": 9.0, "c": 7.0, "d": 9.5}.items():
        e.add(name, 4, arrival=arrival)
    assert (names(e.step(at=10.0)), e.queues[0]) == ("bc", "d")


def test_the_latency_of_the_last_prompt_step_stays_until_the_next_one() -> None:
    e = after_a_prompt_step_of(2.0, factor=1.0)
    for now in (10.0, 10.5, 11.0):
        assert names(e.step(at=now)) == "a"
    e.add("b", 4, arrival=9.5)
    assert names(e.step(at=11.5)) == "a"  # two seconds are not more than two
    assert names(e.step(at=11.75)) == "b"


def test_nobody_waits_for_a_step_that_would_be_empty() -> None:
    e = after_a_prompt_step_of(2.0, factor=100.0)
    e.add("b", 4, arrival=10.0)
    assert names(e.step(at=10.0, finish="a")) == "a"
    assert names(e.step(at=10.0)) == "b"


def test_a_prompt_that_is_ignored_is_no_prompt_step() -> None:
    e = after_a_prompt_step_of(2.0, factor=1.0)
    e.add("b", 65, arrival=0.0)  # longer than max_model_len
    assert [g.request_id for g in e.step(at=10.0).ignored_seq_groups] == ["b"]
    e.step(at=20.0)
    assert e.scheduler._delay.last_prompt_latency == 2.0


def test_without_a_factor_nothing_is_held() -> None:
    for factor in (0.0, -1.0):
        e = after_a_prompt_step_of(2.0, factor=factor)
        e.add("b", 4, arrival=99.0)
        assert names(e.step(at=10.0)) == "b"
