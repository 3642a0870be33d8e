"""The start logs of exercise 8.2: what they say of themselves is within what is computed."""

import pytest

import pagesim
from pagesim.exercises.ch08.logs import LOGS, read, without_the_answer
from pagesim.exercises.ch08.read_the_log import model_of

pytestmark = pytest.mark.ch08


@pytest.mark.parametrize("log", LOGS)
def test_the_line_of_a_log_is_among_the_blocks_that_its_memory_means(log: str) -> None:
    found = read(log)
    low, high = found.usable(**model_of(log))
    assert low <= found.blocks - (found.engine == "v1") <= high < low + 30
    longest = int(log.split("max_seq_len=")[1].partition(",")[0])
    assert f"{16 * found.blocks / longest:.2f}x" in log


@pytest.mark.parametrize("log", LOGS)
def test_the_student_does_not_see_the_answer(log: str) -> None:
    shown = without_the_answer(log)
    assert read(shown).blocks is None
    assert "blocks:" not in shown and "tokens" not in shown


@pytest.mark.parametrize(
    ("line", "blocks"),
    [
        ("the memory reserved for KV Cache is 61.84GiB.\n# cuda blocks: 36184, #", 36184),
        ("INFO [gpu_worker.py] Available KV cache memory: 8.11 GiB\nnothing else", None),
    ],
)
def test_lines_of_other_releases(line: str, blocks: int | None) -> None:
    assert read(line).blocks == blocks


def test_a_log_without_memory_is_refused() -> None:
    with pytest.raises(pagesim.UsageError, match="how much memory"):
        read("# GPU blocks: 12")
