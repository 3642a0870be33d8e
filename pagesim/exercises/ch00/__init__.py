"""Start here."""

from pagesim.exercises.ch00 import break_the_kernel, read_the_player, two_sentences

EXERCISES = (two_sentences.EXERCISE, read_the_player.EXERCISE, break_the_kernel.EXERCISE)
