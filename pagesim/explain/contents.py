"""What was cached when: every content of a block, the blocks that held it, and who took them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pagesim.journal.effects import Name

Key = int
"""A content: the tokens of a block and of all blocks before it, as a number."""

BEGIN: Key = -1
"""What precedes the first block."""


@dataclass(slots=True)
class Held:
    """A time during which a block could be found by its content.

    ``since`` is the event that cached it, and ``until`` the one that evicted it, ``by`` this
    request or call; None if it is there at the end of the run.
    """

    block: int
    since: int
    until: int | None = None
    by: Name | None = None

    def at(self, event: int) -> bool:
        """Whether a lookup in this event, which comes before its changes, could find it."""
        return self.since < event and (self.until is None or self.until >= event)


@dataclass(slots=True)
class Contents:
    """The contents of a run in which all blocks have ``size`` slots."""

    size: int
    held: dict[Key, list[Held]] = field(default_factory=dict)
    _keys: dict[tuple[Key, tuple[int, ...]], Key] = field(default_factory=dict)
    _tokens: list[tuple[int, ...]] = field(default_factory=list)
    _next: dict[tuple[Key, int], list[Key]] = field(default_factory=dict)
    """What follows a content, by the first token."""
    now: dict[int, tuple[Key, Held]] = field(default_factory=dict)
    """What can be found in each block at present."""
    _count: Counter[Key] = field(default_factory=Counter)

    def extend(self, keys: list[Key], tokens: Sequence[int]) -> list[Key]:
        """Add to the contents of a sequence's first full blocks those of the others."""
        for start in range(len(keys) * self.size, len(tokens) - self.size + 1, self.size):
            before = keys[-1] if keys else BEGIN
            keys.append(self._key(before, tuple(tokens[start : start + self.size])))
        return keys

    def _key(self, before: Key, tokens: tuple[int, ...]) -> Key:
        key = self._keys.get((before, tokens))
        if key is None:
            key = self._keys[before, tokens] = len(self._keys)
            self._next.setdefault((before, tokens[0]), []).append(key)
            self._tokens.append(tokens)
        return key

    def tokens(self, key: Key) -> tuple[int, ...]:
        """The tokens of a block with this content."""
        return self._tokens[key]

    def cache(self, block: int, key: Key, event: int) -> None:
        """A block can be found by this content from now on."""
        held = Held(block, event)
        self.evict(block, event, None)
        self.now[block] = key, held
        self._count[key] += 1
        self.held.setdefault(key, []).append(held)

    def evict(self, block: int, event: int, by: Name | None) -> None:
        """The content of a block is forgotten."""
        if block in self.now:
            key, held = self.now.pop(block)
            held.until, held.by = event, by
            self._count[key] -= 1
            if not self._count[key]:
                del self._count[key]

    @property
    def num_distinct(self) -> int:
        """How many different contents can be found at present."""
        return len(self._count)

    def block_of(self, key: Key) -> int | None:
        """The block in which a lookup finds a content now: of several, the first cached one."""
        if key not in self._count:
            return None
        return next(held.block for held in self.held[key] if held.until is None)

    def found(self, key: Key, event: int) -> Held | None:
        """Where a lookup in this event could find a content."""
        return next((held for held in self.held.get(key, ()) if held.at(event)), None)

    def lost(self, key: Key, event: int) -> Held | None:
        """Where a content was last, if it had been there before this event and was evicted."""
        gone = [h for h in self.held.get(key, ()) if h.until is not None and h.until < event]
        return max(gone, key=lambda h: h.until or 0) if gone else None

    def alike(self, before: Key, tokens: Sequence[int], event: int) -> int:
        """How many of these tokens a block began with that a lookup in this event could find.

        It follows ``before`` and goes on differently.
        """
        others = self._next.get((before, tokens[0]), ()) if tokens else ()
        there = (self.tokens(key) for key in others if self.found(key, event))
        return max((_common(other, tokens) for other in there), default=0)


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
