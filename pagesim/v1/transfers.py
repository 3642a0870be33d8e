"""The copies that a step's output tells the workers to make.

Source: vLLM 0.33.0, ``vllm/distributed/kv_transfer/kv_connector/v1/offloading/common.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from pagesim.journal.effects import Name


@dataclass(frozen=True, slots=True)
class CPULoadStoreSpec:
    """The chunks on the CPU that a copy reads or writes."""

    block_ids: list[int]


@dataclass(frozen=True, slots=True)
class GPULoadStoreSpec:
    """Blocks of the GPU; ``block_indices`` is where the first of them stands in its request."""

    block_ids: list[int]
    block_indices: tuple[int]


Spec = GPULoadStoreSpec | CPULoadStoreSpec


@dataclass(slots=True, eq=False)
class TransferJob:
    """One copy: from ``src_spec`` to ``dst_spec``, of which one is the GPU's."""

    job_id: int
    req_id: Name
    keys: Sequence[Hashable]
    src_spec: Spec
    dst_spec: Spec
    is_store: bool
    sync: bool
    num_pending: int
    """Workers that have not reported it yet."""


Copier = Callable[[TransferJob], None]
"""What moves the bytes of a copy."""


@dataclass(slots=True)
class OffloadingConnectorMetadata:
    """The jobs that a step begins, and those that must be done before it computes."""

    load_jobs: dict[int, TransferJob]
    store_jobs: dict[int, TransferJob]
    jobs_to_flush: set[int]
