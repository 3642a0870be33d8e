"""Inside the CUDA kernel."""

from pagesim.exercises.ch04 import key_offset, lanes, sectors

EXERCISES = (lanes.EXERCISE, key_offset.EXERCISE, sectors.EXERCISE)
