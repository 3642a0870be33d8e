"""A call that runs out of blocks changes nothing, whichever way it was half-way through.

Every scene is tried with 0, 1, … free blocks, until it succeeds.
"""

from __future__ import annotations

import pytest

from pagesim import NoFreeBlocksError
from tests.v0.block.scarce_calls import SCENES, Build
from tests.v0.block.scenes import KINDS, SUPPLIES
from tests.v0.block.state import without_identities

pytestmark = pytest.mark.ch02

CASES = [
    pytest.param(build, kind, supply, id=f"{build.__name__}-{kind}-{supply}")
    for build in SCENES
    for kind in KINDS
    for supply in SUPPLIES[kind]
]


def free_blocks_needed(build: Build, kind: str, supply: str) -> int:
    """The smallest number of free blocks with which a fresh scene succeeds."""
    for num_free in range(24):
        scene = build(kind)
        scene.leave_free(num_free, supply)
        try:
            scene.call()
        except NoFreeBlocksError:
            continue
        return num_free
    raise AssertionError("the call fails with every number of free blocks")


@pytest.mark.parametrize(("build", "kind", "supply"), CASES)
def test_the_scene_needs_as_many_blocks_as_we_think(build: Build, kind: str, supply: str) -> None:
    assert free_blocks_needed(build, kind, supply) == SCENES[build][KINDS.index(kind)]


@pytest.mark.parametrize(("build", "kind", "supply"), CASES)
def test_a_call_that_runs_out_of_blocks_changes_nothing(
    build: Build, kind: str, supply: str
) -> None:
    for num_free in range(free_blocks_needed(build, kind, supply)):
        scene = build(kind)
        scene.leave_free(num_free, supply)
        before = scene.state()
        with pytest.raises(NoFreeBlocksError) as caught:
            scene.call()
        assert type(caught.value) is NoFreeBlocksError
        assert scene.state() == before, f"with {num_free} free blocks"


@pytest.mark.parametrize(("build", "kind", "supply"), CASES)
def test_a_failed_call_leaves_no_trace_in_the_next_one(
    build: Build, kind: str, supply: str
) -> None:
    for num_free in range(free_blocks_needed(build, kind, supply)):
        failed, fresh = build(kind), build(kind)
        for scene in (failed, fresh):
            scene.leave_free(num_free, supply)
        with pytest.raises(NoFreeBlocksError):
            failed.call()
        for scene in (failed, fresh):
            scene.release_held()
        assert failed.call() == fresh.call()
        assert without_identities(failed.state()) == without_identities(fresh.state())
