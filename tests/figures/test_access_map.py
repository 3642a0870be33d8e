"""The access map says what is in the trace: who, which slots, in which order, and what is wrong."""

from typing import Any

import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from pagesim.figures import alt_text, style
from pagesim.figures.charts.access_map import DOT, MAX_ROWS, access_map, owners_of, rows_of
from tests.figures.charts import fill, rectangles, shown

pytestmark = [pytest.mark.ch02, pytest.mark.ch03]


def access(*slots: tuple[int, int], kind: str = "read", tensor: str = "k_cache") -> dict[str, Any]:
    listed = [list(slot) for slot in slots]
    return {"kind": kind, "tensor": tensor, "bytes": 64 * len(slots), "slots": listed}


def program(
    *accesses: dict[str, Any], index: tuple[int, int, int], sequences: tuple[int, ...] = ()
) -> dict[str, Any]:
    return {
        "kernel": "some_kernel",
        "index": list(index),
        "sequences": list(sequences),
        "heads": [index[1]] if sequences else [],
        "accesses": [access(tensor="q"), *accesses],
    }


def trace(*programs: dict[str, Any], tables: bool = True, num_blocks: int = 6) -> dict[str, Any]:
    """A has 6 tokens in blocks 5 and 1, B shares block 5 and has 2 tokens in block 3."""
    sequences = [{"table": [5, 1], "length": 6}, {"table": [5, 3], "length": 6}] if tables else []
    return {
        "version": 1,
        "name": "some_launcher",
        "num_blocks": num_blocks,
        "block_size": 4,
        "sequences": sequences,
        "programs": list(programs),
    }


FULL = [(5, row) for row in range(4)]


def good() -> dict[str, Any]:
    """One program a sequence and head; K and V page by page, in the table's order."""
    return trace(
        *(
            program(
                *(access(*FULL, tensor=tensor) for tensor in ("k_cache", "v_cache")),
                *(access((own, 0), (own, 1), tensor=t) for t in ("k_cache", "v_cache")),
                index=(seq, head, 0),
                sequences=(seq,),
            )
            for seq, own in ((0, 1), (1, 3))
            for head in (0, 1)
        )
    )


def fills(figure: Figure, color: str) -> list[Rectangle]:
    """The coloured parts of cells, without outline."""
    plain = [patch for patch in rectangles(figure) if patch.get_linewidth() == 0]
    return [patch for patch in plain if fill(patch) == color]


def test_programs_that_did_the_same_are_one_row() -> None:
    first, second = rows_of(good())
    assert first.place == f"(0, {DOT}, 0)"
    assert (first.heads, first.sequences, first.writes) == ((0, 1), (0,), False)
    assert first.slots == (*FULL, (1, 0), (1, 1))
    assert first.num_bytes == 2 * 2 * 6 * 64
    assert second.slots == (*FULL, (3, 0), (3, 1))


def test_owners_come_from_the_tables() -> None:
    owners = owners_of(good())
    assert owners[5, 3] == [0, 1]
    assert owners[1, 1] == [0]
    assert (1, 2) not in owners


def test_every_slot_read_is_drawn_in_its_sequences_colour() -> None:
    figure = access_map(good(), title="A title")
    for seq in (0, 1):
        # Each slot once in the row of the sequence, and once above, among those who own it.
        assert len(fills(figure, style.color_of(seq))) == 6 + 6


def test_blocks_are_numbered_in_the_order_in_which_they_are_read() -> None:
    figure = access_map(good())
    (head,) = [t for t in figure.axes[0].texts if t.get_text() == "Whose tokens"]
    below = [t for t in figure.axes[0].texts if t.get_position()[1] > head.get_position()[1] + 10]
    numbers = [(t.get_position(), t.get_text()) for t in below if t.get_text() in {"1", "2"}]
    xs = sorted({x for (x, _), _ in numbers})
    rows = sorted({y for (_, y), _ in numbers})
    assert len(rows) == 2
    shown = {(rows.index(y), xs.index(x)): word for (x, y), word in numbers}
    # From left to right blocks 1, 3 and 5: everybody starts in the shared block 5.
    assert shown == {(0, 0): "2", (0, 2): "1", (1, 1): "2", (1, 2): "1"}


def test_a_shared_block_has_a_thick_edge_and_all_its_owners() -> None:
    figure = access_map(good(), names=["first", "second"])
    thick = [patch for patch in rectangles(figure) if patch.get_linewidth() == style.THICK]
    assert len(thick) == 1
    assert "first second" in shown(figure) or f"{style.TIMES}2" in shown(figure)


def test_a_slot_of_another_sequence_is_crossed_out() -> None:
    wrong = program(access(*FULL, (3, 0)), index=(0, 0, 0), sequences=(0,))
    figure = access_map(trace(wrong))
    crossed = [p for p in rectangles(figure) if p.get_hatch()]
    assert len(crossed) == 1 + 1  # and the legend
    assert "crossed: not its sequence's slots" in shown(figure)
    assert "crossed: not its sequence's slots" not in shown(access_map(good()))
    said = "1 slot belongs to no sequence of the program that touched it."
    assert alt_text(figure).endswith(said)


def test_writers_without_sequences_are_grey() -> None:
    writes = [access((block, 2), kind="write") for block in (4, 0)]
    writers = [program(write, index=(number, 0, 0)) for number, write in enumerate(writes)]
    figure = access_map(trace(*writers, tables=False))
    assert len(fills(figure, style.HELD)) == 2
    assert "filled: slots written" in shown(figure)
    assert "Whose tokens" not in shown(figure)
    assert "(1, 0, 0)" in shown(figure)


def many(num_blocks: int, programs: int) -> dict[str, Any]:
    """Programs that touch five blocks each."""
    made = [
        program(
            access(*[((7 * number + step) % num_blocks, 1) for step in range(5)]),
            index=(number, number % 3, 0),
            sequences=(number % 2,),
        )
        for number in range(programs)
    ]
    return trace(*made, num_blocks=num_blocks)


@pytest.mark.parametrize(("num_blocks", "programs"), [(6, 4), (32, MAX_ROWS + 1), (500, 9)])
def test_large_traces_say_what_they_leave_out(num_blocks: int, programs: int) -> None:
    words = shown(access_map(many(num_blocks, programs)))
    omitted = any(word.startswith("Not shown") for word in words)
    assert omitted == (programs > MAX_ROWS or num_blocks > 32)


def test_bad_traces_and_names() -> None:
    with pytest.raises(ValueError, match="no program of some_launcher touched a cache"):
        access_map(trace(program(index=(0, 0, 0))))
    with pytest.raises(ValueError, match="names has 1 names for 2 sequences"):
        access_map(good(), names=["A"])
