"""The scheduler and the pages under the benchmark's engine: pagesim's, as in `pagesim.simulate`.

kernels does not depend on pagesim: this is the one place that puts both together, when called.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernels.pool import kv_pool
from kernels.tiny_llm.model import Model


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
        """Room for all that run, and for one more block, whose slots belong to no sequence."""
        return self.max_num_seqs * -(-self.max_model_len // self.block_size) + 1


def serving(model: Model, limits: Limits) -> tuple[Any, Any]:
    """A server of vLLM's V0 and a cache on the model's device, both new."""
    from pagesim import CacheConfig, SchedulerConfig
    from pagesim.cache import CacheEngine, KVPool
    from pagesim.simulation.paged import PagedServer

    config, head = model.config, model.head
    num_blocks = limits.num_blocks - 1
    server = PagedServer(
        SchedulerConfig(limits.max_num_batched_tokens, limits.max_num_seqs, limits.max_model_len),
        CacheConfig(limits.block_size, num_blocks, 0, enable_prefix_caching=limits.prefix_caching),
    )
    gpu, cpu = (
        KVPool(
            *kv_pool(
                config.num_hidden_layers,
                blocks,
                limits.block_size,
                config.num_key_value_heads,
                config.head_dim,
                dtype=head.dtype,
                device=head.device,
            )
        )
        for blocks in (limits.num_blocks, 0)
    )
    return server, CacheEngine(gpu, cpu)
