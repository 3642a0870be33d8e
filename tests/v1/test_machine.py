"""Any sequence of calls keeps a KV cache manager consistent, and a hit never has other tokens."""

import os
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from pagesim.v1 import KVCacheManager, Request, RequestStatus
from tests.v1.world import Memory, check, everything

SIZE, BLOCKS, LONGEST = 2, 12, 40
EXAMPLES = int(os.environ.get("PAGESIM_V1_EXAMPLES", "8"))
"""Of 50 operations each, for every machine; `make nightly` sets it."""
TOKENS = st.lists(st.sampled_from([-1, -2]), min_size=1, max_size=14)
PICK = st.integers(0, 99)
SETTINGS = settings(max_examples=EXAMPLES, derandomize=True)


class Requests(RuleBasedStateMachine):
    """Requests that wait, run, are preempted and end, on one manager."""

    caching: ClassVar[bool] = True
    window: ClassVar[int | None] = None
    retention: ClassVar[int | None] = 0

    def __init__(self) -> None:
        super().__init__()
        self.manager = KVCacheManager(
            BLOCKS, SIZE, LONGEST, self.caching, self.window, 0.1, 8, self.retention
        )
        self.memory = Memory(BLOCKS, SIZE)
        self.requests: list[Request] = []
        self.tables: dict[str, list[int]] = {}
        self.count = 0

    def pick(self, number: int, running: bool) -> Request | None:
        found = [r for r in self.requests if (r.status is RequestStatus.RUNNING) == running]
        return found[number % len(found)] if found else None

    def table(self, request: Request) -> list[int]:
        return self.manager.get_block_ids(request.request_id)[0]

    def allocate(self, request: Request, count: int, found: int, *args: Any, **more: Any) -> bool:
        """Give room for ``count`` tokens, and compute them; nothing changes if there is none."""
        before, start = everything(self.manager), request.num_computed_tokens + found
        new = self.manager.allocate_slots(request, count, found, *args, **more)
        if new is None:
            after = everything(self.manager)
            kept = before if self.window is None else {k: before[k] for k in ("found", "cached")}
            assert {key: after[key] for key in kept} == kept
            return False
        assert (
            new.get_block_ids()[0]
            == self.table(request)[len(self.table(request)) - len(new.blocks[0]) :]
        )
        table, tokens = self.table(request), request.all_token_ids
        self.memory.compute(table, tokens, start, start + count)
        first = 0 if self.window is None else max(0, start + 1 - self.window)
        self.memory.check(table, tokens, first, start + count)
        request.num_computed_tokens = start + count
        return True

    @rule(tokens=TOKENS, salt=st.sampled_from([None, None, None, "x"]))
    def add(self, tokens: list[int], salt: str | None) -> None:
        if len(self.requests) < 6:
            self.count += 1
            name = f"r{self.count}"
            self.requests.append(Request(name, tokens, block_size=SIZE, cache_salt=salt))

    @rule(pick=PICK, part=st.sampled_from([1, 1, 2]), whole=st.booleans(), busy=st.booleans())
    def admit(self, pick: int, part: int, whole: bool, busy: bool) -> None:
        request = self.pick(pick, running=False)
        if request is None:
            return
        hits, found, _ = self.manager.get_computed_blocks(request)
        assert found == len(hits.blocks[0]) * SIZE < request.num_tokens
        count = max(1, (request.num_tokens - found) // part)
        if self.allocate(
            request, count, found, hits, full_sequence_must_fit=whole, has_scheduled_reqs=busy
        ):
            request.status = RequestStatus.RUNNING

    @rule(pick=PICK, token=st.sampled_from([-1, -2]), lookahead=st.sampled_from([0, 0, 0, 3]))
    def step(self, pick: int, token: int, lookahead: int) -> None:
        request = self.pick(pick, running=True)
        if request is None:
            return
        if request.num_computed_tokens == request.num_tokens:
            if request.num_tokens == LONGEST:
                return
            request.append_output_token_ids(token)
        self.allocate(request, request.num_tokens - request.num_computed_tokens, 0, None, lookahead)

    @rule(pick=PICK)
    def preempt(self, pick: int) -> None:
        request = self.pick(pick, running=True)
        if request is not None:
            self.manager.free(request)
            del self.tables[request.request_id]
            request.status, request.num_computed_tokens = RequestStatus.PREEMPTED, 0

    @rule(pick=PICK)
    def finish(self, pick: int) -> None:
        request = self.pick(pick, running=True)
        if request is not None:
            self.preempt(pick)
            self.requests.remove(request)

    @rule(block_ids=st.sets(st.integers(0, BLOCKS - 1), max_size=3))
    def evict(self, block_ids: set[int]) -> None:
        self.manager.evict_blocks(block_ids)

    @rule()
    def reset(self) -> None:
        owned = any(self.manager.block_pool.blocks[i].ref_cnt for i in range(BLOCKS))
        assert self.manager.reset_prefix_cache() == (not owned)

    @invariant()
    def it_is_consistent(self) -> None:
        check(self.manager)

    @invariant()
    def tables_only_grow(self) -> None:
        """An entry keeps its id until it becomes the null block."""
        now = {r.request_id: self.table(r) for r in self.requests if self.table(r)}
        for name, table in self.tables.items():
            assert len(now[name]) >= len(table)
            assert all(b in (a, 0) for a, b in zip(table, now[name], strict=False))
        self.tables = now

    def teardown(self) -> None:
        for request in self.requests:
            self.manager.free(request)
        check(self.manager)
        assert self.manager.usage == 0


FULL = [(False, None, 0), (True, None, 0)]
WINDOWS = [(False, 3, 0), (True, 1, None), (True, 3, None), (True, 5, 0), (True, 4, 6)]


@pytest.mark.parametrize(("caching", "window", "retention"), FULL + WINDOWS)
def test_any_sequence_of_calls(caching: bool, window: int | None, retention: int | None) -> None:
    members = {"caching": caching, "window": window, "retention": retention}
    machine = type("Requests", (Requests,), members)
    run_state_machine_as_test(machine, settings=SETTINGS)
