"""Bytes and addresses: from a step's decisions to the arrays that kernels read."""

from pagesim.cache.attention_metadata import AttentionMetadata
from pagesim.cache.cache_engine import CacheEngine, KVPool
from pagesim.cache.metadata_v0 import build_attention_metadata
from pagesim.cache.metadata_v1 import build_v1_metadata
from pagesim.cache.slot_mapping import PAD_SLOT_ID, pad_block_tables, prompt_slots, slots_of

__all__ = ["PAD_SLOT_ID", "CacheEngine", "KVPool", "pad_block_tables", "prompt_slots", "slots_of"]
__all__ += ["AttentionMetadata", "build_attention_metadata", "build_v1_metadata"]
