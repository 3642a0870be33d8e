"""Blocks, tables, slots."""

from pagesim.exercises.ch02 import slots

EXERCISES = (slots.EXERCISE,)
