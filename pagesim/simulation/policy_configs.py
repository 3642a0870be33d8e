"""The configurations of an engine, made of the fields of a policy."""

from dataclasses import fields
from typing import Any, Protocol, TypeVar

from pagesim.errors import UsageError
from pagesim.simulation.fast_forward import refuse
from pagesim.simulation.limits import Limits

S = TypeVar("S")
C = TypeVar("C")


class Blocks(Protocol):
    """A policy that divides the memory into blocks."""

    @property
    def block_size(self) -> int:
        """Slots of a block."""


def configs_of(
    policy: Blocks,
    limits: Limits,
    slots: int,
    scheduler: type[S],
    cache: type[C],
    blocks: int | None = None,
) -> tuple[S, C]:
    """An engine's configurations: the policy's fields of the same names. UsageError if no block."""
    steps = {"max_num_seqs": limits.max_num_seqs, "max_model_len": limits.max_model_len}
    scheduling = _config(scheduler, policy, max_num_batched_tokens=limits.budget, **steps)
    if blocks is None and slots < policy.block_size:
        raise UsageError(
            f"a pool of {slots} slots cannot hold one block of {policy.block_size}: use smaller "
            "blocks, or a larger pool"
        )
    num_blocks = slots // policy.block_size if blocks is None else blocks
    return scheduling, _config(cache, policy, num_gpu_blocks=num_blocks)


def _config(kind: Any, policy: Blocks, **given: int) -> Any:
    names = [one.name for one in fields(kind) if hasattr(policy, one.name)]
    return kind(**{name: getattr(policy, name) for name in names}, **given)


def forwards(wanted: bool | None, reason: str | None, record: bool) -> bool:
    """Whether to fast-forward; UsageError if that is wanted and there is a reason against it."""
    if record:
        reason = "record=True records every step"
    if wanted:
        refuse(reason)
    return reason is None and wanted is not False
