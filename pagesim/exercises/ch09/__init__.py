"""Prefix caching."""

from pagesim.exercises.ch09 import best_pair, chain, defeat_lru, evict, find_the_bug, prefix_prefill

EXERCISES = (
    chain.EXERCISE,
    evict.EXERCISE,
    best_pair.EXERCISE,
    defeat_lru.EXERCISE,
    prefix_prefill.EXERCISE,
    find_the_bug.EXERCISE,
)
