"""The fixtures that start processes faster."""

from tests.exercises.grading.warm import forked, forked_pools, warm

__all__ = ["forked", "forked_pools", "warm"]
