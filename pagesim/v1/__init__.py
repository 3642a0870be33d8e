"""vLLM V1, today's engine: the free queue, the pool, the KV cache manager and the scheduler.

The files are those of ``vllm/v1/core`` in release 0.33.0, and all recordings of that release replay
exactly. There is one KV cache group, of full attention or of a sliding window. Checks come before
changes, so a call that raises has changed nothing.
"""

from pagesim.sizing.plan import plan_kv_cache as plan_kv_cache
from pagesim.v1.block_pool import BlockPool
from pagesim.v1.config import CacheConfig, SchedulerConfig
from pagesim.v1.engine import EngineCoreOutput, EngineCoreOutputs, FinishReason
from pagesim.v1.kv_cache_manager import KVCacheBlocks, KVCacheManager
from pagesim.v1.kv_cache_utils import FreeKVCacheBlockQueue, KVCacheBlock, hash_block_tokens
from pagesim.v1.output import CachedRequestData, NewRequestData, SchedulerOutput
from pagesim.v1.request import Request, RequestStatus
from pagesim.v1.scheduler import Scheduler
from pagesim.v1.starvation import why_it_waits_forever

__all__ = [
    "BlockPool",
    "CacheConfig",
    "CachedRequestData",
    "EngineCoreOutput",
    "EngineCoreOutputs",
    "FinishReason",
    "FreeKVCacheBlockQueue",
    "KVCacheBlock",
    "KVCacheBlocks",
    "KVCacheManager",
    "NewRequestData",
    "Request",
    "RequestStatus",
    "Scheduler",
    "SchedulerConfig",
    "SchedulerOutput",
    "hash_block_tokens",
    "why_it_waits_forever",
]
