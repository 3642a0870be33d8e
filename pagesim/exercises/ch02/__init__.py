"""Blocks, tables, slots."""
