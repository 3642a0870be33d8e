"""Adaptive replacement, beside what the recordings and the state machine of the manager prove."""

from pagesim.v1 import ReqContext
from pagesim.v1.offload.arc import ARCCachePolicy
from pagesim.v1.offload.base import ChunkStatus


def test_a_chunk_that_is_being_stored_stays_in_its_list_until_a_request_that_used_it_ends() -> None:
    policy, request = ARCCachePolicy(4), ReqContext("a")
    for number, key in enumerate("xyz"):
        policy.insert(key, ChunkStatus(number), request)
    policy.touch("x", request)
    assert list(policy.t1) == ["y", "z", "x"]
    policy.on_request_finished("yz", set(), {"z"}, request)  # y it has only seen
    policy.touch("z", request)
    assert (list(policy.t1), list(policy.t2)) == (["y", "x"], ["z"])
