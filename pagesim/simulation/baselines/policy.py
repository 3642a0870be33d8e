"""What a memory policy must answer, so that one engine and one accounting serve them all."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from pagesim.workload.request import Request


@runtime_checkable
class MemoryPolicy(Protocol):
    """Keeps the cache of running requests in a pool of ``pool`` slots.

    The engine calls :meth:`step` once an iteration, then :meth:`admit` for the head of the queue
    until it is refused, reads :meth:`usage`, and calls :meth:`release` for each that has finished.
    None of these may take longer the more requests run, as far as the policy allows: sums are kept,
    not taken again.
    """

    pool: int

    def can_ever_admit(self, request: Request) -> bool:
        """Whether the request would fit if it were alone."""

    def admit(self, request: Request) -> bool:
        """Take memory for a request and store its prompt; False, and nothing is taken, if it waits.

        A request that :meth:`can_ever_admit` must be admitted when no other is running.
        """

    def step(self) -> None:
        """Every running request stores one token more."""

    def release(self, request: Request) -> None:
        """The request has its last token: what it held can be given to others."""

    def usage(self, head_waits: bool) -> tuple[int, int, int, int]:
        """Slots that are token, reserved, internal and external now; the rest of the pool is free.

        ``head_waits``: the head of the queue has just been refused, so free slots are of no use.
        """
