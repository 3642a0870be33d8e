"""The sequences that grow by a token a step, touched only when they need a block or finish.

A sequence needs a block every ``block_size`` steps, always in the same residue class of steps, and
its last step is known in advance. So it is put into one of ``block_size`` buckets, and into the one
of its last step; in the steps between nothing is done for it.
"""

from collections import defaultdict


class Decoders:
    """What both engines' fast-forwards know of the sequences that decode, in running order.

    A length counts the known tokens, of which the last one is not cached yet.
    """

    def __init__(self, block_size: int) -> None:
        self._block_size = block_size
        self.steps = 0
        """Steps so far in which all of them decoded."""
        self.rows: dict[int, int] = {}
        """Row -> its length minus the steps so far, which a step does not change."""
        self._needing: defaultdict[int, dict[int, None]] = defaultdict(dict)
        """By step modulo block size: the rows that need a block then."""
        self._leaving: dict[int, dict[int, None]] = {}
        """By step: the rows that finish in it."""

    def __len__(self) -> int:
        return len(self.rows)

    def join(self, row: int, length: int, goal: int) -> None:
        """Decode from the next step on, up to ``goal`` tokens."""
        base = self.rows[row] = length - self.steps
        self._bucket(base)[row] = None
        self._leaving.setdefault(goal - base, {})[row] = None

    def needing(self) -> dict[int, None]:
        """Those that need a block in the next step."""
        return self._needing[(self.steps + 1) % self._block_size]

    def at_length(self, length: int) -> dict[int, None]:
        """Those whose length is this one in the next step, or differs by whole blocks."""
        return self._needing[(self.steps + 2 - length) % self._block_size]

    def leave(self, row: int, goal: int) -> int:
        """A victim stops before the next step; returns its length."""
        base = self.rows.pop(row)
        del self._bucket(base)[row], self._leaving[goal - base][row]
        return base + self.steps

    def finished(self) -> list[int]:
        """Those that have reached their goal with the last step; they are gone."""
        rows = list(self._leaving.pop(self.steps, ()))
        for row in rows:
            del self._bucket(self.rows.pop(row))[row]
        return rows

    def _bucket(self, base: int) -> dict[int, None]:
        return self._needing[(2 - base) % self._block_size]
