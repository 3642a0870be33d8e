"""Blocks, tables, slots."""

from pagesim.exercises.ch02 import (
    free_list,
    free_queue,
    needs_a_block,
    slot_mapping,
    slots,
    write_tokens,
)

EXERCISES = (
    slots.EXERCISE,
    needs_a_block.EXERCISE,
    free_list.EXERCISE,
    slot_mapping.EXERCISE,
    write_tokens.EXERCISE,
    free_queue.EXERCISE,
)
