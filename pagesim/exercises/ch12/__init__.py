"""A second tier."""
