"""Adaptive replacement: what is used by several requests stays, and the border learns."""

from pagesim.v1 import ReqContext
from pagesim.v1.offload.arc import ARCCachePolicy
from pagesim.v1.offload.base import ChunkStatus
from tests.v1.offload.test_lru import Tier


def arc(num_chunks: int) -> tuple[Tier, ARCCachePolicy]:
    tier = Tier(num_chunks, "arc")
    assert isinstance(tier.manager.policy, ARCCachePolicy)
    return tier, tier.manager.policy


def test_asking_for_ghosts_moves_the_border() -> None:
    tier, policy = arc(3)
    tier.pass_by("x")
    tier.load("x")
    tier.pass_by("abcd")
    assert (list(policy.b1), policy.target, tier.there) == (["a", "b"], 0.0, "cdx")
    tier.pass_by("ab")
    assert (list(policy.b1), policy.target, tier.there) == (["c", "d"], 2.0, "abx")
    tier.pass_by("c")  # t1 may have three chunks now, so x goes
    assert (list(policy.b2), policy.target, tier.there) == (["x"], 3.0, "abc")
    tier.pass_by("x")
    assert (list(policy.b2), policy.target, tier.there) == ([], 2.0, "bcx")


def test_a_ghost_counts_more_if_its_side_has_fewer() -> None:
    tier, policy = arc(4)
    policy.b1.update(dict.fromkeys("ab"))
    policy.b2.update(dict.fromkeys("wxyz"))
    tier.manager.touch("a", tier.request())
    assert (policy.target, list(policy.b1)) == (2.0, ["b", "a"])
    tier.manager.touch("w", tier.request())
    assert (policy.target, list(policy.b2)) == (1.0, ["x", "y", "z", "w"])


def test_a_request_asks_for_a_ghost_once_even_if_its_store_is_refused() -> None:
    tier, policy = arc(2)
    tier.pass_by("abc")
    reader, writer = tier.request(), tier.request()
    tier.manager.prepare_load("bc", reader)
    assert list(policy.b1) == ["a"]
    assert [tier.store(writer, "a"), tier.store(writer, "a")] == [None, None]
    assert policy.target == 1.0
    assert (tier.store(tier.request(), "a"), policy.target) == (None, 2.0)


def test_a_chunk_that_is_being_stored_stays_in_its_list_until_a_request_that_used_it_ends() -> None:
    policy, request = ARCCachePolicy(4), ReqContext("a")
    for number, key in enumerate("xyz"):
        policy.insert(key, ChunkStatus(number), request)
    policy.touch("x", request)
    assert list(policy.t1) == ["y", "z", "x"]
    policy.on_request_finished("yz", set(), {"z"}, request)  # y it has only seen
    policy.touch("z", request)
    assert (list(policy.t1), list(policy.t2)) == (["y", "x"], ["z"])
