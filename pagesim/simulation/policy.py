"""Memory policies as values: what `simulate` accepts, with each option declared once.

The command line derives its options from the same fields, and their help from the metadata.
"""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, Protocol, runtime_checkable

from pagesim.errors import UsageError
from pagesim.simulation.baselines import MemoryPolicy
from pagesim.simulation.baselines.contiguous import SIZINGS
from pagesim.simulation.limits import Limits
from pagesim.simulation.policy_v0 import Paged
from pagesim.simulation.policy_v1 import PagedV1
from pagesim.simulation.serving import Server
from pagesim.simulation.unpaged import Contiguous, Own, Static, Token
from pagesim.workload.request import Request


@runtime_checkable
class Policy(Protocol):
    """A way to manage the cache; it creates the server that does so."""

    @property
    def name(self) -> str:
        """One word, as in ``simulate(policy=…)``."""

    def server(
        self, slots: int, limits: Limits, requests: Sequence[Request] = (), record: bool = False
    ) -> Server:
        """Make a server with ``slots`` slots, for these requests if they are already known."""


POLICIES: dict[str, Any] = {name: Contiguous(name) for name in SIZINGS} | {
    "static": Static(),
    "token": Token(),
    "paged": Paged(),
    "v1": PagedV1(),
}
"""What a string given as ``policy`` stands for."""

TITLES = {
    "max": "Regions for the longest request",
    "pow2": "Regions rounded up to a power of two",
    "oracle": "Regions of the exact length",
    "static": "Batches that end together",
    "token": "Slots one by one",
    "paged": "Pages, as in vLLM V0",
    "v1": "Pages, as in vLLM V1",
    "uniform": "Pages, all layers alike",
}
"""What a name says to a reader who does not know it, above a picture."""


def policy_of(given: str | Policy | MemoryPolicy, **options: Any) -> Policy:
    """Return the policy that a name and keywords stand for.

    UsageError for an unknown name, or a keyword that is not a field of the policy; the message
    lists the known ones. TypeError if ``given`` is not a policy.
    """
    policy: Any = given
    if isinstance(given, str):
        if given not in POLICIES:
            raise UsageError(f"policy must be one of {', '.join(POLICIES)}, not {given!r}")
        policy = POLICIES[given]
    elif not isinstance(given, type) and isinstance(given, MemoryPolicy):
        policy = Own(given)
    elif isinstance(given, type) or not isinstance(given, Policy):
        raise TypeError(f"policy must be a name or a MemoryPolicy, not {given!r}")
    if not options:
        return policy  # type: ignore[no-any-return]
    known = [one.name for one in fields(policy)]
    called = {one.metadata.get("called"): one.name for one in fields(policy)}
    options = {called.get(name, name): value for name, value in options.items()}
    for name, value in options.items():
        if name not in known:
            what = f"takes {', '.join(known)}" if known else "takes no options"
            raise UsageError(f"{name}={value!r} does not apply to {policy!r}: it {what}")
    return replace(policy, **options)  # type: ignore[no-any-return]
