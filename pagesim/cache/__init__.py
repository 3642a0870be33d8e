"""Addresses: from a sequence's block table to the places in the cache tensors."""

from pagesim.cache.slot_mapping import PAD_SLOT_ID, pad_block_tables, slots_of

__all__ = ["PAD_SLOT_ID", "pad_block_tables", "slots_of"]
