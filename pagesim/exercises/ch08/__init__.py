"""Long sequences."""

from pagesim.exercises.ch08 import best_partition, merge, merge_partitions, pages

EXERCISES = (
    merge.EXERCISE,
    merge_partitions.EXERCISE,
    pages.EXERCISE,
    best_partition.EXERCISE,
)
