"""What a run weighs, and that small hostile files cannot make it weigh much."""

import gc
import json
import os
import random
import tracemalloc
from pathlib import Path

import pytest

import pagesim
from tests.kernels.children import ROOT, python

EVENTS = int(os.environ.get("PAGESIM_EVENTS", "8000"))
"""`make nightly` has 200,000."""

SHARE = max(1, 80_000 // EVENTS)
"""Bombs, and the bounds that they must not pass, are so many times smaller; whole in the night."""


def long_run(story: pagesim.Story, num_seqs: int) -> pagesim.Timeline:
    """Sequences that arrive with some tokens, grow to some 200, leave, and are replaced."""
    rng = random.Random(0)
    while len(story.run) < EVENTS:
        while len(story.writers) < num_seqs:
            story.arrive(range(rng.randrange(1, 32)))
        for writer in story.writers:
            writer.write([7])
        for writer in story.writers.copy():
            if writer.seq.get_len() > 180 + writer.seq.seq_id % 40:
                writer.leave()
    return story.run


def test_a_long_run() -> None:
    gc.collect()
    tracemalloc.start()
    try:
        story = pagesim.Story(EVENTS // 10, 0, 16)
        run = long_run(story, EVENTS // 160)
        run.at(len(run))
        run.at(len(run) // 2)
        del story
        gc.collect()
        files = tracemalloc.Filter(True, str(ROOT / "pagesim" / "*"))  # engines make rows
        snapshot = tracemalloc.take_snapshot().filter_traces([files])
    finally:
        tracemalloc.stop()
    seen = sum(statistic.size for statistic in snapshot.statistics("filename"))
    assert seen / len(run) < 500
    assert run.nbytes == pytest.approx(seen, rel=0.25)


def test_bombs(tmp_path: Path) -> None:
    """Each is an error or a run; its process may use few addresses, and tells its peak."""
    pytest.importorskip("resource", reason="memory limits need a Unix")
    child = python(str(Path(__file__).with_name("bombs.py")), str(tmp_path), str(SHARE))
    assert child.returncode == 0, child.stderr[-2000:]
    answer = json.loads(child.stdout)
    texts = answer["message"].items()
    message = {name: text.rpartition("bomb.jsonl.gz:")[2] for name, text in texts}
    runs = {name for name, text in message.items() if text.endswith(" events")}
    assert runs == {
        *("as many blocks as may be", "a huge pool and a long run", "line after line of nothing")
    }
    assert message["an endless line"].startswith("1: longer than ")
    assert message["an endless line after the header"].startswith("2: longer than ")
    assert message["too many blocks"].startswith("1: more than ")
    lines = [text for name, text in message.items() if "a line of" in name]
    assert len(lines) == 4 and all(text.startswith("2: not JSON") for text in lines)
    assert max(answer["peaks"].values()) < 100 + 1100 // SHARE, answer["peaks"]
