"""The scheduler."""

from pagesim.exercises.ch07 import admit, find_the_bug, next_step, pick_victim, watermark

EXERCISES = (
    admit.EXERCISE,
    watermark.EXERCISE,
    pick_victim.EXERCISE,
    next_step.EXERCISE,
    find_the_bug.EXERCISE,
)
