"""Bytes and addresses: from a step's decisions to the arrays that kernels read."""

from pagesim.cache.attention_metadata import AttentionMetadata
from pagesim.cache.cache_engine import CacheEngine, KVPool
from pagesim.cache.metadata_v0 import build_attention_metadata
from pagesim.cache.metadata_v1 import build_v1_metadata
from pagesim.cache.slot_mapping import PAD_SLOT_ID, pad_block_tables, prompt_slots, slots_of

__all__ = [
    "PAD_SLOT_ID",
    "AttentionMetadata",
    "CacheEngine",
    "KVPool",
    "build_attention_metadata",
    "build_v1_metadata",
    "pad_block_tables",
    "prompt_slots",
    "slots_of",
]
