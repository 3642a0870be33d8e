"""Runs of answers to the first chapters' exercises: a table is a place in the pool."""

from __future__ import annotations

from typing import Any

from pagesim.errors import UsageError
from pagesim.exercises.case import Case
from pagesim.exercises.stage import placed_together
from pagesim.timeline.run import Timeline


def tables(_: Any, case: Case, yours: Any) -> Timeline:
    """0.1: both sentences in the blocks of the answer's tables."""
    lengths = [len(sentence.split()) for sentence in case.args[:2]]
    block_size = case.args[3]
    if [len(table) for table in yours[:2]] != [-(-length // block_size) for length in lengths]:
        raise UsageError("a sequence cannot have blocks that it does not need, or too few")
    return placed_together(yours[:2], lengths, block_size).annotate(title="With your tables")
