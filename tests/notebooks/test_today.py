"""The boxes about today's vLLM: three sentences and a run, and the run shows what they say."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout

import pytest

import pagesim
from pagesim.v1 import KVCacheManager, Request
from tests.notebooks.chapters import chapter, printed
from tests.notebooks.test_frame import NAMES

# Chapter, what the box says, and what its run prints that shows it.
SAID = [
    ("02", "block 0 is never handed out", r"table of s0: \[1, 2, 3\]"),
    ("02", "to its front, as here, if it was not full", r"free queue: +3 4 5 6 7 "),
    ("02", "goes to the *back*", r" 2 1$"),
    ("02", "from their last block to their first", r" 2 1$"),
    ("05", "gives them the same *full* blocks", r"table \[(\d), \d\], 0 .*\n.*table \[\1, \d\]"),
    ("05", "a partial block at the end of the prompt is computed", r"4 of the prompt's 7 tokens"),
    ("05", "neither forks nor copy-on-write", r"^V1 has no forks and copies no blocks"),
    ("06", "one pool, on the GPU, and no queue `swapped`", r"^pools: GPU +queues: waiting running"),
    ("06", "gives up its blocks and is computed again", r"preempted: 1\ntokens of s1 .*: 10$"),
    ("06", "no other request has taken", r"found again in the cache: +8$"),
    ("07", "no separate prefill and decode", r"step 1: tokens computed {'s0': 5, 's1': 6}"),
    ("07", "fits into its own last block", r"step 2: .* 's1': 1}, free blocks 0, waiting 0$"),
    ("09", "none is given up for another", r"s0: \[1, 2, 3\](?:.*\n)+table of s2: \[1, 5\]"),
    ("09", "at least one token of a prompt is always computed", r"s1: \[1, 4\], 4 tokens"),
]


@pytest.mark.parametrize("number", sorted({number for number, *_ in SAID}))
def test_a_box_is_short_and_its_run_is_of_v1(number: str) -> None:
    cells = {cell.id: cell for cell in chapter(number).cells}
    text = cells["today-md"].source
    assert text.startswith("### And in today's vLLM\n")
    sentences = re.sub(r"\(Release.*\)", "", " ".join(text.split()))
    assert 3 <= len(re.findall(r"\.(?= |$)", sentences)) <= 4
    assert "(11_vllm_today.ipynb)" in text and "0.33.0" in text
    assert set(re.findall(r"`(vllm/\S+)`", text)) <= NAMES["0.33.0"].keys()
    shown = io.StringIO()
    with redirect_stdout(shown):
        exec(cells["today"].source, {"pagesim": pagesim, "BLOCK_SIZE": 4})
    assert shown.getvalue() == printed(cells["today"])
    assert len(cells["today"].source.splitlines()) <= 16


@pytest.mark.parametrize(("number", "sentence", "shown"), SAID)
def test_what_a_box_says_is_shown(number: str, sentence: str, shown: str) -> None:
    cells = {cell.id: cell for cell in chapter(number).cells}
    assert sentence in " ".join(cells["today-md"].source.split())
    assert re.search(shown, printed(cells["today"]), re.MULTILINE)


def test_what_the_boxes_say_of_defaults() -> None:
    """Caching on, watermark 0, hits that count at once, a digest of 256 bits."""
    manager = KVCacheManager(9, 4, 64)
    assert manager.enable_caching and manager.watermark_blocks == 0
    first, second = (Request(number, range(9), block_size=4) for number in (0, 1))
    manager.allocate_slots(first, 9)  # scheduled, and not computed
    assert manager.get_computed_blocks(second)[1] == 8
    assert {len(each) for each in first.block_hashes} == {32}
