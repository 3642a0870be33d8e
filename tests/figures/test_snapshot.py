"""A snapshot says what the simulator holds, and refuses what cannot be."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import pagesim
from figures import BlockView, Snapshot, alt_text, read_snapshot
from figures.scenes import NAMES, forked_and_swapped

pytestmark = pytest.mark.ch02


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tables": {"A": (BlockView(20),)}}, r"table 'A', entry 0: block 20 is not in 0\.\.19"),
        ({"tables": {"A": (BlockView(3, (1,) * 5),)}}, "5 tokens, block_size is 4"),
        ({"tables": {"A": (BlockView(6),)}}, "block 6 is also in a free list"),
        ({"free_gpu": (14,)}, r"free_gpu: block 14 is not in 0\.\.11"),
        ({"free_cpu": (11,)}, r"free_cpu: block 11 is not in 12\.\.19"),
        ({"free_gpu": (1, 1)}, "listed twice"),
    ],
)
def test_impossible_snapshots_are_refused(
    cache: Snapshot, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(cache, **change)


def test_owners_fill_and_shared(cache: Snapshot) -> None:
    assert cache.owners() == {
        3: ["A", "B"],
        7: ["A", "B"],
        0: ["A"],
        5: ["B"],
        13: ["C"],
        12: ["C"],
    }
    assert cache.fill() == {3: 4, 7: 4, 0: 1, 5: 2, 13: 4, 12: 3}
    assert cache.shared() == [3, 7]
    assert cache.num_tokens("B") == 10


def test_a_manager_is_read_as_it_is() -> None:
    manager = forked_and_swapped()
    snapshot = read_snapshot(manager, names=NAMES)
    assert list(snapshot.tables) == ["A", "B", "C"]
    for seq_id, name in NAMES.items():
        ids = [block.block_id for block in snapshot.tables[name]]
        assert ids == manager.block_tables[seq_id].physical_block_ids
    assert snapshot.tables["A"][2].token_ids == (18, 19)
    assert snapshot.tables["B"][2].token_ids == (18, 29)
    assert snapshot.tables["A"][:2] == snapshot.tables["B"][:2]
    assert snapshot.shared() == [block.block_id for block in snapshot.tables["A"][:2]]
    assert all(snapshot.on_cpu(block.block_id) for block in snapshot.tables["C"])
    assert len(snapshot.free_gpu) == manager.get_num_free_gpu_blocks()
    assert len(snapshot.free_cpu) == manager.get_num_free_cpu_blocks()
    assert snapshot.held() == []


def test_a_sequence_keeps_its_colour_when_others_leave() -> None:
    manager = forked_and_swapped()
    for known in ({"names": NAMES}, {"order": [0, 2, 1]}):
        before = read_snapshot(manager, **known)
        del manager.block_tables[0]
        after = read_snapshot(manager, **known)
        assert [after.color(name) for name in after.tables] == [
            before.color(name) for name in after.tables
        ]
        assert len({before.color(name) for name in before.tables}) == len(before.tables)
        manager = forked_and_swapped()


def test_the_free_list_foretells_what_is_taken() -> None:
    manager = forked_and_swapped()
    foretold = read_snapshot(manager).free_gpu[:3]
    seq = pagesim.Sequence(7, list(range(12)), 4)
    manager.allocate(pagesim.SequenceGroup("r7", [seq]))
    assert tuple(manager.get_block_table(seq)) == foretold


def test_bare_tables_need_their_allocator() -> None:
    manager = forked_and_swapped()
    bare = {"one": manager.block_tables[0]}
    snapshot = read_snapshot(bare, allocator=manager.block_allocator)
    assert snapshot.block_size == 4
    assert snapshot.tables["one"][0].token_ids == (10, 11, 12, 13)
    with pytest.raises(TypeError, match="allocator="):
        read_snapshot(bare)
    with pytest.raises(TypeError, match="not list"):
        read_snapshot([bare], allocator=manager.block_allocator)
    with pytest.raises(ValueError, match="share a label"):
        read_snapshot(manager, names=dict.fromkeys(NAMES, "X"))
    with pytest.raises(ValueError, match="block size"):
        read_snapshot({}, allocator=manager.block_allocator)


def test_alt_text_tells_what_the_picture_shows(cache: Snapshot) -> None:
    text = alt_text(cache)
    assert text.startswith("A cache of 12 GPU and 8 CPU blocks with 4 slots each.")
    assert "A keeps 9 tokens in blocks 3, 7, 0 on the GPU." in text
    assert "C keeps 7 tokens in blocks 13, 12 on the CPU." in text
    assert "Blocks 3, 7 are shared." in text
    assert "7 GPU blocks are free; the next taken is 6." in text


def test_alt_text_of_a_large_cache_gives_counts(make_cache) -> None:
    text = alt_text(make_cache(40, 10, 512))
    assert "40 sequences, s0 to s39, hold 400 blocks between them." in text
    assert len(text) < 400


def test_alt_text_of_little() -> None:
    empty = Snapshot(1, 1, 0, {}, {}, ())
    assert alt_text(empty) == (
        "A cache of 1 GPU block with 1 slot each. No sequence holds a block. No GPU block is free."
    )
    one = Snapshot(2, 2, 0, {"A": (BlockView(1, (5,)),), "B": ()}, {1: 1}, (0,))
    assert "A keeps 1 token in block 1 on the GPU. B holds no blocks." in alt_text(one)
    assert alt_text(one).endswith("One GPU block is free: 0.")
