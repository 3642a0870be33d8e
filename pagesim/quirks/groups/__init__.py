"""Surprises of V1 with several KV cache groups."""
