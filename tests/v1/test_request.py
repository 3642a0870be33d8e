"""Requests: their tokens, the hashes of their blocks, and what they refuse."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagesim.errors import UsageError
from pagesim.v1 import FinishReason, Request, RequestStatus, hash_block_tokens
from pagesim.v1.request_queue import PriorityRequestQueue

EVEN = ("0", "2", "4", "6", "8")
TOKENS = st.lists(st.integers(0, 2), min_size=1, max_size=12)


def test_a_hash_is_the_same_in_every_process_and_every_python() -> None:
    first = hash_block_tokens(None, [1, 2])
    assert first.hex().startswith("05be4ebf183217cc")
    assert hash_block_tokens(first, [3, 4]).hex().startswith("a7171711666099bb")


@given(TOKENS, TOKENS, st.sampled_from([None, "x"]), st.sampled_from([None, "x"]))
def test_hashes_are_equal_iff_all_tokens_so_far_and_the_salt_are(
    one: list[int], other: list[int], salt: str | None, other_salt: str | None
) -> None:
    a = Request("a", one, block_size=2, cache_salt=salt)
    b = Request("b", other, block_size=2, cache_salt=other_salt)
    for i, (mine, its) in enumerate(zip(a.block_hashes, b.block_hashes, strict=False)):
        end = 2 * i + 2
        assert (mine == its) == (one[:end] == other[:end] and salt == other_salt)


@given(TOKENS, TOKENS)
def test_hashes_come_with_the_tokens_one_by_one_or_at_once(one: list[int], more: list[int]) -> None:
    grown = Request("a", one, block_size=3)
    for token in more:
        grown.append_output_token_ids(token)
    listed = Request("b", one, block_size=3)
    listed.append_output_token_ids(more)
    whole = Request("c", one + more, block_size=3)
    assert grown.block_hashes == listed.block_hashes == whole.block_hashes
    assert len(whole.block_hashes) == len(one + more) // 3
    assert grown.all_token_ids == listed.all_token_ids == whole.all_token_ids
    assert (grown.prompt_token_ids, grown.output_token_ids) == (one, more)
    assert (grown.num_tokens, grown.num_output_tokens) == (len(one + more), len(more))


def test_without_a_block_size_nothing_is_hashed() -> None:
    its = Request("a", range(40))
    its.append_output_token_ids(range(40))
    assert its.block_hashes == []


def test_the_caller_keeps_the_prompt() -> None:
    prompt = [1, 2, 3]
    Request("a", prompt).append_output_token_ids(4)
    assert prompt == [1, 2, 3]


def test_the_end_of_a_request() -> None:
    its = Request("a", [1])
    assert (its.is_finished(), its.get_finished_reason()) == (False, None)
    its.status = RequestStatus.FINISHED_ABORTED
    assert (its.is_finished(), its.get_finished_reason()) == (True, FinishReason.ABORT)
    finished = [status for status in RequestStatus if RequestStatus.is_finished(status)]
    assert all(RequestStatus.get_finished_reason(status) for status in finished)
    unfinished = [status.name for status in RequestStatus if status not in finished]
    assert unfinished == ["WAITING", "WAITING_FOR_REMOTE_KVS", "RUNNING", "PREEMPTED"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"request_id": 7.5}, TypeError, "request_id must be a string or an int, not 7.5"),
        ({"request_id": True}, TypeError, "request_id must be a string or an int, not True"),
        ({"request_id": "\ud800"}, UsageError, "request_id must be text"),
        ({"prompt_token_ids": [1, 2.0]}, TypeError, r"prompt_token_ids\[1\] must be an int"),
        ({"prompt_token_ids": "abc"}, TypeError, "prompt_token_ids must be a list of ints"),
        ({"block_size": 0}, UsageError, "block_size must be at least 1, not 0"),
        ({"max_tokens": 0}, UsageError, "max_tokens must be at least 1, not 0"),
        ({"stop_token_ids": [None]}, TypeError, r"stop_token_ids\[0\] must be an int"),
        ({"priority": "high"}, TypeError, "priority must be an int"),
        ({"arrival_time": float("nan")}, UsageError, "arrival_time must be a time"),
        ({"cache_salt": 3}, TypeError, "cache_salt must be a string or None, not 3"),
        ({"skip_reading_prefix_cache": 1}, TypeError, "skip_reading_prefix_cache must be True or"),
    ],
)
def test_what_is_wrong_is_named(arguments: dict[str, Any], error: type, message: str) -> None:
    given: dict[str, Any] = {"request_id": "a", "prompt_token_ids": [1]} | arguments
    with pytest.raises(error, match=message):
        Request(given.pop("request_id"), given.pop("prompt_token_ids"), **given)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=9),
    st.sets(st.integers(0, 8)),
)
def test_priority_then_arrival_then_id(urgencies: list[tuple[int, int]], gone: set[int]) -> None:
    requests = [
        Request(i if i % 2 else str(i), [1], priority=priority, arrival_time=arrival)
        for i, (priority, arrival) in enumerate(urgencies)
    ]
    queue = PriorityRequestQueue()
    for request in requests:
        queue.add_request(request)
    queue.remove_requests([requests[i] for i in gone if i < len(requests)])
    left = [request for i, request in enumerate(requests) if i not in gone]
    expected = sorted(
        left, key=lambda r: (r.priority, r.arrival_time, r.request_id in EVEN, r.request_id)
    )
    assert list(queue) == expected and len(queue) == len(expected)
    assert [queue.pop_request() for _ in expected] == expected
