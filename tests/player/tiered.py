"""Small files with a second tier, from a toy engine that knows nothing of pagesim.

A chunk of the CPU has as many blocks as is asked for. Copies begin and end when they are told to.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from tests.player.samples import Words, event

GPU, CPU, NULL = "free queue", "CPU free list", 0
WAITING, RUNNING, HOLDING = "waiting", "running", "kv_holding_waiting"


class World:
    """Blocks in two pools, the tables of some requests, the jobs, and the lines about them."""

    def __init__(self, blocks: int, chunks: int, per: int = 1, size: int = 4) -> None:
        self.blocks, self.chunks, self.per, self.size = blocks, chunks, per, size
        self.free = {GPU: list(range(1, blocks)),
                     CPU: list(range(blocks, blocks + chunks * per))}  # fmt: skip
        self.events: list[Words] = []
        self.effects: list[list[Any]] = []
        self.tables: dict[str, list[int]] = {}
        self.told: dict[str, list[int]] = {}
        self.tokens: dict[str, list[int]] = {}
        self.written: dict[str, int] = {}
        self.refs: dict[int, int] = {}
        self.cached: dict[int, tuple[int, ...]] = {}
        self.tier: OrderedDict[tuple[int, ...], list[int]] = OrderedDict()
        self.queues: dict[str, list[str]] = {WAITING: [], RUNNING: [], HOLDING: []}
        self.jobs: dict[int, tuple[str, str, list[list[int]], tuple[int, ...]]] = {}
        self.number = self.steps = 0

    def file(self, **more: Any) -> tuple[Words, list[Words]]:
        """The header and the events."""
        end = self.blocks + self.chunks * self.per
        lists = [list(range(1, self.blocks)), list(range(self.blocks, end))]
        state = {"tables": [], "lists": lists, "refs": [], "cached": [], "computed": []}
        head = {
            "format": "pagesim-timeline/2",
            "block_size": self.size,
            "pools": [["GPU", self.blocks], ["CPU", self.chunks * self.per]],
            "tier": {"blocks_per_chunk": self.per, "policy": "lru"},
            "lists": [[GPU, "linked"], [CPU, "linked"]],
            "queues": list(self.queues),
            "caching": True,
            "events": len(self.events),
            "first": 0,
            "state": state | {"null": NULL, "queues": [[], [], []], "jobs": []},
        }
        return head | more, self.events

    # -- requests --------------------------------------------------------------------------------

    def arrive(self, name: str, tokens: Sequence[int]) -> None:
        """A request waits."""
        self.tokens[name], self.written[name] = list(tokens), 0
        self._tell("arrive", name, queues=[self._enter(WAITING, name)])

    def admit(self, name: str, count: int, found: int = 0) -> None:
        """A request begins to run, with so many tokens of the GPU's cache."""
        moves = [self._leave(WAITING, name), self._enter(RUNNING, name)]
        more: Words = {} if name in self.tables else self._open(name)
        for k in range(found // self.size):
            self._hit(name, k)
        self.written[name] = max(self.written[name], found)
        self._grow(name, count)
        self._tell("admit", name, queues=moves, **more)

    def step(self, name: str, token: int) -> None:
        """A token that was sampled, and the room for it."""
        at = len(self.tokens[name])
        self.tokens[name].append(token)
        self._grow(name, 1)
        self._tell("allocate_slots", name, tokens=[[name, at, [token]]])

    def finish(self, name: str, kind: str = "finish") -> None:
        """It leaves; its last blocks return first."""
        self._give_up(name)
        self._tell(kind, name, closed=[name], queues=[self._leave(RUNNING, name)])

    def preempt(self, name: str) -> None:
        """It loses its blocks and waits again."""
        self._give_up(name)
        self.written[name] = 0
        moves = [self._leave(RUNNING, name), self._enter(WAITING, name)]
        self._tell("preempt", name, closed=[name], queues=moves)

    # -- the second tier -------------------------------------------------------------------------

    def schedule(self, *stored: tuple[str, int, int]) -> None:
        """A step ends; of each named request the chunks from one to another begin to be stored."""
        for name, first, last in stored:
            pairs, keys = [], tuple(self.tokens[name][: last * self.per * self.size])
            for c in range(first, last):
                targets, chunk = self._chunk(), range(c * self.per, (c + 1) * self.per)
                self.tier[tuple(self.tokens[name][: chunk.stop * self.size])] = targets
                for k, target in zip(chunk, targets, strict=True):
                    self.effects.append(["write", target, name, k * self.size, self.size])
                    pairs.append([self.tables[name][k], target])
            self._begin("store", name, pairs, keys)
        self.steps += 1
        rows = [[name, name, 1, False] for name in self.queues[RUNNING]]
        self._tell("schedule", None, scheduled=rows, step=self.steps)

    def report(self, *jobs: int) -> None:
        """Copies have ended."""
        for job in jobs:
            kind, _, pairs, _ = self.jobs.pop(job)
            for source, target in pairs:
                if kind == "store":
                    self.effects += [["computed", target], ["cache", target]]
                else:
                    self.refs[source] -= 1
                    self.effects.append(["unshare", source])
            self.effects.append(["end", job])
        self._tell("update_connector_output", None, step=self.steps)

    def output(self) -> None:
        """A step's output is known."""
        self._tell("update_from_output", None, step=self.steps)

    def load(self, name: str, tokens: int) -> None:
        """A waiting request gets blocks, and what the CPU has for it is on its way there."""
        moves, more = [self._leave(WAITING, name), self._enter(HOLDING, name)], self._open(name)
        pairs, key = [], tuple(self.tokens[name][:tokens])
        sources = [b for end in range(self.per * self.size, tokens + 1, self.per * self.size)
                   for b in self.tier[key[:end]]]  # fmt: skip
        for source in sources:
            block = self._take(GPU)
            self.tables[name].append(block)
            self.refs[source] += 1
            self.effects.append(["share", source])
            pairs.append([source, block])
        self._begin("load", name, pairs, key)
        self._tell("load", name, queues=moves, **more)

    def receive(self, name: str) -> None:
        """What it waited for is there."""
        for k, block in enumerate(self.tables[name]):
            self._write(name, k * self.size, (k + 1) * self.size)
            self.effects.append(["computed", block])
        self.written[name] = len(self.tables[name]) * self.size
        self._tell("receive", name)

    def promote(self, name: str) -> None:
        """It may go on."""
        self._tell("promote", name, queues=[self._leave(HOLDING, name),
                                            self._enter(WAITING, name, 0)])  # fmt: skip

    def defer(self, name: str) -> None:
        """It is passed over: a copy that it needs is under way."""
        self._tell("defer", name)

    # -- blocks ----------------------------------------------------------------------------------

    def _begin(self, kind: str, name: str, pairs: Any, key: tuple[int, ...]) -> None:
        self.jobs[self.number] = (kind, name, pairs, key)
        self.effects.append(["begin", self.number, kind, name, pairs])
        self.number += 1

    def _chunk(self) -> list[int]:
        if not self.free[CPU]:
            key = next(key for key, ids in self.tier.items() if all(self.refs[b] == 1 for b in ids))
            for block in self.tier.pop(key):
                self.effects.append(["evict", block])
                self._free(block, CPU)
        return [self._take(CPU) for _ in range(self.per)]

    def _take(self, pool: str) -> int:
        block = self.free[pool].pop(0)
        if self.cached.pop(block, None):
            self.effects.append(["evict", block])
        self.effects.append(["take", block, pool])
        self.refs[block] = 1
        return block

    def _free(self, block: int, pool: str) -> None:
        self.refs[block] -= 1
        if self.refs[block]:
            self.effects.append(["unshare", block])
        else:
            self.free[pool].append(block)
            self.effects.append(["free", block, pool, -1])

    def _give_up(self, name: str) -> None:
        for block in reversed(self.tables.pop(name)):
            self._free(block, GPU)

    def _hit(self, name: str, k: int) -> None:
        key = tuple(self.tokens[name][: (k + 1) * self.size])
        block = next(block for block, content in self.cached.items() if content == key)
        if not self.refs[block]:
            self.free[GPU].remove(block)
        self.refs[block] += 1
        self.tables[name].append(block)
        self.effects.append(["hit", block, name, k * self.size, self.size])

    def _grow(self, name: str, count: int) -> None:
        first, end = self.written[name], self.written[name] + count
        while len(self.tables[name]) * self.size < end:
            self.tables[name].append(self._take(GPU))
        self._write(name, first, end)
        self.written[name] = end

    def _write(self, name: str, first: int, end: int) -> None:
        for k in range(first // self.size, (end - 1) // self.size + 1):
            begin, until = max(k * self.size, first), min((k + 1) * self.size, end)
            block = self.tables[name][k]
            self.effects.append(["write", block, name, begin, until - begin])
            if until == (k + 1) * self.size:
                self.cached[block] = tuple(self.tokens[name][:until])
                self.effects.append(["cache", block])

    # -- lines -----------------------------------------------------------------------------------

    def _open(self, name: str) -> Words:
        self.tables[name], self.told[name] = [], []
        return {"opened": [[name, []]], "tokens": [[name, 0, list(self.tokens[name])]]}

    def _enter(self, queue: str, name: str, place: int | None = None) -> list[Any]:
        names = self.queues[queue]
        names.insert(len(names) if place is None else place, name)
        return ["enter", queue, names.index(name), name, name]

    def _leave(self, queue: str, name: str) -> list[Any]:
        place = self.queues[queue].index(name)
        self.queues[queue].remove(name)
        return ["leave", queue, place, name, name]

    def _tell(self, kind: str, name: str | None, **more: Any) -> None:
        rows = []
        for table, ids in self.tables.items():
            old = self.told[table]
            if ids != old:
                rows.append([table, len(old), ids[len(old) :]])
                self.told[table] = list(ids)
        words = event(kind, name, *self.effects, tables=rows, **more)
        self.events.append({key: part for key, part in words.items() if part != []})
        self.effects = []


LINE = "Alice was beginning to get very tired of sitting by her sister on the bank"
MORE = "and what is the use of a book without pictures or conversations thought she"
TEXT = [*LINE.split(), *MORE.split()]
WORDS = {f"{token}": word for token, word in enumerate(TEXT)}


def stored_and_loaded(per: int = 1) -> tuple[Words, list[Words]]:
    """A prompt is stored, pushed out of the GPU by a longer one, and loaded for a third.

    The copies of the longer one are still under way when it leaves: who wants them too is deferred,
    and they must end before its blocks are written by another. At last the second tier is full.
    """
    world = World(9, 8 // per, per)
    line, long = list(range(9)), list(range(100, 132))
    world.arrive("a", line)
    world.admit("a", 9)
    world.schedule(("a", 0, 2 // per))
    world.output()
    world.step("a", 9)
    world.schedule()
    world.report(0)
    world.output()
    world.finish("a")
    world.arrive("x", long)
    world.admit("x", 32)
    world.schedule(("x", 0, 6 // per))
    world.output()
    world.finish("x")
    world.arrive("b", [*line[:8], 15, 16])
    world.arrive("c", long[:17])
    world.load("b", 8)
    world.defer("c")
    world.schedule()
    world.output()
    world.arrive("e", range(16, 24))
    world.admit("e", 8)
    world.schedule()
    world.report(1)
    world.output()
    world.report(2)
    world.receive("b")
    world.promote("b")
    world.admit("b", 2)
    world.schedule(("e", 0, 2 // per))
    world.output()
    world.load("c", 8)
    world.schedule()
    world.preempt("e")
    world.report(3)
    world.report(4)
    world.finish("b")
    return world.file(tokens=WORDS)


def many_requests() -> tuple[Words, list[Words]]:
    """A large pool: a dozen requests are stored in chunks of 4 blocks, six leave and come again."""
    world = World(161, 48, 4, size=16)
    prompts = {f"r{i}": [*range(1000 * i, 1000 * i + 150 + 30 * (i % 4))] for i in range(12)}
    for name, prompt in prompts.items():
        world.arrive(name, prompt)
        world.admit(name, len(prompt))
        world.schedule((name, 0, len(prompt) // 64))
        world.output()
    world.report(*range(6))
    for name in list(prompts)[:6]:
        world.finish(name)
    for i in range(6):
        world.arrive(f"again{i}", [*prompts[f"r{i}"][:128], *range(50)])
    for i in range(6):
        world.load(f"again{i}", 128)
    world.schedule()
    world.report(12, 13, 6)
    for i in range(2):
        world.receive(f"again{i}")
        world.promote(f"again{i}")
        world.admit(f"again{i}", 50)
    world.schedule()
    return world.file()


RUNS = {"one": stored_and_loaded, "two": lambda: stored_and_loaded(2), "many": many_requests}
