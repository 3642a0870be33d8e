"""Text."""

from pagesim.exercises.ch12 import harmed, next_token, permuted, sample_rows

EXERCISES = (harmed.EXERCISE, permuted.EXERCISE, sample_rows.EXERCISE, next_token.EXERCISE)
