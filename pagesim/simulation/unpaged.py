"""Memory policies without pages: contiguous allocations, batches, slots, and the caller's own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from pagesim.errors import UsageError
from pagesim.simulation.baseline import BaselineServer
from pagesim.simulation.baselines import ContiguousPolicy, MemoryPolicy, StaticPolicy, TokenPolicy
from pagesim.simulation.baselines.contiguous import SIZINGS
from pagesim.simulation.limits import Limits
from pagesim.simulation.recorded import RecordedMemory, check_addressed
from pagesim.simulation.serving import Server
from pagesim.workload.request import Request


class _Unpaged:
    """The server that all policies without pages share."""

    __slots__ = ()

    def server(
        self, slots: int, limits: Limits, requests: Sequence[Request] = (), record: bool = False
    ) -> Server:
        """UsageError if the memory cannot be recorded."""
        longest, seats = limits.max_model_len, limits.max_num_seqs
        memory = self.memory(slots, longest)
        if not record:
            return BaselineServer(memory, longest, seats, limits.budget)
        recorded = RecordedMemory(check_addressed(memory, self), requests)
        told = recorded.finish, recorded.arrive
        return BaselineServer(recorded, longest, seats, limits.budget, *told)

    def memory(self, slots: int, max_model_len: int) -> MemoryPolicy:
        """The memory itself, empty."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Contiguous(_Unpaged):
    """One contiguous allocation per request; ``sizing`` sets its length.

    "max" reserves the longest sequence that the model allows, "pow2" the prompt and the output
    rounded up to a power of two, and "oracle" exactly the prompt and the output.
    """

    sizing: str = "max"

    def __post_init__(self) -> None:
        if self.sizing not in SIZINGS:
            raise UsageError(f"sizing must be one of {', '.join(SIZINGS)}, not {self.sizing!r}")

    @property
    def name(self) -> str:
        return self.sizing

    def memory(self, slots: int, max_model_len: int) -> MemoryPolicy:
        return ContiguousPolicy(slots, max_model_len, self.sizing)


@dataclass(frozen=True, slots=True)
class Static(_Unpaged):
    """Batches that begin and end together."""

    name: ClassVar[str] = "static"

    def memory(self, slots: int, max_model_len: int) -> MemoryPolicy:
        return StaticPolicy(slots, max_model_len)


@dataclass(frozen=True, slots=True)
class Token(_Unpaged):
    """Slots one by one."""

    name: ClassVar[str] = "token"

    def memory(self, slots: int, max_model_len: int) -> MemoryPolicy:
        return TokenPolicy(slots)


@dataclass(frozen=True, slots=True)
class Own(_Unpaged):
    """A memory policy of the caller, with its own pool."""

    given: MemoryPolicy

    @property
    def name(self) -> str:
        return type(self.given).__name__

    def memory(self, slots: int, max_model_len: int) -> MemoryPolicy:
        """The given policy: it can serve one workload."""
        return self.given
