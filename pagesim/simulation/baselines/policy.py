"""The interface of a memory policy, so that one server and one accounting fit all of them."""

from typing import Protocol, runtime_checkable

from pagesim.simulation.waste import Slots
from pagesim.workload.request import Request


@runtime_checkable
class MemoryPolicy(Protocol):
    """Keeps the cache of running requests in a pool of ``pool`` slots.

    The server calls :meth:`step` once per iteration, then :meth:`admit` for the head of the queue
    until it is refused, reads :meth:`usage`, and calls :meth:`release` for each that has finished.
    As far as the policy allows, none of these takes longer when more requests run: sums are
    maintained, not recomputed.
    """

    pool: int

    def can_ever_admit(self, request: Request) -> bool:
        """Whether the request would fit if it were alone."""

    def admit(self, request: Request) -> bool:
        """Take memory for a request and store its prompt; False, taking nothing, if it must wait.

        A request that :meth:`can_ever_admit` must be admitted when no other is running.
        """

    def step(self) -> None:
        """Every running request stores one more token."""

    def release(self, request: Request) -> None:
        """The request has its last token: free what it held."""

    def usage(self, head_waits: bool) -> Slots:
        """Where the slots are now, by `waste.usage`.

        ``head_waits``: the head of the queue has just been refused, so free slots are of no use.
        """
