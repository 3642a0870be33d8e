"""The manager of the second tier once more, slow and plain: every order is a list that is walked.

A call may fail midway: who compares it takes a copy before.
"""

from typing import Any

from pagesim.v1 import ReqContext


class SlowManager:
    """Takes what a manager takes, and returns what a recording has."""

    def __init__(self, num_chunks: int, policy: str, threshold: int, tracked: int) -> None:
        self.size, self.is_arc = num_chunks, policy == "arc"
        self.threshold, self.tracked = threshold, tracked
        self.tracker: list[list[Any]] = []
        self.events: list[tuple[str, list[str]]] = []
        self.allocations: list[int] = []
        self.skipped = 0
        self.reset_cache()

    def reset_cache(self) -> None:
        self.chunks: dict[str, list[int]] = {}
        self.fresh, self.freed = list(range(self.size)), list[int]()
        self.records: dict[str, dict[str, Any]] = {}
        self.ranks: dict[str, tuple[int, int]] = {}
        self.request_ranks: dict[str, int] = {}
        self.clock, self.target = 0, 0.0
        self.rows: dict[str, list[str]] = {"t1": [], "t2": [], "b1": [], "b2": []}

    def on_new_request(self, req_context: ReqContext) -> None:
        self.records.pop(req_context.req_id, None)
        self.request_ranks.pop(req_context.req_id, None)

    def record(self, request: ReqContext) -> dict[str, Any]:
        empty: dict[str, Any] = {"seen": [], "inserted": [], "reused": [], "missed": []}
        return self.records.setdefault(request.req_id, empty | {"finished": False})

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    def rank(self, key: str, request: ReqContext) -> tuple[int, int] | None:
        if request.req_id not in self.request_ranks:
            self.request_ranks[request.req_id] = self.tick()
        place = request.get_offload_key_position(key)
        return None if place is None else (self.request_ranks[request.req_id], -place)

    def put_last(self, key: str, row: str) -> None:
        for each in self.rows.values():
            if key in each:
                each.remove(key)
        self.rows[row].append(key)

    def ask_ghost(self, key: str) -> None:
        b1, b2 = self.rows["b1"], self.rows["b2"]
        if key in b1:
            self.target = min(self.target + max(1, len(b2) / len(b1)), self.size)
            self.put_last(key, "b1")
        elif key in b2:
            self.target = max(self.target - max(1, len(b1) / len(b2)), 0)
            self.put_last(key, "b2")

    def observe(self, keys: list[str], reused: list[str], request: ReqContext) -> None:
        record = self.record(request)
        new = [key for key in keys if key not in record["seen"]]
        assert not (new and record["finished"])
        record["seen"] += new
        for key in new:
            rank = self.rank(key, request)
            if key in self.chunks and rank is not None:
                self.ranks[key] = max(self.ranks[key], rank)
        record["reused"] += [key for key in reused if key not in record["inserted"]]

    def on_request_finished(self, req_context: ReqContext) -> None:
        record, place = self.record(req_context), req_context.get_offload_key_position
        if record["finished"]:
            return
        record["finished"] = True
        keys = list(record["seen"])
        if all(place(key) is not None for key in keys):
            keys = [key for _, key in sorted((place(key), key) for key in keys)]
        for key in [key for key in reversed(keys) if key in self.chunks]:
            self.ranks[key] = (self.tick(), 0)
            if key in record["reused"]:
                self.put_last(key, "t2")
            elif key in record["inserted"]:
                self.put_last(key, "t1" if key in self.rows["t1"] else "t2")

    def lookup(self, key: str, req_context: object = None) -> str:
        if key not in self.chunks:
            return "MISS"
        return "HIT" if self.chunks[key][1] >= 0 else "HIT_PENDING"

    def touch(self, keys: list[str], req_context: ReqContext) -> None:
        for key in reversed(keys):
            if key not in self.chunks:
                self.ask_ghost(key)
                continue
            self.ranks[key] = (self.tick(), 0)
            is_pending = self.chunks[key][1] < 0
            self.put_last(key, "t1" if key in self.rows["t1"] and is_pending else "t2")

    def prepare_load(self, keys: list[str], req_context: ReqContext) -> list[int]:
        for key in keys:
            assert self.lookup(key) == "HIT"
            self.chunks[key][1] += 1
        self.observe(list(dict.fromkeys(keys)), keys, req_context)
        return [self.chunks[key][0] for key in keys]

    def complete_load(self, keys: list[str], req_context: ReqContext) -> None:
        for key in keys:
            assert self.chunks.get(key, [0, 0])[1] > 0
            self.chunks[key][1] -= 1

    def offer(self, keys: list[str]) -> None:
        unknown = [key for key in keys if key not in [known for known, _ in self.tracker]]
        for key in keys:
            for entry in [each for each in self.tracker if each[0] == key]:
                self.tracker.remove(entry)
                self.tracker.append([key, entry[1] + 1])
        for key in unknown:
            others = [known for known, _ in self.tracker if known not in keys]
            if len(self.tracker) == self.tracked:
                if not others:
                    continue
                del self.tracker[0]
            self.tracker.append([key, 1])

    def prepare_store(self, keys: list[str], req_context: ReqContext) -> dict[str, Any]:
        record = self.record(req_context)
        new = [key for key in keys if key not in self.chunks]
        if self.threshold > 1:
            self.offer(keys)
            often = [key for key, times in self.tracker if times >= self.threshold]
            self.skipped += len([key for key in new if key not in often])
            new = [key for key in new if key in often]
        for key in [key for key in reversed(new) if key not in record["missed"]]:
            self.ask_ghost(key)
        record["missed"] += new
        ready = [key for key in keys if self.lookup(key) == "HIT"]
        self.observe([key for key in keys if key in new or key in ready], ready, req_context)
        if not new:
            return {"store": [], "chunks": [], "evicted": []}
        self.allocations.append(len(new))
        evicted: list[str] | None = []
        if len(new) > self.size - len(self.chunks):
            evicted = self.victims(len(new) - self.size + len(self.chunks), keys)
            if evicted is None:
                return {"refused": True}
            for key in evicted:
                self.freed.append(self.chunks.pop(key)[0])
                self.put_last(key, "b1" if key in self.rows["t1"] else "b2")
            for row in ("b1", "b2"):
                self.rows[row] = self.rows[row][max(0, len(self.rows[row]) - self.size) :]
            self.events.append(("removed", evicted))
        for key in new:
            self.chunks[key] = [self.fresh.pop(0) if self.fresh else self.freed.pop(), -1]
            self.ranks[key] = self.rank(key, req_context) or (self.tick(), 0)
            self.put_last(key, "t1")
        record["inserted"] += new
        ids = [self.chunks[key][0] for key in new]
        return {"store": new, "chunks": ids, "evicted": evicted}

    def victims(self, count: int, protected: list[str]) -> list[str] | None:
        def idle(keys: list[str]) -> list[str]:
            return [k for k in keys if self.chunks[k][1] == 0 and k not in protected]

        if not self.is_arc:
            by_rank = idle(sorted(self.chunks, key=lambda key: self.ranks[key]))
            return by_rank[:count] if count <= len(by_rank) else None
        once, more, chosen = idle(self.rows["t1"]), idle(self.rows["t2"]), list[str]()
        size = len(self.rows["t1"])
        for _ in range(count):
            if once and (size >= int(self.target) or not more):
                chosen.append(once.pop(0))
                size -= 1
            elif more:
                chosen.append(more.pop(0))
            else:
                return None
        return chosen

    def complete_store(
        self, keys: list[str], req_context: ReqContext, success: bool = True
    ) -> None:
        ended = [key for key in keys if self.lookup(key) == "HIT_PENDING"]
        for key in ended:
            if success:
                self.chunks[key][1] = 0
            else:
                self.freed.append(self.chunks.pop(key)[0])
                self.rows = {row: [k for k in ks if k != key] for row, ks in self.rows.items()}
        if ended:
            self.events.append(("stored" if success else "failed", ended))

    def take_events(self) -> list[Any]:
        taken, self.events = self.events, []
        told = [(k, [e for e in es if k != "failed" or e not in self.chunks]) for k, es in taken]
        return [[kind, keys] for kind, keys in told if keys]

    def get_stats(self) -> dict[str, Any]:
        counts = [count for _, count in self.chunks.values()]
        size = self.size or 1
        write, usage = counts.count(-1) / size, (len(counts) - counts.count(0)) / size
        stats = {"usage": usage, "write": write, "read": usage - write}
        stats = {name: round(share, 9) for name, share in stats.items()}
        stats |= {"allocations": self.allocations, "skipped": self.skipped}
        self.allocations, self.skipped = [], 0
        return stats

    def state(self) -> dict[str, Any]:
        order = {"order": sorted(self.chunks, key=lambda key: self.ranks[key])}
        policy = {**self.rows, "target": round(self.target, 9)} if self.is_arc else order
        tracker = {"tracker": self.tracker} if self.threshold > 1 else {}
        return {"chunks": self.chunks, **policy, **tracker}
