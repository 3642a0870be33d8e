"""Why pages."""

from pagesim.exercises.ch01 import pow2_row, streams, waste

EXERCISES = (waste.EXERCISE, pow2_row.EXERCISE, streams.EXERCISE)
