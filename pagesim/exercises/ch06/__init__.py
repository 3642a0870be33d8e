"""Swapping."""

from pagesim.exercises.ch06 import break_even, gather_blocks, may_return, shared_swap

EXERCISES = (
    may_return.EXERCISE,
    shared_swap.EXERCISE,
    break_even.EXERCISE,
    gather_blocks.EXERCISE,
)
