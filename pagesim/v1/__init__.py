"""vLLM V1, today's engine: the free queue, the pool, the KV cache manager and the scheduler.

The files are those of ``vllm/v1/core`` in release 0.33.0, and all recordings of that release replay
exactly. A model has one KV cache group or several, of full attention, sliding windows or states.
Checks come before changes, so a call that raises has changed nothing.

Which file answers which question, from the top down::

    scheduler, step               Who computes how many tokens in the next step? Who is preempted?
    request_queue                 Who waits, and in which order?
    request                       What is a request, and when is a block of its tokens hashed?
    in_flight                     How far is a request while the outputs of its steps are not known?
    kv_cache_manager              Is there room for a request's next tokens? What has it found?
    kv_cache_coordinator          What does this mean in each group? Where do all groups agree?
    single_type_kv_cache_manager  Which blocks does one group need, find, cache and drop?
    mamba_manager                 The same for states. Where must a chunk end?
    block_pool                    Which blocks are taken, shared, cached, evicted?
    kv_cache_utils                What is a block, its hash, its key, the queue of free blocks?
    kv_events, kv_event_index     What does a router hear of all this? What does it know then?
    kv_event_files                How is that saved, and read again?
    kv_cache_metrics              How long do blocks live, and how soon are they needed again?
    stats                         How much of the prompts was found?
    config, groups                What may a user choose, and what is refused?
    output, engine                What does a step tell the workers and the clients?
    offload, transfers            Which chunks does the CPU keep as well? Who copies them?
    …_guards, starvation          What makes no sense? Why does a request wait forever?
    serve                         Who calls the scheduler, step after step?
    state, scheduler_notes        What does a recording see of all this?

Begin with ``get_computed_blocks`` and ``allocate_slots`` of ``KVCacheManager``, which call most of
what is below. With one group of full attention, only ``UnitaryKVCacheCoordinator`` and
``FullAttentionManager`` are at work: skip the other coordinators and managers.
"""

from pagesim.sizing.kv_cache_spec import FullAttentionSpec, MambaSpec, SlidingWindowSpec
from pagesim.sizing.plan import plan_kv_cache as plan_kv_cache
from pagesim.v1.block_pool import BlockPool
from pagesim.v1.config import CacheConfig, SchedulerConfig
from pagesim.v1.engine import EngineCoreOutput, EngineCoreOutputs, FinishReason
from pagesim.v1.kv_cache_coordinator import get_kv_cache_coordinator
from pagesim.v1.kv_cache_manager import KVCacheBlocks, KVCacheManager
from pagesim.v1.kv_cache_metrics import KVCacheEvictionEvent, KVCacheMetricsCollector
from pagesim.v1.kv_cache_utils import (
    BlockHashListWithBlockSize,
    FreeKVCacheBlockQueue,
    KVCacheBlock,
    get_block_hash,
    get_group_id,
    hash_block_tokens,
    make_block_hash_with_group_id,
)
from pagesim.v1.kv_events import (
    AllBlocksCleared,
    BlockRemoved,
    BlockStored,
)
from pagesim.v1.offload.base import (
    LookupResult,
    OffloadingEvent,
    PrepareStoreOutput,
    ReqContext,
)
from pagesim.v1.offload.config import OffloadingConfig
from pagesim.v1.offload.manager import CPUOffloadingManager
from pagesim.v1.offload.remote import ModelRunnerOutput
from pagesim.v1.output import CachedRequestData, NewRequestData, SchedulerOutput
from pagesim.v1.request import Request, RequestStatus
from pagesim.v1.scheduler import Scheduler
from pagesim.v1.serve import serve
from pagesim.v1.starvation import why_it_waits_forever
from pagesim.v1.transfers import CPULoadStoreSpec

__all__ = [
    "AllBlocksCleared",
    "BlockHashListWithBlockSize",
    "BlockPool",
    "BlockRemoved",
    "BlockStored",
    "CPULoadStoreSpec",
    "CPUOffloadingManager",
    "CacheConfig",
    "CachedRequestData",
    "EngineCoreOutput",
    "EngineCoreOutputs",
    "FinishReason",
    "FreeKVCacheBlockQueue",
    "FullAttentionSpec",
    "KVCacheBlock",
    "KVCacheBlocks",
    "KVCacheEvictionEvent",
    "KVCacheManager",
    "KVCacheMetricsCollector",
    "LookupResult",
    "MambaSpec",
    "ModelRunnerOutput",
    "NewRequestData",
    "OffloadingConfig",
    "OffloadingEvent",
    "PrepareStoreOutput",
    "ReqContext",
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
    "serve",
    "why_it_waits_forever",
]
