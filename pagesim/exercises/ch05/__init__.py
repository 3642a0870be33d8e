"""Growing and sharing."""

from pagesim.exercises.ch05 import append, find_the_bug, fork_copies, in_order

EXERCISES = (
    fork_copies.EXERCISE,
    append.EXERCISE,
    find_the_bug.EXERCISE,
    in_order.EXERCISE,
)
