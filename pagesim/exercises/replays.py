"""Runs of answers to the first chapters' exercises: a table is a place in the pool, acts happen."""

from __future__ import annotations

from typing import Any

from pagesim.errors import UsageError
from pagesim.exercises.acts import perform
from pagesim.exercises.case import Case
from pagesim.exercises.stage import placed_together
from pagesim.story import Story
from pagesim.timeline.run import Timeline


def tables(_: Any, case: Case, yours: Any) -> Timeline:
    """0.1: both sentences in the blocks of the answer's tables."""
    lengths = [len(sentence.split()) for sentence in case.args[:2]]
    block_size = case.args[3]
    if [len(table) for table in yours[:2]] != [-(-length // block_size) for length in lengths]:
        raise UsageError("a sequence cannot have blocks that it does not need, or too few")
    return placed_together(yours[:2], lengths, block_size).annotate(title="With your tables")


def acts(_: Any, case: Case, yours: Any) -> Timeline:
    """5.3: the story of the answer, as a sound manager has it."""
    story = Story(gpu_blocks=64, block_size=case.args[1])
    perform(yours[0], story)
    return story.run.annotate(title="Your story, without a fault")
