"""The scheduler and the pages under the benchmark's engine: pagesim's, as in `pagesim.simulate`.

kernels does not depend on pagesim: this is the one place that puts both together, when called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pagesim.kernels.tiny_llm.model import Model


@dataclass(frozen=True, slots=True)
class Limits:
    """How many sequences run at once, in which pages, and how many tokens a step computes."""

    max_num_seqs: int = 32
    max_num_batched_tokens: int = 512
    max_model_len: int = 512
    block_size: int = 16
    prefix_caching: bool = False

    @property
    def num_blocks(self) -> int:
        """Room for all that run, and a last block that is never taken: the free list is a stack."""
        return self.max_num_seqs * -(-self.max_model_len // self.block_size) + 1


def served(model: Model, limits: Limits, backend: Any, engine: Callable[..., Any]) -> Any:
    """An engine on new pages, scheduled as vLLM's V0 does."""
    from pagesim import simulation
    from pagesim.generation import engine_on_pages

    return engine_on_pages(
        model,
        simulation.Paged(limits.block_size, limits.prefix_caching, watermark=0.0),
        blocks=limits.num_blocks,
        limits=simulation.Limits(
            limits.max_model_len, limits.max_num_seqs, limits.max_num_batched_tokens
        ),
        backend=backend,
        engine=engine,
    )
