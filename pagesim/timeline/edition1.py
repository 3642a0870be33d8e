"""Translates files of edition 1 into edition 2; V0's lists were part of the older format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pagesim.journal.effects import show
from pagesim.timeline.checked import TimelineError

FORMAT_1 = "pagesim-timeline/1"
QUEUES = ("waiting", "running", "swapped")
LISTS = ("GPU free list", "CPU free list", "GPU evictor", "CPU evictor")
WORDS = {"swap_out": "move", "swap_in": "move", "promote": "cache"}
ERRORS = (TypeError, ValueError, KeyError, IndexError, AttributeError)
"""What a malformed file raises."""

Words = dict[str, Any]


def edition2(lines: Iterable[tuple[int, Words]], name: str) -> Iterator[tuple[int, Words]]:
    """The header and the events of edition 2, each with the number of its line."""
    old: _Edition1 | None = None
    for number, words in lines:
        try:
            if old is None:
                old = _Edition1(words)
                new = old.header
            else:
                new = old.event(words)
        except ERRORS as error:
            raise TimelineError(f"{name}:{number}: not valid in edition 1: {show(error)}") from None
        yield number, new


class _Edition1:
    """What an event of edition 1 leaves implicit: what is cached, known, and in the queues."""

    def __init__(self, header: Mapping[str, Any]) -> None:
        state, self._num_gpu = header["state"], header["num_gpu_blocks"]
        evictor, queues = state.get("evictor", [[], []]), state.get("queues", {})
        self._cached = set(state.get("cached", []))
        self._touched = set(state.get("touched", []))
        self._computed = {*state.get("computed", []), *evictor[0], *evictor[1]}
        self._known = {name: len(tokens) for name, _, tokens in state.get("tables", [])}
        self._queues = {queue: list(queues.get(queue, [])) for queue in QUEUES}
        lists, computed = [*state.get("free", [[], []]), *evictor], list(self._computed)
        now = {"lists": lists, "queues": list(self._queues.values()), "computed": computed}
        self.header: Words = {
            **header,
            "pools": [["GPU", self._num_gpu], ["CPU", header["num_cpu_blocks"]]],
            "lists": [[name, "linked"] for name in LISTS],
            "queues": list(QUEUES),
            "state": state | now,
        }

    def event(self, words: Mapping[str, Any]) -> Words:
        """An event as edition 2 has it."""
        new: Words = {**words, "opened": [*words.get("opened", [])], "tokens": [], "effects": []}
        self._known |= {name: len(tokens) for name, tokens in new["opened"]}
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
        return new | {"queues": self._moves(words.get("queues", []))}

    def _effect(self, new: Words, evicted: set[int], kind: str, block: int, *more: Any) -> None:
        cpu, effects = block >= self._num_gpu, new["effects"]
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

    def _begin(self, new: Words, name: Any) -> int:
        """The number of known tokens of a table; a table not seen before is opened."""
        if name not in self._known:
            new["opened"].append([name, []])
        return self._known.setdefault(name, 0)

    def _moves(self, given: Any) -> list[Any]:
        """The changes of the queues; if whole queues are given, all requests leave and enter."""
        if isinstance(given, dict):
            whole, given = given, []
            for queue, names in self._queues.items():
                given += [["leave", queue, 0, name] for name in names]
                given += [["enter", queue, i, name] for i, name in enumerate(whole.get(queue, []))]
        for what, queue, place, request, *_ in given:
            self._queues[queue][place : place + (what == "leave")] = [request] * (what == "enter")
        return given  # type: ignore[no-any-return]
