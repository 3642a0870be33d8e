"""Adaptive replacement: a scan of chunks that are used once does not drive out those used often.

A key is in one of four lists: ``t1``, used by one request; ``t2``, used by more; and ``b1`` and
``b2``, the **ghosts** of chunks evicted from these. ``target`` is how long ``t1`` should be: it
grows when a request asks for a ghost of ``t1``, which went too early, and shrinks for ``t2``.

Source: vLLM 0.33.0, ``vllm/v1/kv_offload/cpu/policies/arc.py``.
"""

from collections import OrderedDict

from pagesim.v1.offload.base import (
    CachePolicy,
    ChunkStatus,
    KeyList,
    KeySet,
    OffloadKey,
    Pair,
    ReqContext,
)

Row = OrderedDict[OffloadKey, None]


class ARCCachePolicy(CachePolicy):
    """Four lists, each from the oldest key to the newest, and a target that learns."""

    def clear(self) -> None:
        super().clear()
        self.t1, self.t2, self.b1, self.b2 = Row(), Row(), Row(), Row()
        self.target = 0.0

    def _move(self, key: OffloadKey, to: Row | None) -> None:
        """Take a key out of its list and make it the newest of this one."""
        for row in (self.t1, self.t2, self.b1, self.b2):
            row.pop(key, None)
        if to is not None:
            to[key] = None

    def insert(self, key: OffloadKey, chunk: ChunkStatus, req_context: ReqContext) -> None:
        """Add a chunk."""
        self._add(key, chunk)
        self._move(key, self.t1)

    def remove(self, key: OffloadKey) -> None:
        """Take a chunk out and leave no ghost."""
        self._drop(key)
        self._move(key, None)

    def on_store_miss(self, keys: KeyList, req_context: ReqContext) -> None:
        for key in reversed(keys):
            self._ask_ghost(key)

    def _ask_ghost(self, key: OffloadKey) -> None:
        """Give the side of a ghost more room, in larger steps if the other side has more ghosts."""
        if key in self.b1:
            more = self.target + max(1, len(self.b2) / len(self.b1))
            self.target = min(more, float(self.capacity))
            self._move(key, self.b1)
        elif key in self.b2:
            self.target = max(self.target - max(1, len(self.b1) / len(self.b2)), 0.0)
            self._move(key, self.b2)

    def touch(self, keys: KeyList, req_context: ReqContext) -> None:
        """A request uses these keys now, the head last; a chunk being stored stays in ``t1``."""
        for key in reversed(keys):
            if key not in self.chunks:
                self._ask_ghost(key)
            else:
                stays = key in self.t1 and self.chunks[key].ref_cnt < 0
                self._move(key, self.t1 if stays else self.t2)

    def on_request_finished(
        self, keys: KeyList, inserted: KeySet, reused: KeySet, req_context: ReqContext
    ) -> None:
        """A request has ended: what it has ``reused`` is now used by more than one."""
        for key in reversed(keys):
            if key in self.chunks and (key in reused or key in inserted):
                self._move(key, self.t1 if key in self.t1 and key not in reused else self.t2)

    def evict(self, n: int, protected: KeySet) -> list[Pair] | None:
        """Take out ``n`` idle chunks; None, and no change, if there are fewer."""
        if not self.has_idle(n, protected):
            return None
        # Two cursors walk from the oldest chunk on: t1's as long as t1 has its target size.
        once, more = self.idle(self.t1, protected), self.idle(self.t2, protected)
        size, victims = len(self.t1), []
        for _ in range(n):
            first, second = (once, more) if size >= int(self.target) else (more, once)
            victim = next(first, None) or next(second, None)
            assert victim is not None
            size -= victim[0] in self.t1
            victims.append(victim)
        for key, _ in victims:
            self._drop(key)
            self._move(key, self.b1 if key in self.t1 else self.b2)
        for ghosts in (self.b1, self.b2):
            while len(ghosts) > self.capacity:
                ghosts.popitem(last=False)
        return victims

    def state(self) -> dict[str, list[OffloadKey] | float]:
        """Return the lists and the target."""
        rows = {"t1": self.t1, "t2": self.t2, "b1": self.b1, "b2": self.b2}
        return {**{name: list(row) for name, row in rows.items()}, "target": self.target}
