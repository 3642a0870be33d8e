"""Surprises of V1, release 0.33.0."""
