"""Runs of answers to the first chapters' exercises: a table is a place in the pool, acts happen."""

from __future__ import annotations

from typing import Any

from pagesim.errors import UsageError
from pagesim.exercises.acts import perform
from pagesim.exercises.case import Case
from pagesim.exercises.stage import placed, placed_together
from pagesim.story import Story
from pagesim.timeline.pair import Compared, compare
from pagesim.timeline.run import Timeline


def tables(_: Any, case: Case, yours: Any) -> Timeline:
    """0.1: both sentences in the blocks of the answer's tables."""
    lengths = [len(sentence.split()) for sentence in case.args[:2]]
    block_size = case.args[3]
    if [len(table) for table in yours[:2]] != [-(-length // block_size) for length in lengths]:
        raise UsageError("a sequence cannot have blocks that it does not need, or too few")
    return placed_together(yours[:2], lengths, block_size).annotate(title="With your tables")


def slots(_: Any, case: Case, yours: list[int]) -> Timeline:
    """2.1: the tokens in these slots, if they are those of a table."""
    _, num_tokens, block_size = case.args
    table = [slot // block_size for slot in yours[::block_size]]
    if [table[p // block_size] * block_size + p % block_size for p in range(num_tokens)] != yours:
        raise UsageError("no table has its tokens in these slots")
    return placed(table, num_tokens, block_size).annotate(title="With your slots")


def acts(_: Any, case: Case, yours: Any) -> Timeline:
    """5.3: the story of the answer, as a sound manager has it."""
    story = Story(gpu_blocks=64, block_size=case.args[1])
    perform(yours[0], story)
    return story.run.annotate(title="Your story, without a fault")


def streams(_: Any, case: Case, yours: Any) -> Compared:
    """1.3: the beginning of the stream, under both policies."""
    from pagesim.exercises.ch01.streams import ROWS, _simulated

    wanted, block_size = case.args
    pool, longest, requests = yours["stream"]
    names = ("max", "paged") if wanted == ROWS else ("oracle", "pow2")
    both = (_simulated(name, pool, longest, requests, block_size, record=True) for name in names)
    one, other = (simulated.timeline[:300] for simulated in both)
    return compare(one, other, (f"Your stream: {names[0]}", names[1]))
