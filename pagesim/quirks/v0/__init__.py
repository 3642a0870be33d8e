"""Surprises of V0, release 0.6.4.post1."""
