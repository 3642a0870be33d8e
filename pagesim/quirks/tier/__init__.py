"""Surprises of the second tier, of KV events and of their metrics."""
