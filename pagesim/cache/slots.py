"""A slot is one token's place in the cache: ``slot = block_id * block_size + offset``.

Nothing here needs NumPy, so that a slot can be looked up in a browser too.

Source: vLLM 0.6.4.post1, ``compute_slot_mapping`` in ``vllm/attention/backends/utils.py``.
"""

from collections.abc import Iterable, Sequence

from pagesim.checks import check_int
from pagesim.errors import UsageError

PAD_SLOT_ID = -1
"""Stands for a token that is not written: it pads a batch to a fixed size."""


def slot_numbers(
    block_table: Sequence[int], positions: Iterable[int], block_size: int
) -> list[int]:
    """The slot of each token position of one sequence.

    UsageError for a position outside the blocks in ``block_table``.
    """
    check_int("block_size", block_size, 1)
    capacity = len(block_table) * block_size
    slots = []
    for position in positions:
        if not 0 <= position < capacity:
            raise UsageError(
                f"position {position} is not in the table: its {len(block_table)} blocks "
                f"of {block_size} slots hold positions 0 to {capacity - 1}"
            )
        block, offset = divmod(position, block_size)
        slots.append(int(block_table[block]) * block_size + offset)  # int: NumPy's may overflow
    return slots
