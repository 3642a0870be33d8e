"""The operations of a recording of V1's second tier: its manager alone, and a scheduler with it.

A chunk goes by the name of its key: in a scheduler, by that of its last block.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, ClassVar

from pagesim import v1
from pagesim.errors import UsageError
from pagesim.files.jsonl import JsonObject
from pagesim.journal.effects import Name
from pagesim.replay.block_layer import Named, Player
from pagesim.replay.v1 import V1SchedulerPlayer
from pagesim.replay.v1_observed import event_row
from pagesim.v1.kv_events import KVCacheEvent
from pagesim.v1.transfers import GPULoadStoreSpec, TransferJob

OUTCOMES = {(False, False): "stored", (True, False): "removed", (True, True): "failed"}
"""What an event of a manager says, by ``removed`` and ``metadata_only``."""


def tier_state(manager: v1.CPUOffloadingManager, name: Callable[[Any], str]) -> JsonObject:
    """The chunks of a manager, and what its policy knows of them; ``name`` is that of a key."""
    policy = {
        what: round(known, 9) if isinstance(known, float) else [name(key) for key in known]
        for what, known in manager.policy.state().items()
    }
    chunks = {
        name(key): [chunk.chunk_id, chunk.ref_cnt] for key, chunk in manager.policy.chunks.items()
    }
    return {"chunks": chunks, **policy}


class OffloadManagerPlayer(Player):
    """The manager of a second tier, and the requests that it knows."""

    pools: ClassVar[tuple[str, ...]] = ("num_chunks",)
    state_after_error: ClassVar[bool] = True
    has_pages: ClassVar[bool] = False

    def start(self, config: JsonObject) -> None:
        self.subject = self.manager = v1.CPUOffloadingManager(**config)
        self.contexts = Named[Name, v1.ReqContext]()

    def state(self) -> JsonObject:
        counts = self.manager.counts
        tracker = {} if counts is None else {"tracker": [list(pair) for pair in counts.items()]}
        return tier_state(self.manager, str) | tracker

    def op_context(self, request: Name) -> None:
        self.contexts[request] = context = v1.ReqContext(request)
        self.manager.on_new_request(context)

    def op_positions(self, request: Name, keys: list[tuple[str, int]]) -> None:
        for key, end in keys:
            self.contexts[request].set_offload_key_position(key, end)

    def op_lookup(self, request: Name, key: str) -> str:
        return self.manager.lookup(key, self.contexts[request]).name

    def op_touch(self, request: Name, keys: list[str]) -> None:
        self.manager.touch(keys, self.contexts[request])

    def op_prepare_load(self, request: Name, keys: list[str]) -> list[int]:
        return self.manager.prepare_load(keys, self.contexts[request]).block_ids

    def op_complete_load(self, request: Name, keys: list[str]) -> None:
        self.manager.complete_load(keys, self.contexts[request])

    def op_prepare_store(self, request: Name, keys: list[str]) -> JsonObject:
        answer = self.manager.prepare_store(keys, self.contexts[request])
        if answer is None:
            return {"refused": True}
        return {
            "store": answer.keys_to_store,
            "chunks": answer.store_spec.block_ids,
            "evicted": answer.evicted_keys,
        }

    def op_complete_store(self, request: Name, keys: list[str], success: bool = True) -> None:
        self.manager.complete_store(keys, self.contexts[request], success)

    def op_finish(self, request: Name) -> None:
        self.manager.on_request_finished(self.contexts[request])

    def op_events(self) -> list[list[Any]]:
        events = self.manager.take_events()
        return [[OUTCOMES[event.removed, event.metadata_only], event.keys] for event in events]

    def op_reset_cache(self) -> None:
        self.manager.reset_cache()

    def op_stats(self) -> JsonObject:
        stats = self.manager.get_stats()
        return {
            name: round(value, 9) if isinstance(value, float) else value
            for name, value in stats.items()
        }


class OffloadSchedulerPlayer(V1SchedulerPlayer):
    """Requests on a scheduler with a second tier; the recording says when copies end."""

    def start(self, config: JsonObject) -> None:
        tier = v1.OffloadingConfig(**config["offload"])
        if tier.num_chunks > self.max_blocks:
            raise UsageError(f"num_chunks is {tier.num_chunks}, more than {self.max_blocks}")
        super().start(config)
        self.published: list[KVCacheEvent] = []
        self.subject = self.scheduler = v1.Scheduler(
            self.scheduler.scheduler_config, self.scheduler.cache_config, tier
        )
        self.scheduler.publish = self.published.extend
        self.hears = tier.enable_kv_cache_events

    def state(self) -> JsonObject:
        connector = self.scheduler.connector
        if connector is None:
            raise UsageError("there is no second tier")
        return super().state() | {
            "holding": [request.request_id for request in self.scheduler.kv_holding_waiting],
            "jobs": sorted(connector.jobs),
            **tier_state(connector.manager, self.labels.__getitem__),
        }

    def op_schedule(self) -> JsonObject:
        told = super().op_schedule()
        metadata = self.in_flight[-1].kv_connector_metadata
        if metadata is None:
            raise UsageError("there is no second tier")
        loads, stores = metadata.load_jobs.values(), metadata.store_jobs.values()
        return told | {
            "loads": [[*_row(job), job.sync] for job in loads],
            "stores": [_row(job) for job in stores],
            "flush": sorted(metadata.jobs_to_flush),
        }

    def op_update(
        self,
        tokens: dict[Name, list[int]],
        completed: Sequence[Sequence[int]] = (),
        received: Sequence[Name] = (),
        invalid: Sequence[int] = (),
    ) -> Any:
        done = [(job_id, num_workers) for job_id, num_workers in completed]
        report = v1.ModelRunnerOutput(tokens, done, received, set(invalid))
        answer: JsonObject = {"outputs": self.update(report)}
        if self.hears:
            answer["events"] = _settled([event_row(each, self.labels) for each in self.published])
            self.published.clear()
        return answer

    def op_reset_prefix_cache(self, running: bool, connector: bool = False) -> bool:
        return self.scheduler.reset_prefix_cache(running, connector)

    def op_counts(self) -> JsonObject:
        return super().op_counts() | {"has_requests": self.scheduler.has_requests()}


def _row(job: TransferJob) -> list[Any]:
    """A copy as a recording has it."""
    source, target = job.src_spec, job.dst_spec
    gpu = source if isinstance(source, GPULoadStoreSpec) else target
    index = gpu.block_indices[0] if isinstance(gpu, GPULoadStoreSpec) else None
    return [job.job_id, job.req_id, source.block_ids, target.block_ids, index]


def _settled(rows: list[JsonObject]) -> list[JsonObject]:
    """Neighbouring chunks in the order of their hashes: vLLM announces them in that of a set."""
    settled: list[JsonObject] = []
    for is_chunk, group in groupby(rows, _is_chunk):
        some = list(group)
        settled += sorted(some, key=lambda row: row["hashes"]) if is_chunk else some
    return settled


def _is_chunk(row: JsonObject) -> bool:
    return (row["type"], row["medium"]) == ("BlockStored", "CPU")
