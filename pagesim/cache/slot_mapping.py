"""From block tables to the arguments of kernels: slots to write to, and tables to read through.

`pagesim.cache.slots` says what a slot is.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from pagesim.cache.slots import PAD_SLOT_ID, slot_numbers
from pagesim.checks import check_int


def slots_of(
    block_table: Sequence[int], positions: Iterable[int], block_size: int
) -> NDArray[np.int64]:
    """The slot of each token position of one sequence, int64 [number of positions].

    UsageError for a position outside the blocks in ``block_table``.
    """
    return np.array(slot_numbers(block_table, positions, block_size), dtype=np.int64)


def prompt_slots(
    block_table: Sequence[int],
    context_len: int,
    seq_len: int,
    block_size: int,
    *,
    sliding_window: int | None = None,
) -> NDArray[np.int64]:
    """The slots of a prompt's chunk, positions ``context_len`` to ``seq_len - 1``.

    With a ``sliding_window`` of w tokens, no later step sees more than the last w. vLLM gives
    PAD_SLOT_ID to those before position *chunk length* - w (it does not add ``context_len``, so it
    skips as many as possible in a first chunk and fewer in later ones). The prompt's own queries
    must then get the skipped keys from somewhere other than the cache.
    """
    check_int("context_len", context_len, 0)
    check_int("seq_len", seq_len, context_len)
    slots = slots_of(block_table, range(context_len, seq_len), block_size)
    if sliding_window is not None:
        check_int("sliding_window", sliding_window, 1)
        begin_of_window = seq_len - context_len - sliding_window
        slots[: max(0, begin_of_window - context_len)] = PAD_SLOT_ID
    return slots


def pad_block_tables(block_tables: Sequence[Sequence[int]], pad: int = -1) -> NDArray[np.int32]:
    """The tables of a batch as one array, int32 [num_seqs, longest table], padded with ``pad``.

    A kernel must never follow a pad: since no block has the id -1, a mistake shows.
    """
    width = max((len(table) for table in block_tables), default=0)
    padded = np.full((len(block_tables), width), pad, dtype=np.int32)
    for row, table in zip(padded, block_tables, strict=True):
        row[: len(table)] = table
    return padded
