"""Small files with several groups of layers, from a toy engine that knows nothing of pagesim.

It keeps a table per group for each request: full attention keeps all blocks, a window drops those
that are behind it, and a group of states keeps the last state alone.
"""

from collections.abc import Sequence
from typing import Any

from tests.player.samples import Words, event

QUEUE, NULL = "free queue", 0
FULL, WINDOW, STATE = "full", "window", "mamba"
Rounds = Sequence[tuple[list[int], int, int]]


def group(kind: str, block_size: int, window: int | None = None) -> Words:
    """A group as the header describes it."""
    more = {} if window is None else {"sliding_window": window}
    return {"kind": kind, "block_size": block_size, **more}


class World:
    """Blocks, the tables of some requests, and the lines written about them."""

    def __init__(self, groups: list[Words], blocks: int) -> None:
        self.groups, self.blocks = groups, blocks
        self.free = list(range(1, blocks))
        self.events: list[Words] = []
        self.tables: dict[tuple[Any, int], list[int]] = {}
        self.tokens: dict[Any, list[int]] = {}
        self.written: dict[Any, int] = {}
        self.refs: dict[int, int] = {}
        self.cached: dict[int, tuple[Any, ...]] = {}
        self.waiting: list[Any] = []
        self.running: list[Any] = []
        self.effects: list[list[Any]] = []

    def file(self, **more: Any) -> tuple[Words, list[Words]]:
        """The header and the events."""
        state = {"tables": [], "lists": [list(range(1, self.blocks))], "refs": [], "cached": []}
        head = {
            "format": "pagesim-timeline/2",
            "block_size": max(each["block_size"] for each in self.groups),
            "groups": self.groups,
            "pools": [["GPU", self.blocks]],
            "lists": [[QUEUE, "linked"]],
            "queues": ["waiting", "running"],
            "caching": True,
            "events": len(self.events),
            "first": 0,
            "state": state | {"computed": [], "null": NULL, "queues": [[], []]},
        }
        return head | more, self.events

    # -- what happens ----------------------------------------------------------------------------

    def arrive(self, name: int | str, tokens: Sequence[int]) -> None:
        """A request waits."""
        self.tokens[name], self.written[name] = list(tokens), 0
        self.waiting.append(name)
        move = ["enter", "waiting", len(self.waiting) - 1, name, f"{name}@0"]
        self._tell("arrive", name, queues=[move])

    def look(self, name: int | str, rounds: Rounds, caption: str = "") -> None:
        """What each group says to the candidate of the round."""
        effects = [["lookup", *each] for each in rounds]
        words = event("get_computed_blocks", name, *effects)
        self.events.append(words | {"caption": caption or "the groups are asked"})

    def admit(self, name: int | str, count: int, found: int = 0) -> None:
        """A request begins to run, with what was found for it."""
        opened, tokens, before = [], [], {}
        for g in range(len(self.groups)):
            self.tables[name, g], before[g] = [], []
            opened.append([f"{name}@{g}", []])
            tokens.append([f"{name}@{g}", 0, list(self.tokens[name])])
            self._hit(name, g, found)
        self.written[name] = found
        place = self.waiting.index(name)
        self.waiting.remove(name)
        self.running.append(name)
        moves = [["leave", "waiting", place, name, f"{name}@0"],
                 ["enter", "running", len(self.running) - 1, name, f"{name}@0"]]  # fmt: skip
        self._grow(name, count)
        self._tell("admit", name, before, opened=opened, tokens=tokens, queues=moves)

    def step(self, name: int | str, count: int = 1, *, sampled: int | None = None) -> None:
        """More tokens of it are computed; one that was sampled is known before."""
        before = {g: list(self.tables[name, g]) for g in range(len(self.groups))}
        tokens = []
        if sampled is not None:
            at = len(self.tokens[name])
            self.tokens[name].append(sampled)
            tokens = [[f"{name}@{g}", at, [sampled]] for g in range(len(self.groups))]
        self._grow(name, count)
        self._tell("allocate_slots", name, before, tokens=tokens)

    def finish(self, name: int | str) -> None:
        """It leaves; its last blocks return first."""
        for g in range(len(self.groups)):
            for block in reversed(self.tables.pop((name, g))):
                if block != NULL:
                    self._free(block)
        place = self.running.index(name)
        self.running.remove(name)
        self._tell("finish", name, closed=[f"{name}@{g}" for g in range(len(self.groups))],
                   queues=[["leave", "running", place, name, f"{name}@0"]])  # fmt: skip

    # -- blocks ----------------------------------------------------------------------------------

    def _tell(
        self, kind: str, name: Any, before: dict[int, list[int]] | None = None, **more: Any
    ) -> None:
        rows = []
        for g, old in (before or {}).items():
            ids = self.tables[name, g]
            same = next((k for k, pair in enumerate(zip(old, ids, strict=False))
                         if pair[0] != pair[1]), min(len(old), len(ids)))  # fmt: skip
            if ids[same:]:
                rows.append([f"{name}@{g}", same, ids[same:]])
        words = event(kind, name, *self.effects, tables=rows, **more)
        self.events.append({key: part for key, part in words.items() if part != []})
        self.effects = []

    def _free(self, block: int) -> None:
        self.refs[block] -= 1
        if self.refs[block]:
            self.effects.append(["unshare", block])
        else:
            self.free.append(block)
            self.effects.append(["free", block, QUEUE, -1])

    def _hit(self, name: Any, g: int, found: int) -> None:
        kind, size = self.groups[g]["kind"], self.groups[g]["block_size"]
        window = self.groups[g].get("sliding_window", found + 1)
        for k in range(found // size):
            key = (g, *self.tokens[name][: (k + 1) * size])
            least = found - size if kind == STATE else found - window + 1
            needed = (k + 1) * size > least
            if not needed:
                self.tables[name, g].append(NULL)
                self.effects.append(["null", NULL, f"{name}@{g}", k])
                continue
            block = next(block for block, content in self.cached.items() if content == key)
            if not self.refs.get(block):
                self.free.remove(block)
            self.refs[block] = self.refs.get(block, 0) + 1
            self.tables[name, g].append(block)
            self.effects.append(["hit", block, f"{name}@{g}", k * size, size])

    def _grow(self, name: Any, count: int) -> None:
        first = self.written[name]
        end = self.written[name] = first + count
        for g, words in enumerate(self.groups):
            kind, size, table = words["kind"], words["block_size"], self.tables[name, g]
            window = words.get("sliding_window", 2 if kind == STATE else end + 1)
            for k in range(len(table)):
                if (k + 1) * size <= first - window + 1 and table[k] != NULL:
                    self._free(table[k])
                    table[k] = NULL
                    self.effects.append(["null", NULL, f"{name}@{g}", k])
            while len(table) * size < end:
                if kind == STATE and (len(table) + 1) * size < end:
                    table.append(NULL)
                    continue
                block = self.free.pop(0)
                self.effects.append(["take", block, QUEUE])
                if self.cached.pop(block, None):
                    self.effects.insert(-1, ["evict", block])
                self.refs[block] = 1
                table.append(block)
            self._write(name, g, first, end)

    def _write(self, name: Any, g: int, first: int, end: int) -> None:
        size, table = self.groups[g]["block_size"], self.tables[name, g]
        state = self.groups[g]["kind"] == STATE
        for k in range(first // size if not state else (end - 1) // size, (end - 1) // size + 1):
            begin, until = max(k * size, first), min((k + 1) * size, end)
            begin = first if state else begin
            self.effects.append(["write", table[k], f"{name}@{g}", begin, until - begin])
            if until == (k + 1) * size:
                self.cached[table[k]] = (g, *self.tokens[name][:until])
                self.effects.append(["cache", table[k]])


LINE = "Alice was very tired of sitting by her sister on the bank and once or twice she read"
MORE = "a book that had no words in it"
TEXT = [*LINE.split(), *MORE.split()]


def words_of_three() -> tuple[Words, list[Words]]:
    """Full attention, a window of 8 and states at every 8 tokens: two requests that begin alike."""
    world = World([group(FULL, 4), group(WINDOW, 4, 8), group(STATE, 8)], 20)
    text = list(range(len(TEXT)))
    world.arrive("r0", text[:14])
    world.look("r0", [([0], 12, 0)])
    world.admit("r0", 8)
    world.step("r0", 6)
    for token in text[14:18]:
        world.step("r0", sampled=token)
    world.arrive("r1", [*text[:14], 20, 21, 22])
    world.look("r1", [([0], 16, 12), ([1], 12, 12), ([2], 12, 8), ([1], 8, 8)])
    world.admit("r1", 9, found=8)
    world.step("r1", sampled=23)
    world.finish("r0")
    world.step("r1", sampled=19)
    world.finish("r1")
    return world.file(tokens={f"{token}": word for token, word in enumerate(TEXT)})


def a_long_prompt() -> tuple[Words, list[Words]]:
    """A candidate of 96 tokens: full attention says 96, the window 64, and so it is asked again."""
    world = World([group(FULL, 16), group(WINDOW, 16, 33)], 64)
    text = list(range(200))
    world.arrive("a", text[:65])
    world.look("a", [([0], 64, 0)])
    world.admit("a", 65)
    world.arrive("b", text[:97])
    world.look("b", [([0], 96, 64), ([1], 64, 64)])
    world.admit("b", 33, found=64)
    world.step("b", sampled=300)
    world.finish("a")
    world.finish("b")
    world.arrive("c", text[:97])
    world.look("c", [([0], 96, 96), ([1], 96, 64), ([1], 64, 64)])
    world.admit("c", 33, found=64)
    for token in range(300, 340):
        world.step("c", sampled=token)
    return world.file()


def many_requests() -> tuple[Words, list[Words]]:
    """Six groups, as hybrid models have them, and a dozen requests in a large pool."""
    groups = [group(FULL, 32), *(group(WINDOW, 16, 64) for _ in range(3)), group(STATE, 64)]
    world = World([*groups, group(STATE, 64)], 900)
    for number in range(12):
        world.arrive(number, range(1000 * number, 1000 * number + 90 + 20 * number))
        world.look(number, [([0], 64, 0)])
        world.admit(number, 64)
    for number in range(12):
        world.step(number, 26 + 20 * number)
    for number in range(0, 12, 3):
        world.finish(number)
    return world.file()


RUNS = {"three": words_of_three, "long": a_long_prompt, "many": many_requests}
