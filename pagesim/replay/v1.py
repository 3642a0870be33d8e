"""The operations of a recording of vLLM V1: one player for each kind of recording.

Hashes are not recorded, contents are: each hash goes by the name of the first request that had it,
and by the number of its block. See `pagesim.replay.block_layer`.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

from pagesim import v1
from pagesim.files.jsonl import JsonObject
from pagesim.journal.effects import Name
from pagesim.replay.block_layer import Ids, Named, Player
from pagesim.replay.record_vllm import ids_of, request_row

Rows = list[list[Any]]
"""What was sampled: the request, its new tokens or their number, and why it ended."""
FIELDS = {
    "salt": "cache_salt",
    "skip_reading": "skip_reading_prefix_cache",
    "stop": "stop_token_ids",
    "arrival": "arrival_time",
}
"""What a recording calls otherwise than a request does."""


class V1Player(Player):
    """What the kinds have in common: the pool's state, and requests with the names of contents."""

    pools: ClassVar[tuple[str, ...]] = ("num_gpu_blocks",)
    max_blocks: ClassVar[int] = 1_000_000
    state_after_error: ClassVar[bool] = True

    def start(self, config: JsonObject) -> None:
        self.labels: dict[bytes, str] = {}
        self.requests = Named[Name, v1.Request]()
        self.block_size: int = config.get("cache", config).get("block_size", 1)

    def new_request(self, request: str, prompt: list[int], **options: Any) -> v1.Request:
        named = {FIELDS.get(name, name): value for name, value in options.items()}
        new = v1.Request(request, prompt, block_size=self.block_size, **named)
        self.requests[request] = new
        self.name_contents(new)
        return new

    def name_contents(self, request: v1.Request) -> None:
        for index, block_hash in enumerate(request.block_hashes):
            self.labels.setdefault(block_hash, f"{request.request_id}.{index}")

    def told(self, ids: Sequence[list[int]]) -> Ids:
        """The ids of the only group, as a recording has them."""
        return ids[0]

    def row(self, request: v1.Request) -> list[Any]:
        """How far a request is."""
        return request_row(request)

    def pool_state(self, pool: v1.BlockPool) -> JsonObject:
        parts = self.contents(pool)
        return {
            "free": ids_of(pool.free_block_queue.get_all_free_blocks()),
            "ref": {str(block.block_id): block.ref_cnt for block in pool.blocks if block.ref_cnt},
            **{name: part for name, part in parts.items() if part},
        }

    def contents(self, pool: v1.BlockPool) -> JsonObject:
        """What is cached where, and which of several blocks with one content is found."""
        cached = {b.block_id: b.block_hash for b in pool.blocks if b.block_hash is not None}
        first = {
            self.labels[key]: ids_of(pool.get_cached_block(key) or ())[0]
            for key, count in Counter(cached.values()).items()
            if count > 1
        }
        labels = {str(block_id): self.labels[key] for block_id, key in cached.items()}
        return {"cached": labels, "first": first}


class FreeQueuePlayer(V1Player):
    """The queue of free blocks alone."""

    pools: ClassVar[tuple[str, ...]] = ("num_blocks",)
    has_pages: ClassVar[bool] = False

    def start(self, config: JsonObject) -> None:
        super().start(config)
        self.blocks = [v1.KVCacheBlock(block_id) for block_id in range(config["num_blocks"])]
        self.subject = self.queue = v1.FreeKVCacheBlockQueue(self.blocks)

    def state(self) -> JsonObject:
        return {"free": ids_of(self.queue.get_all_free_blocks()), "num": self.queue.num_free_blocks}

    def op_popleft(self) -> int:
        return self.queue.popleft().block_id

    def op_popleft_n(self, n: int) -> list[int]:
        return ids_of(self.queue.popleft_n(n))

    def op_remove(self, id: int) -> None:
        self.queue.remove(self.blocks[id])

    def op_append(self, id: int) -> None:
        self.queue.append(self.blocks[id])

    def op_append_n(self, ids: list[int]) -> None:
        self.queue.append_n([self.blocks[block_id] for block_id in ids])

    def op_prepend_n(self, ids: list[int]) -> None:
        self.queue.prepend_n([self.blocks[block_id] for block_id in ids])


class RequestsPlayer(V1Player):
    """Requests that come and grow without a scheduler, and what a pool and its manager share."""

    def op_new_request(
        self, request: str, prompt: list[int], salt: str | None = None, skip_reading: bool = False
    ) -> None:
        self.new_request(request, prompt, salt=salt, skip_reading=skip_reading)

    def op_append(self, request: str, tokens: list[int]) -> None:
        self.requests[request].append_output_token_ids(tokens)
        self.name_contents(self.requests[request])

    def op_evict(self, ids: list[int]) -> None:
        self.subject.evict_blocks(ids)

    def op_reset_prefix_cache(self) -> bool:
        return bool(self.subject.reset_prefix_cache())


class BlockPoolPlayer(RequestsPlayer):
    """Named tables on one pool."""

    def start(self, config: JsonObject) -> None:
        super().start(config)
        self.subject = self.pool = v1.BlockPool(
            config["num_gpu_blocks"], config["enable_caching"], self.block_size
        )
        self.tables = Named[str, list[v1.KVCacheBlock]]()

    def state(self) -> JsonObject:
        tables = {name: ids_of(table) for name, table in self.tables.items()}
        return {"tables": tables, **self.pool_state(self.pool)}

    def op_get_new(self, table: str, n: int) -> list[int]:
        new = self.pool.get_new_blocks(n)
        self.tables.setdefault(table, []).extend(new)
        return ids_of(new)

    def op_lookup(self, request: str, index: int) -> int | None:
        found = self.pool.get_cached_block(self.requests[request].block_hashes[index], [0])
        return found[0].block_id if found else None

    def op_touch(self, request: str, table: str, num: int) -> None:
        hashes = self.requests[request].block_hashes[:num]
        found = [block for key in hashes for block in self.pool.get_cached_block(key) or ()]
        self.pool.touch(found)
        self.tables.setdefault(table, []).extend(found)

    def op_cache(self, request: str, table: str, num_cached: int, num_full: int) -> None:
        blocks = self.tables[table]
        self.pool.cache_full_blocks(
            self.requests[request], blocks, num_cached, num_full, self.block_size, 0
        )

    def op_free(self, table: str, ids: list[int]) -> None:
        self.pool.free_blocks(self.pool.blocks[block_id] for block_id in ids)
        for block_id in ids:
            self.tables[table].remove(self.pool.blocks[block_id])
        if not self.tables[table]:
            del self.tables[table]

    def op_usage(self) -> float:
        return round(self.pool.get_usage(), 9)


class KVCacheManagerPlayer(RequestsPlayer):
    """Requests on one KV cache manager; what a scheduler would do is done here."""

    def start(self, config: JsonObject) -> None:
        super().start(config)
        self.subject = self.manager = v1.KVCacheManager(**config)
        self.found: Named[Any, Any] = Named()

    def state(self) -> JsonObject:
        tables = {name: self.told(self.manager.get_block_ids(name)) for name in self.requests}
        return {"tables": tables, **self.pool_state(self.manager.block_pool)}

    def op_computed(self, request: str) -> JsonObject:
        blocks, num_tokens, _ = self.manager.get_computed_blocks(self.requests[request])
        self.found[request] = blocks, num_tokens
        return {"blocks": self.told(blocks.get_block_ids()), "num_tokens": num_tokens}

    def op_allocate(
        self, request: str, num_new_tokens: int, use_computed: bool = False, **options: Any
    ) -> JsonObject:
        its = self.requests[request]
        found, num_found = self.found.take(request) if use_computed else (None, 0)
        new = self.manager.allocate_slots(its, num_new_tokens, num_found, found, **options)
        if new is None:
            return {"blocks": None}
        its.num_computed_tokens += num_found
        its.status = v1.RequestStatus.RUNNING
        return {"blocks": self.told(new.get_block_ids())}

    def op_advance(self, request: str, n: int) -> None:
        self.requests[request].num_computed_tokens += n

    def op_preempt(self, request: str) -> None:
        its = self.requests[request]
        self.manager.free(its)
        its.num_computed_tokens, its.status = 0, v1.RequestStatus.PREEMPTED

    def op_free(self, request: str) -> None:
        its = self.requests.take(request)
        its.status = v1.RequestStatus.FINISHED_STOPPED
        self.manager.free(its)

    def op_cache_blocks(self, request: str, num_tokens: int) -> None:
        self.manager.cache_blocks(self.requests[request], num_tokens)

    def op_remove_skipped(self, request: str, num_tokens: int) -> None:
        self.manager.remove_skipped_blocks(request, num_tokens)

    def op_usage(self) -> float:
        return round(self.manager.usage, 9)

    def op_common_prefix(self, request: str) -> list[int]:
        return self.manager.get_num_common_prefix_blocks(request)


class V1SchedulerPlayer(V1Player):
    """Requests on one scheduler; the outputs in flight wait for their tokens."""

    def start(self, config: JsonObject) -> None:
        super().start(config)
        scheduler = v1.SchedulerConfig(**config["scheduler"])
        cache = v1.CacheConfig(**config["cache"])
        self.subject = self.scheduler = v1.Scheduler(scheduler, cache)
        self.in_flight: list[v1.SchedulerOutput] = []

    def state(self) -> JsonObject:
        scheduler, manager = self.scheduler, self.scheduler.kv_cache_manager
        alive = {name: its for name, its in self.requests.items() if name in scheduler.requests}
        return {
            "waiting": [request.request_id for request in scheduler.waiting],
            "running": [request.request_id for request in scheduler.running],
            "reqs": {name: self.row(its) for name, its in alive.items()},
            "tables": {name: self.told(manager.get_block_ids(name)) for name in alive},
            **self.pool_state(manager.block_pool),
        }

    def op_add(self, request: str, prompt: list[int], **options: Any) -> None:
        self.scheduler.add_request(self.new_request(request, prompt, **options))

    def op_abort(self, requests: list[Name]) -> list[Name]:
        ended = self.scheduler.finish_requests(requests, v1.RequestStatus.FINISHED_ABORTED)
        return [request.request_id for request in ended]

    def op_reset_prefix_cache(self, running: bool) -> bool:
        return self.scheduler.reset_prefix_cache(reset_running_requests=running)

    def op_schedule(self) -> JsonObject:
        output = self.scheduler.schedule()
        self.in_flight.append(output)
        known = output.scheduled_cached_reqs
        told = known.req_ids, known.new_block_ids, known.num_computed_tokens
        rows = zip(*told, known.num_output_tokens, strict=True)
        return {
            "new": [
                [new.req_id, self.told(new.block_ids), new.num_computed_tokens]
                for new in output.scheduled_new_reqs
            ],
            "cached": [
                [name, ids and self.told(ids), computed, name in known.resumed_req_ids, outputs]
                for name, ids, computed, outputs in rows
            ],
            "tokens": [list(pair) for pair in output.num_scheduled_tokens.items()],
            "total": output.total_num_scheduled_tokens,
            "preempted": sorted(output.preempted_req_ids),
            "finished": sorted(output.finished_req_ids),
        }

    def op_update(self, tokens: dict[Name, list[int]]) -> Rows:
        return self.update(tokens)

    def update(self, report: dict[Name, list[int]] | v1.ModelRunnerOutput) -> Rows:
        """What the step in flight for longest answers."""
        answer = self.scheduler.update_from_output(self.in_flight.pop(0), report)
        self.name_all()
        outputs = answer[0].outputs if answer else []
        return [
            [each.request_id, each.new_token_ids, each.finish_reason and str(each.finish_reason)]
            for each in outputs
        ]

    def name_all(self) -> None:
        for request in self.requests.values():
            self.name_contents(request)

    def op_counts(self) -> JsonObject:
        return {
            "unfinished": self.scheduler.get_num_unfinished_requests(),
            "usage": round(self.scheduler.kv_cache_manager.usage, 9),
        }
