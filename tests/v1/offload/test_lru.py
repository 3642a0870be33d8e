"""Least recently used: which chunk goes first."""

import pytest

from pagesim.v1 import CPUOffloadingManager, ReqContext


class Tier:
    """A manager, whose stores and loads end at once; a request's keys are the letters of a word."""

    def __init__(self, num_chunks: int, policy: str = "lru") -> None:
        self.manager = CPUOffloadingManager(num_chunks, policy)

    def request(self, word: str = "") -> ReqContext:
        request = ReqContext(word)
        for place, key in enumerate(word, 1):
            request.set_offload_key_position(key, 4 * place)
        self.manager.on_new_request(request)
        return request

    def store(self, request: ReqContext, keys: str) -> str | None:
        """The keys that are evicted for these; None if there is no room."""
        answer = self.manager.prepare_store(keys, request)
        self.manager.complete_store(keys, request)
        return None if answer is None else "".join(map(str, answer.evicted_keys))

    def load(self, word: str) -> None:
        """By a request of its own."""
        request = self.request(word)
        self.manager.prepare_load(word, request)
        self.manager.complete_load(word, request)
        self.manager.on_request_finished(request)

    def pass_by(self, keys: str) -> None:
        """Each is stored by a request of its own, and never used again."""
        for key in keys:
            request = self.request(key)
            self.store(request, key)
            self.manager.on_request_finished(request)

    @property
    def there(self) -> str:
        return "".join(sorted(map(str, self.manager.policy.chunks)))


@pytest.mark.parametrize("pieces", [["xyz"], ["z", "x", "y"], ["y", "zx"]])
def test_a_tail_goes_before_its_head(pieces: list[str]) -> None:
    tier = Tier(3)
    request = tier.request("xyz")
    for piece in pieces:
        tier.store(request, piece)
    other = tier.request("pqr")
    assert [tier.store(other, key) for key in "pqr"] == ["z", "y", "x"]


def test_an_older_request_takes_no_recency_away() -> None:
    tier = Tier(3)
    old, new = tier.request("abx"), tier.request("x")
    tier.store(old, "a")
    tier.store(new, "x")
    tier.store(old, "b")
    tier.store(old, "x")  # it needs x as well
    assert tier.manager.policy.state() == {"order": ["b", "a", "x"]}


def test_a_request_that_ends_is_used_last() -> None:
    tier = Tier(3)
    first, second = tier.request("ab"), tier.request("x")
    tier.store(first, "ab")
    tier.store(second, "x")
    assert tier.manager.policy.state() == {"order": ["b", "a", "x"]}
    tier.manager.on_request_finished(first)
    assert tier.manager.policy.state() == {"order": ["x", "b", "a"]}
    tier.manager.on_request_finished(first)
    tier.manager.touch("x", first)
    assert tier.manager.policy.state() == {"order": ["b", "a", "x"]}
