"""The table of one sequence, beside what the recordings of vLLM and the state machines prove."""

import pytest

from pagesim import BlockTable
from tests.v0.block.scenes import both_kinds, new_allocator, new_table

pytestmark = both_kinds


def test_tokens_come_from_any_iterable(kind: str) -> None:
    table = BlockTable(4, new_allocator(kind, gpu=3))
    table.allocate(iter([1, 2, 3]))  # type: ignore[arg-type]
    table.append_token_ids(token_ids=(4, 5))
    assert table.token_ids == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(("tokens", "lookahead", "blocks"), [(0, 0, 0), (4, 1, 2), (3, 1, 1)])
def test_required_blocks_count_the_lookahead(
    kind: str, tokens: int, lookahead: int, blocks: int
) -> None:
    assert BlockTable.get_num_required_blocks([0] * tokens, 4, lookahead) == blocks


def test_the_list_of_blocks_is_a_copy_and_the_list_of_ids_is_live(kind: str) -> None:
    table = new_table(new_allocator(kind), 4)
    blocks, ids = table.blocks, table.physical_block_ids
    blocks.clear()
    table.append_token_ids([4])
    assert ids == table.physical_block_ids == [0, 1]
    assert len(table.blocks) == 2


def test_a_table_on_existing_handles_counts_their_tokens(kind: str) -> None:
    allocator = new_allocator(kind)
    table = new_table(allocator, 6)
    other = BlockTable(4, allocator, table.fork().blocks)
    assert (other.num_full_slots, other.physical_block_ids) == (6, [0, 1])
