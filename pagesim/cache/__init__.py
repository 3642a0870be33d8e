"""Bytes and addresses: from a step's decisions to the arrays that kernels read.

The names below are imported on first use, because they need NumPy; `slots` and `spans` do not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pagesim.cache.attention_metadata import AttentionMetadata
    from pagesim.cache.cache_engine import CacheEngine, KVPool
    from pagesim.cache.metadata_v0 import build_attention_metadata
    from pagesim.cache.metadata_v1 import build_v1_metadata
    from pagesim.cache.slot_mapping import pad_block_tables, prompt_slots, slots_of
    from pagesim.cache.slots import PAD_SLOT_ID

_HOMES = {
    "AttentionMetadata": "attention_metadata",
    "CacheEngine": "cache_engine",
    "KVPool": "cache_engine",
    "build_attention_metadata": "metadata_v0",
    "build_v1_metadata": "metadata_v1",
    "PAD_SLOT_ID": "slots",
}

__all__ = ["PAD_SLOT_ID", "CacheEngine", "KVPool", "pad_block_tables", "prompt_slots", "slots_of"]
__all__ += ["AttentionMetadata", "build_attention_metadata", "build_v1_metadata"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'slot_mapping')}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
