"""Attention over a block table."""
