"""vLLM V1, today's engine: the free queue, the pool, the KV cache manager and the scheduler.

The files are those of ``vllm/v1/core`` in release 0.33.0, and all recordings of that release replay
exactly. A model has one KV cache group or several, of full attention, sliding windows or states.
Checks come before changes, so a call that raises has changed nothing.
"""

from pagesim.sizing.kv_cache_spec import FullAttentionSpec, MambaSpec, SlidingWindowSpec
from pagesim.sizing.plan import plan_kv_cache as plan_kv_cache
from pagesim.v1.block_pool import BlockPool
from pagesim.v1.config import CacheConfig, SchedulerConfig
from pagesim.v1.engine import EngineCoreOutput, EngineCoreOutputs, FinishReason
from pagesim.v1.kv_cache_coordinator import (
    get_kv_cache_coordinator,
)
from pagesim.v1.kv_cache_manager import KVCacheBlocks, KVCacheManager
from pagesim.v1.kv_cache_utils import (
    BlockHashListWithBlockSize,
    FreeKVCacheBlockQueue,
    KVCacheBlock,
    get_block_hash,
    get_group_id,
    hash_block_tokens,
    make_block_hash_with_group_id,
)
from pagesim.v1.output import CachedRequestData, NewRequestData, SchedulerOutput
from pagesim.v1.request import Request, RequestStatus
from pagesim.v1.scheduler import Scheduler
from pagesim.v1.starvation import why_it_waits_forever

__all__ = [
    "BlockHashListWithBlockSize",
    "BlockPool",
    "CacheConfig",
    "CachedRequestData",
    "EngineCoreOutput",
    "EngineCoreOutputs",
    "FinishReason",
    "FreeKVCacheBlockQueue",
    "FullAttentionSpec",
    "KVCacheBlock",
    "KVCacheBlocks",
    "KVCacheManager",
    "MambaSpec",
    "NewRequestData",
    "Request",
    "RequestStatus",
    "Scheduler",
    "SchedulerConfig",
    "SchedulerOutput",
    "SlidingWindowSpec",
    "get_block_hash",
    "get_group_id",
    "get_kv_cache_coordinator",
    "hash_block_tokens",
    "make_block_hash_with_group_id",
    "why_it_waits_forever",
]
