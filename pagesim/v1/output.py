"""What a step decided, as the workers are told: new requests in full, known ones by differences.

Source: vLLM 0.33.0, ``vllm/v1/core/sched/output.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pagesim.journal.effects import Name
from pagesim.v1.transfers import OffloadingConnectorMetadata


@dataclass(slots=True)
class NewRequestData:
    """A request that the workers do not know yet, with its tokens and its whole table."""

    req_id: Name
    prompt_token_ids: list[int]
    block_ids: tuple[list[int], ...]
    num_computed_tokens: int


@dataclass(slots=True)
class CachedRequestData:
    """The requests that the workers already know, in parallel lists.

    ``new_block_ids`` has the blocks by which each table grew, or None if it did not grow; for a
    request in ``resumed_req_ids`` it has the whole table. ``num_computed_tokens`` has the counts
    before this step.
    """

    req_ids: list[Name] = field(default_factory=list)
    resumed_req_ids: set[Name] = field(default_factory=set)
    new_block_ids: list[tuple[list[int], ...] | None] = field(default_factory=list)
    num_computed_tokens: list[int] = field(default_factory=list)
    num_output_tokens: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class SchedulerOutput:
    """One step; ``num_scheduled_tokens`` has the running requests first, then the admitted ones."""

    scheduled_new_reqs: list[NewRequestData]
    scheduled_cached_reqs: CachedRequestData
    num_scheduled_tokens: dict[Name, int]
    total_num_scheduled_tokens: int
    preempted_req_ids: set[Name]
    finished_req_ids: set[Name]
    kv_connector_metadata: OffloadingConnectorMetadata | None = None
    """What the workers copy between the GPU and the second tier, if there is one."""
