"""The boxes about today's vLLM: each has a run, and the run shows what it says."""

import io
import re
from contextlib import redirect_stdout

import pytest

import pagesim
from pagesim.v1 import KVCacheManager, Request
from tests.notebooks.chapters import chapter, printed
from tests.notebooks.test_frame import NAMES

# Chapter, and what the run of its box prints: what the box says is seen there.
SHOWN = [
    ("02", r"table of s0: \[1, 2, 3\]\nfree queue: +3 4 5 6 7 2 1$"),
    ("04", r"table \[(\d), \d\], 0 .*\n.*table \[\1, \d\], 4 of the prompt's 7 tokens"),
    ("04", r"^V1 has no forks and copies no blocks"),
    ("05", r"^pools: GPU +queues: waiting running +preempted: 1\ntokens of s1 .*: 10$"),
    ("05", r"found again in the cache: +8$"),
    ("06", r"s0: \[1, 2, 3\](?:.*\n)+table of s2: \[1, 5\]"),
    ("06", r"s1: \[1, 4\], 4 tokens"),
    ("07", r"step 1: tokens computed {'s0': 5, 's1': 6}"),
    ("07", r"step 2: .* 's1': 1}, free blocks 0, waiting 0$"),
]


@pytest.mark.parametrize("number", sorted({number for number, _ in SHOWN}))
def test_a_box_is_of_today_and_its_run_is_of_v1(number: str) -> None:
    cells = {cell.id: cell for cell in chapter(number).cells}
    text = cells["today-md"].source
    assert text.startswith("### In today's vLLM\n") and "0.33.0" in text
    assert re.search(r"\((?:09_the_free_queue|10_a_step_ahead)\.ipynb\)", text)
    assert set(re.findall(r"`(vllm/\S+\.py)`", text)) <= NAMES["0.33.0"].keys()
    shown = io.StringIO()
    with redirect_stdout(shown):
        exec(cells["today"].source, {"pagesim": pagesim, "BLOCK_SIZE": 4})
    assert shown.getvalue() == printed(cells["today"])
    assert len(cells["today"].source.splitlines()) <= 16


@pytest.mark.parametrize(("number", "shown"), SHOWN)
def test_what_a_box_says_is_shown(number: str, shown: str) -> None:
    cells = {cell.id: cell for cell in chapter(number).cells}
    assert re.search(shown, printed(cells["today"]), re.MULTILINE)


def test_what_the_boxes_say_of_defaults() -> None:
    """Caching on, watermark 0, hits that count at once, a digest of 256 bits."""
    manager = KVCacheManager(9, 4, 64)
    assert manager.enable_caching and manager.watermark_blocks == 0
    first, second = (Request(number, range(9), block_size=4) for number in (0, 1))
    manager.allocate_slots(first, 9)  # scheduled, and not computed
    assert manager.get_computed_blocks(second)[1] == 8
    assert {len(each) for each in first.block_hashes} == {32}
