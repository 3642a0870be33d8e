"""A student's KV cache manager: tried by the operations of a recording, and recorded itself."""

from collections.abc import Callable, Sequence
from typing import Any

from pagesim.exercises.case import Function
from pagesim.exercises.ch09.project_cases import Op
from pagesim.files.jsonl import JsonObject
from pagesim.journal import event
from pagesim.journal.effects import Name
from pagesim.journal.state import State
from pagesim.replay.v1 import KVCacheManagerPlayer, V1Player
from pagesim.timeline.record import record
from pagesim.timeline.run import Timeline
from pagesim.v1 import BlockPool, KVCacheBlock, KVCacheBlocks, Request
from pagesim.v1.block_pool import FREE_QUEUE
from pagesim.v1.state import note_hits, note_written, read_pool


class Theirs:
    """A student's functions with the methods that a replay calls."""

    def __init__(self, make: Function, pool: BlockPool, config: JsonObject) -> None:
        watermark_blocks = int(config["watermark"] * config["num_gpu_blocks"])
        self.block_pool, self.block_size = pool, config["block_size"]
        self.longest = config["max_model_len"]
        self.tables, self.computed, self.allocate, self.free = make(
            pool, self.block_size, self.longest, watermark_blocks
        )
        self.evict_blocks, self.reset_prefix_cache = pool.evict_blocks, pool.reset_prefix_cache

    def get_computed_blocks(self, request: Request) -> tuple[KVCacheBlocks, int, int]:
        hits = list(self.computed(request))
        return KVCacheBlocks((hits,)), len(hits) * self.block_size, 0

    def allocate_slots(
        self, request: Request, num_new_tokens: int, num_found: int, found: KVCacheBlocks | None,
        num_lookahead_tokens: int = 0, full_sequence_must_fit: bool = False,
        reserved_blocks: int = 0, has_scheduled_reqs: bool = True,
    ) -> KVCacheBlocks | None:  # fmt: skip
        hits = list(found.blocks[0]) if found else []
        room = num_lookahead_tokens, full_sequence_must_fit, reserved_blocks, has_scheduled_reqs
        new = self.allocate(request, num_new_tokens, hits, *room)
        return None if new is None else KVCacheBlocks((new,))

    def get_block_ids(self, name: str) -> tuple[list[int]]:
        return ([block.block_id for block in self.tables.get(name, [])],)

    def get_num_common_prefix_blocks(self, name: str) -> list[int]:
        return [0]

    def cache_blocks(self, request: Request, num_tokens: int) -> None:
        """Only asked where nothing is cached."""

    def remove_skipped_blocks(self, name: str, num_tokens: int) -> None:
        """Only asked where there is no window."""

    @property
    def usage(self) -> float:
        return self.block_pool.get_usage()


class _NotedPool(BlockPool):
    """A pool that says when a call is about to touch or take its first block."""

    begins: Callable[[], None] | None = None

    def touch(self, blocks: Sequence[KVCacheBlock]) -> None:
        self._begin()
        super().touch(blocks)

    def get_new_blocks(self, num_blocks: int) -> list[KVCacheBlock]:
        self._begin()
        return super().get_new_blocks(num_blocks)

    def _begin(self) -> None:
        begins, self.begins = self.begins, None
        if begins is not None:
            begins()


class _Noted(Theirs):
    """The same, telling a recording what V1's manager tells it."""

    def __init__(self, make: Function, pool: _NotedPool, config: JsonObject) -> None:
        super().__init__(make, pool, config)
        self.notes, self.journal = pool, pool.journal
        self.give_back = self.__dict__.pop("free")
        self._num_slots: dict[Name, int] = {}

    def state(self) -> State:
        """The pool: a recording begins before there are tables."""
        return read_pool(self.block_pool, FREE_QUEUE)

    @event(lambda _, __, request, *___: request.request_id, if_changed=True)
    def allocate_slots(  # type: ignore[override]
        self, /, request: Request, num_new_tokens: int, num_found: int, found: Any, **options: Any
    ) -> KVCacheBlocks | None:
        name, hits = request.request_id, list(found.blocks[0]) if found else []
        start, before = request.num_computed_tokens + num_found, len(self.tables.get(name, ()))

        def begins() -> None:
            if name not in self._num_slots:
                self.journal.opened(request, name)
                if hits:
                    note_hits(self.journal, request, hits, self.block_size, 0)

        self.notes.begins = begins
        new = super().allocate_slots(request, num_new_tokens, num_found, found, **options)
        self.notes.begins = None
        if new is not None:
            table = self.tables[name]
            end = min(start + num_new_tokens, len(table) * self.block_size, self.longest)
            self._num_slots[name] = max(end, self._num_slots.get(name, 0))
            grown = len(table) - before
            note_written(self.journal, request, table, self.block_size, start, end, grown)
        return new

    @event(lambda _, __, request: request.request_id, if_changed=True)
    def free(self, request: Request) -> None:
        if self._num_slots.pop(request.request_id, None) is not None:
            self.journal.closed(request)
        self.give_back(request)


class TheirPlayer(KVCacheManagerPlayer):
    """Tries a student's manager; one that is ``noted`` can be recorded."""

    def __init__(self, make: Function, noted: bool = False) -> None:
        self.make, self.noted = make, noted

    def start(self, config: JsonObject) -> None:
        V1Player.start(self, config)
        kinds: tuple[Any, Any] = (_NotedPool, _Noted) if self.noted else (BlockPool, Theirs)
        pool = kinds[0](config["num_gpu_blocks"], config["enable_caching"], config["block_size"])
        self.subject = self.manager = kinds[1](self.make, pool, config)
        self.found = type(self.requests)()


def recorded(player: KVCacheManagerPlayer, config: JsonObject, ops: list[Op]) -> Timeline:
    """What a manager does; an exception where that is not a run of pages at all."""
    player.start(config)
    with record(player.manager) as run:
        for op, args in ops:
            getattr(player, f"op_{op}")(**args)
    return run
