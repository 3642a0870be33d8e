"""The table of one sequence: which block holds which tokens, as it grows."""

from __future__ import annotations

import pytest

from pagesim import BlockTable
from tests.v0.block.scenes import KINDS, new_allocator, new_table

pytestmark = [pytest.mark.ch02, pytest.mark.parametrize("kind", KINDS)]


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


@pytest.mark.parametrize(
    ("held", "added", "lookahead", "touched"),
    [
        (5, 1, 0, 1),
        (5, 3, 0, 1),
        (5, 4, 0, 2),
        (8, 1, 0, 1),
        (8, 4, 4, 2),
        (5, 0, 3, 1),
        (8, 0, 0, 0),
        (5, 0, 0, 1),
    ],
)
def test_touched_blocks_are_the_worst_case(
    kind: str, held: int, added: int, lookahead: int, touched: int
) -> None:
    table = new_table(new_allocator(kind), held)
    assert table.get_num_blocks_touched_by_append_slots([0] * added, lookahead) == touched
    table.ensure_num_empty_slots(20)
    assert table.get_num_blocks_touched_by_append_slots([0] * added, lookahead) == touched


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


def test_freeing_and_allocating_again(kind: str) -> None:
    allocator = new_allocator(kind)
    table, fork = (first := new_table(allocator, 6)), first.fork()
    table.free()
    assert [allocator.get_ref_count(i) for i in (0, 1)] == [1, 1]
    assert [block.token_ids for block in fork.blocks] == [[0, 1, 2, 3], [4, 5]]
    table.allocate([7])
    assert table.physical_block_ids == [2]


def test_a_window_drops_what_no_token_looks_back_to(kind: str) -> None:
    allocator = new_allocator(kind)
    table = new_table(allocator, 16, window=2)
    table.append_token_ids([16], 0, 11)  # 11 // 4 - 2 = 0 blocks
    assert table.physical_block_ids == [0, 1, 2, 3, 5]
    assert allocator.allocate_or_get_null_block().block_id == 4
    table.append_token_ids([17], 0, 17)
    assert table.physical_block_ids == [4, 4, 2, 3, 5]
    assert [allocator.get_ref_count(i) for i in (0, 1, 4)] == [0, 0, 1]
    table.append_token_ids([18], 0, 3)  # a smaller number brings nothing back
    assert table.physical_block_ids == [4, 4, 2, 3, 5]
    table.free()
    table.allocate(list(range(50, 70)))
    assert 4 not in table.physical_block_ids
