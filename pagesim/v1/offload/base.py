"""What the manager of the second tier, its policies and a connector tell each other.

Source: vLLM 0.33.0, ``vllm/v1/kv_offload/base.py``.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum

from pagesim.checks import check_int
from pagesim.journal.effects import Name
from pagesim.v1.transfers import CPULoadStoreSpec

OffloadKey = Hashable  # the hash of a chunk's last block
KeyList = Sequence[OffloadKey]
KeySet = Set[OffloadKey]


class LookupResult(Enum):
    """Whether a chunk can be loaded; a pending one cannot yet, because it is being stored."""

    MISS, HIT_PENDING, HIT = range(3)


@dataclass(eq=False, slots=True, weakref_slot=True)
class ReqContext:
    """A request as the second tier knows it."""

    req_id: Name
    positions: dict[OffloadKey, int] = field(default_factory=dict, init=False, repr=False)

    def set_offload_key_position(self, key: OffloadKey, end_token: int) -> None:
        """Note that the chunk of this key ends after so many tokens of the request."""
        self.positions[key] = check_int("end_token", end_token, 0)

    def get_offload_key_position(self, key: OffloadKey) -> int | None:
        """Return where the chunk of this key ends; None if that was not noted."""
        return self.positions.get(key)


@dataclass(frozen=True, slots=True)
class OffloadingEvent:
    """Keys that can be found now or were ``removed``; ``metadata_only``: they never could."""

    keys: list[OffloadKey]
    medium: str = "CPU"
    removed: bool = False
    metadata_only: bool = False


@dataclass(frozen=True, slots=True)
class PrepareStoreOutput:
    """What is to be stored, where, and what was evicted for it."""

    keys_to_store: list[OffloadKey]
    store_spec: CPULoadStoreSpec
    evicted_keys: list[OffloadKey]


@dataclass(slots=True)
class ChunkStatus:
    """A chunk on the CPU; ``ref_cnt`` is the number of loads that read it, -1 during its store."""

    chunk_id: int
    ref_cnt: int = -1


Pair = tuple[OffloadKey, ChunkStatus]


class CachePolicy:
    """The chunks by their keys; its subclasses say which goes first. Keys come head to tail."""

    def __init__(self, cache_capacity: int) -> None:
        self.capacity = cache_capacity
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.chunks: dict[OffloadKey, ChunkStatus] = {}
        self.num_idle = 0
        """How many chunks nobody reads or writes."""

    def _add(self, key: OffloadKey, chunk: ChunkStatus) -> None:
        self.chunks[key] = chunk
        self.num_idle += chunk.ref_cnt == 0

    def _drop(self, key: OffloadKey) -> None:
        self.num_idle -= self.chunks.pop(key).ref_cnt == 0

    def set_ref_cnt(self, chunk: ChunkStatus, ref_cnt: int) -> None:
        """A chunk has so many readers now; -1 stands for a writer."""
        self.num_idle += (ref_cnt == 0) - (chunk.ref_cnt == 0)
        chunk.ref_cnt = ref_cnt

    def has_idle(self, n: int, protected: KeySet) -> bool:
        """Whether ``n`` chunks may be evicted, known without looking at each."""
        if not 0 < n <= self.num_idle:
            return n == 0
        offered = self.idle(self.chunks.keys() & protected, frozenset())
        return n + sum(1 for _ in offered) <= self.num_idle

    def get(self, key: OffloadKey) -> ChunkStatus | None:
        """Return the chunk of this key; None if it is not there."""
        return self.chunks.get(key)

    def idle(self, keys: Iterable[OffloadKey], protected: KeySet) -> Iterator[Pair]:
        """Those of ``keys`` that may be evicted: nobody reads or writes them."""
        of = self.chunks
        return ((k, of[k]) for k in keys if of[k].ref_cnt == 0 and k not in protected)

    def on_store_miss(self, keys: KeyList, req_context: ReqContext) -> None:
        """A request offers these keys for the first time, and they are not there."""

    def on_request_access(self, keys: KeyList, req_context: ReqContext) -> None:
        """A request needs these keys for the first time."""
