"""The final project: its example is true, and what is said of a wrong manager names the cause."""

from typing import Any

import pytest

from pagesim import exercises
from pagesim.exercises.source import rewritten, text
from pagesim.v1 import BlockPool, Request

PROJECT = exercises.get("9.5")


def test_the_example_of_the_statement() -> None:
    pool = BlockPool(8, True, 4)
    tables, computed, allocate, _ = PROJECT.reference(pool, 4, 96, 0)
    a, b = (Request(name, range(6), block_size=4) for name in "ab")

    def ids(blocks: Any) -> list[int]:
        return [block.block_id for block in blocks]

    assert ids(allocate(a, 6, [], 0, False, 0, False)) == [1, 2] == ids(tables["a"])
    assert [block.block_id for block in pool.blocks if block.block_hash is not None] == [1]
    hits = computed(b)
    assert ids(hits) == [1]
    assert ids(allocate(b, 2, hits, 0, False, 0, True)) == [3] and ids(tables["b"]) == [1, 3]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("min(end, request.num_tokens)", "min(end + lookahead, request.num_tokens)", "cached is"),
        ("(request.num_tokens - 1)", "request.num_tokens", "returned is"),
        ("tables.pop(request.request_id, [])[::-1]", "tables.pop(request.request_id, [])", "free"),
    ],
)
def test_a_wrong_manager_is_told_what_differs_first(old: str, new: str, why: str) -> None:
    right = text(PROJECT.reference)
    assert right.count(old) == 1
    verdict = PROJECT.check(rewritten(PROJECT.reference, right.replace(old, new)))
    assert not verdict and why in verdict.why and "shape" not in verdict.why


def test_hits_that_are_taken_as_new_blocks_are_shown_in_a_scene() -> None:
    verdict = PROJECT.check(PROJECT.wrong["takes_before_it_touches"])
    assert verdict.case is not None and len(verdict.case.args[1]) < 12
    assert "before new blocks are taken" in verdict.why
