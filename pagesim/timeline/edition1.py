"""Files of edition 1, told in the words of edition 2: V0's lists were part of that format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pagesim.journal.effects import show
from pagesim.timeline.checked import TimelineError

FORMAT_1 = "pagesim-timeline/1"
QUEUES = ("waiting", "running", "swapped")
LISTS = ("GPU free list", "CPU free list", "GPU evictor", "CPU evictor")
ERRORS = (TypeError, ValueError, KeyError, IndexError, AttributeError)
"""What happens where a file does not say what it should."""
WORDS = {"swap_out": "move", "swap_in": "move", "promote": "cache"}


class Edition1:
    """Translates a header, and the events that follow it, one after the other."""

    def __init__(self, header: Mapping[str, Any], where: str) -> None:
        try:
            self._read(header)
        except ERRORS as error:
            raise TimelineError(f"{where}: not a header of edition 1: {show(error)}") from None

    def event(self, words: Mapping[str, Any], where: str) -> dict[str, Any]:
        """An event in the words of edition 2."""
        try:
            return self._event(words)
        except ERRORS as error:
            raise TimelineError(f"{where}: not an event of edition 1: {show(error)}") from None

    def _read(self, header: Mapping[str, Any]) -> None:
        state = header["state"]
        self._num_gpu = header["num_gpu_blocks"]
        evictor = state.get("evictor", [[], []])
        self._cached = set(state.get("cached", []))
        self._touched = set(state.get("touched", []))
        self._computed = {*state.get("computed", []), *evictor[0], *evictor[1]}
        self._known = {name: len(tokens) for name, _, tokens in state.get("tables", [])}
        queues = state.get("queues", {})
        self._queues = {queue: list(queues.get(queue, [])) for queue in QUEUES}
        self.header = {
            **header,
            "pools": [["GPU", self._num_gpu], ["CPU", header["num_cpu_blocks"]]],
            "lists": [[name, "linked"] for name in LISTS],
            "queues": list(QUEUES),
            "state": {
                **state,
                "lists": [*state.get("free", [[], []]), *evictor],
                "queues": list(self._queues.values()),
                "computed": list(self._computed),
            },
        }

    def _event(self, words: Mapping[str, Any]) -> dict[str, Any]:
        opened = list(words.get("opened", []))
        self._known |= {name: len(tokens) for name, tokens in opened}
        new: dict[str, Any] = {**words, "opened": opened, "tokens": [], "effects": []}
        evicted: set[int] = set()
        for effect in words.get("effects", []):
            self._effect(new, evicted, *effect)
        for name, _, _ in words.get("tables", []):
            self._begin(new, name)
        for name in words.get("closed", []):
            self._known.pop(name, None)
        if words["event"] == "mark_blocks_as_computed":
            new["effects"] += [["computed", block] for block in sorted(self._touched)]
            self._computed |= self._touched
            self._touched.clear()
        new["queues"] = self._moves(words.get("queues", []))
        return new

    def _effect(
        self, new: dict[str, Any], evicted: set[int], kind: str, block: int, *more: Any
    ) -> None:
        cpu = block >= self._num_gpu
        effects = new["effects"]
        if kind == "take":
            effects.append([kind, block, LISTS[cpu + 2 * (block in evicted)]])
            evicted.discard(block)
            self._computed.discard(block)
        elif kind == "return":
            cached = block in self._cached
            effects.append(["free", block, LISTS[cpu + 2 * cached], -1 if cached else 0])
            if cached and block not in self._computed:
                effects.append(["computed", block])
                self._computed.add(block)
        elif kind in ("write", "hit"):
            name, tokens = more
            first = 0 if name is None else self._begin(new, name)
            effects.append([kind, block, name, first, len(tokens)])
            if name is not None and tokens:
                new["tokens"].append([name, first, tokens])
                self._known[name] += len(tokens)
        else:
            effects.append([WORDS.get(kind, kind), block, *more])
        if kind == "promote":
            self._cached.add(block)
            self._touched |= set() if cpu else {block}
        elif kind == "evict":
            self._cached.discard(block)
            evicted.add(block)

    def _begin(self, new: dict[str, Any], name: Any) -> int:
        """How many tokens of a table are known; one not seen before begins."""
        if name not in self._known:
            new["opened"].append([name, []])
            self._known[name] = 0
        return self._known[name]

    def _moves(self, given: Any) -> list[Any]:
        """The changes of the queues; of queues that are given whole, all leave and enter."""
        if isinstance(given, dict):
            moves: list[Any] = []
            for queue, names in self._queues.items():
                moves += [["leave", queue, 0, name] for name in names]
                moves += [["enter", queue, i, name] for i, name in enumerate(given.get(queue, []))]
            given = moves
        for what, queue, place, request, *_ in given:
            if what == "enter":
                self._queues[queue].insert(place, request)
            else:
                del self._queues[queue][place]
        return given  # type: ignore[no-any-return]
