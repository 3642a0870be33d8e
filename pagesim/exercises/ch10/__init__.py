"""How big is the cache."""

from pagesim.exercises.ch10 import bytes_per_token, cheapest, own_log, read_the_log

EXERCISES = (
    bytes_per_token.EXERCISE,
    read_the_log.EXERCISE,
    cheapest.EXERCISE,
    own_log.EXERCISE,
)
