"""Swapping."""
