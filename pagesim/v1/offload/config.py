"""What a user may choose of the second tier.

Source: vLLM 0.33.0, ``vllm/config/cache.py`` and ``vllm/v1/kv_offload/cpu/spec.py``.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Annotated

from pagesim.checks import Flag, Natural, NaturalCount, Positive, check_choice, check_fields
from pagesim.errors import UsageError
from pagesim.sizing.kv_cache_spec import FullAttentionSpec
from pagesim.v1.config import CacheConfig

Eviction = Annotated[str, partial(check_choice, known=("lru", "arc"))]
OnFailure = Annotated[str, partial(check_choice, known=("fail", "recompute"))]


@dataclass(frozen=True, slots=True)
class OffloadingConfig:
    """A tier of ``num_chunks`` chunks in host memory, of ``blocks_per_chunk`` blocks each.

    ``block_size`` is the tokens of a chunk, for those who prefer to count them. ``store_threshold``
    is how many requests must have offered a chunk before it is stored. With
    ``offload_prompt_only`` no generated token is stored. ``sync_load_budget_tokens`` is how many
    tokens of a step may be loaded while the step waits. A copy is done when ``num_workers`` workers
    have said so. ``kv_load_failure_policy`` is what a failed load does to its request: "fail", or
    "recompute". With ``self_describing_kv_events`` the events of the tier tell the tokens of a
    chunk. TypeError or UsageError names the field and the value.
    """

    num_chunks: NaturalCount
    _: KW_ONLY
    blocks_per_chunk: int | None = None
    block_size: int | None = None
    cache_policy: Eviction = "lru"
    store_threshold: Natural = 0
    max_tracker_size: Positive = 64_000
    offload_prompt_only: Flag = True
    sync_load_budget_tokens: Natural = 0
    num_workers: Positive = 1
    kv_load_failure_policy: OnFailure = "fail"
    enable_kv_cache_events: Flag = False
    self_describing_kv_events: Flag = False

    def __post_init__(self) -> None:
        check_fields(self)
        if self.blocks_per_chunk is not None and self.block_size is not None:
            raise UsageError("blocks_per_chunk and block_size say the same: give one of them")

    def chunk_blocks(self, cache: CacheConfig) -> int:
        """Blocks of a chunk. UsageError for a cache that the tier cannot serve."""
        spec = FullAttentionSpec
        if cache.sliding_window or any(type(group) is not spec for group in cache.groups or ()):
            raise UsageError("a second tier is for full attention only: drop windows and states")
        if cache.groups is not None and len(cache.groups) > 1:
            raise UsageError(f"a second tier is for one KV cache group, not {len(cache.groups)}")
        num_blocks, inside = self.blocks_per_chunk, 0
        if self.block_size is not None:
            num_blocks, inside = divmod(self.block_size, cache.block_size)
        if num_blocks is None:
            return 1
        if num_blocks < 1 or inside:
            raise UsageError(
                f"a chunk has whole blocks of {cache.block_size} tokens, at least one: "
                f"blocks_per_chunk={self.blocks_per_chunk}, block_size={self.block_size} is none"
            )
        return num_blocks
