"""Builds a scheduler in a state: who runs with which blocks, who is on the CPU, what is cached."""

from __future__ import annotations

from dataclasses import fields
from sys import maxsize
from typing import Any, Protocol

from pagesim import v1
from pagesim.decision.requests import Described
from pagesim.errors import NoFreeBlocksError, UsageError
from pagesim.files.jsonl import JsonObject
from pagesim.sizing.kv_cache_spec import FullAttentionSpec
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.v0.scheduler import Scheduler
from pagesim.v0.sequence import Logprob, Sequence, SequenceGroup, SequenceStatus
from pagesim.v1.group_words import parse_groups

AnyScheduler = Scheduler | v1.Scheduler
CONFIGS: dict[str, tuple[Any, Any]] = {
    "v0": (SchedulerConfig, CacheConfig),
    "v1": (v1.SchedulerConfig, v1.CacheConfig),
}


class Builder(Protocol):
    """Puts requests into a scheduler, as if it had served them up to now."""

    @property
    def scheduler(self) -> AnyScheduler: ...

    def run(self, name: str, its: Described, tokens: list[int]) -> None:
        """A running request; UsageError if there is no room for its blocks."""

    def leave(self, name: str, its: Described, tokens: list[int]) -> None:
        """A request that was served: its full blocks are cached, and free."""

    def swap(self, name: str, its: Described, tokens: list[int]) -> None:
        """A request whose blocks are on the CPU."""

    def wait(self, name: str, its: Described, tokens: list[int]) -> None:
        """A request that arrives."""


def builder(engine: str, given: JsonObject) -> Builder:
    """An empty scheduler; ``given`` are fields of its configurations. UsageError for others."""
    if engine not in CONFIGS:
        raise UsageError(f"engine must be 'v0' or 'v1', not {engine!r}")
    if engine == "v1" and given.get("groups") is not None:
        caching = given.get("enable_prefix_caching", True)
        specs = parse_groups(given["groups"], given.pop("block_size"), bool(caching))
        given |= {"groups": specs}
    configs, unknown = [], set(given)
    for kind in CONFIGS[engine]:
        names = {one.name for one in fields(kind)} & given.keys()
        unknown -= names
        configs.append(kind(**{name: given[name] for name in names}))
    if unknown:
        raise UsageError(f"the configurations of {engine} have no {', '.join(sorted(unknown))}")
    return (BuilderV0 if engine == "v0" else BuilderV1)(*configs)


def _computed(name: str, its: Described) -> int:
    """How many of its tokens are computed."""
    count = its.tokens - 1 if its.computed is None else its.computed
    if not 1 <= count < its.tokens:
        raise UsageError(
            f"request {name!r} runs with {its.tokens} tokens, of which {count} are computed: it "
            "must be one or more, and fewer than it has"
        )
    return count


def _no_room(name: str, free: int) -> UsageError:
    return UsageError(
        f"request {name!r} cannot hold its blocks: only {free} are free beside the requests before "
        "it. Give more blocks, or describe fewer tokens"
    )


class BuilderV1:
    """V1: a manager allocates, and the queues are set."""

    def __init__(self, config: v1.SchedulerConfig, cache: v1.CacheConfig) -> None:
        self.scheduler = v1.Scheduler(config, cache)
        self._arrivals = 0.0

    def _request(self, name: str, its: Described, tokens: list[int]) -> v1.Request:
        self._arrivals += 1.0
        size = self.scheduler.kv_cache_manager.block_pool.hash_block_size
        caching = self.scheduler.kv_cache_manager.enable_caching
        return v1.Request(
            name,
            tokens,
            block_size=size if caching else None,
            max_tokens=maxsize,
            priority=its.priority,
            arrival_time=self._arrivals,
        )

    def _hold(self, request: v1.Request, count: int) -> None:
        manager = self.scheduler.kv_cache_manager
        hits, found, _ = manager.get_computed_blocks(request)
        if found >= count:  # it was computed before what it would find was there
            hits, found = manager.empty_kv_cache_blocks, 0
        request.status = v1.RequestStatus.RUNNING  # the watermark does not bind it any more
        is_one_full = manager.kv_cache_groups == (FullAttentionSpec(manager.block_size),)
        size = count if is_one_full else manager.block_size  # windows give blocks back meanwhile
        new: tuple[int, v1.KVCacheBlocks | None] = found, hits
        while (done := request.num_computed_tokens + new[0]) < count:
            if manager.allocate_slots(request, min(size, count - done), *new) is None:
                raise _no_room(str(request.request_id), manager.block_pool.get_num_free_blocks())
            request.num_computed_tokens = min(done + size, count)
            manager.new_step_starts()
            new = 0, None

    def run(self, name: str, its: Described, tokens: list[int]) -> None:
        count = _computed(name, its)
        prompt = tokens[:count] if count == len(tokens) - 1 else tokens
        request = self._request(name, its, prompt)
        if len(prompt) < len(tokens):
            request.append_output_token_ids(tokens[count:])
        request.is_prefill_chunk = count < len(prompt)
        self._hold(request, count)
        self.scheduler.requests[name] = request
        self.scheduler.running.append(request)

    def leave(self, name: str, its: Described, tokens: list[int]) -> None:
        if not self.scheduler.kv_cache_manager.enable_caching:
            raise UsageError(f"request {name!r} leaves nothing: prefix caching is off")
        request = self._request(name, its, tokens)
        self._hold(request, len(tokens))
        self.scheduler.kv_cache_manager.free(request)

    def swap(self, name: str, its: Described, tokens: list[int]) -> None:
        raise UsageError(f"request {name!r} cannot be on the CPU: V1 does not swap")

    def wait(self, name: str, its: Described, tokens: list[int]) -> None:
        self.scheduler.add_request(self._request(name, its, tokens))


class BuilderV0:
    """V0: groups of one sequence; the sequences are numbered as they are described."""

    def __init__(self, config: SchedulerConfig, cache: CacheConfig) -> None:
        self.scheduler = Scheduler(config, cache, clock=lambda: self._now)
        self._now = 0.0

    def _group(self, name: str, its: Described, tokens: list[int]) -> SequenceGroup:
        seq = Sequence(int(self._now), tokens, self.scheduler.cache_config.block_size)
        self._now += 1.0
        return SequenceGroup(name, [seq], self._now, priority=its.priority)

    def _hold(self, name: str, its: Described, tokens: list[int], count: int) -> SequenceGroup:
        manager, is_prompt = self.scheduler.block_manager, count < len(tokens) - 1
        group = self._group(name, its, tokens if is_prompt else tokens[:count])
        try:
            manager.allocate(group)
        except NoFreeBlocksError as error:
            raise _no_room(name, manager.get_num_free_gpu_blocks()) from error
        seq = group.first_seq
        manager.access_all_blocks_in_seq(seq, self._now)
        manager.mark_blocks_as_computed(group, count)
        seq.status = SequenceStatus.RUNNING
        seq.data.update_num_computed_tokens(count)
        for token in () if is_prompt else tokens[count:]:
            seq.append_token_id(token, {token: Logprob(0.0)})
        return group

    def run(self, name: str, its: Described, tokens: list[int]) -> None:
        self.scheduler.running.append(self._hold(name, its, tokens, _computed(name, its)))

    def leave(self, name: str, its: Described, tokens: list[int]) -> None:
        if not self.scheduler.block_manager.enable_caching:
            raise UsageError(
                f"request {name!r} leaves nothing: set enable_prefix_caching, which is off in V0"
            )
        group = self._hold(name, its, tokens, len(tokens))
        self.scheduler.free_seq(group.first_seq)

    def swap(self, name: str, its: Described, tokens: list[int]) -> None:
        group = self._hold(name, its, tokens, _computed(name, its))
        if not self.scheduler.block_manager.can_swap_out(group):
            free = self.scheduler.block_manager.get_num_free_cpu_blocks()
            raise UsageError(
                f"request {name!r} does not fit on the CPU, where {free} blocks are free: give "
                "more num_cpu_blocks"
            )
        self.scheduler.block_manager.swap_out(group)
        group.first_seq.status = SequenceStatus.SWAPPED
        self.scheduler.swapped.append(group)

    def wait(self, name: str, its: Described, tokens: list[int]) -> None:
        self.scheduler.add_seq_group(self._group(name, its, tokens))
