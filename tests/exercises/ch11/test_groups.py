"""The exercises on several kinds of memory: examples are true, and verdicts name the cause."""

import random

import pytest

from pagesim import exercises
from pagesim.exercises.ch11 import aligned_block, hit_of_all, past_null_blocks, tables_after
from pagesim.exercises.exercise import Exercise
from tests.exercises.answers import needs

pytestmark = pytest.mark.ch11

HITS, BLOCK, TABLES, KERNEL = (exercises.get(f"11.{place}") for place in range(1, 5))


@pytest.mark.parametrize(
    ("num_tokens", "groups", "found"),
    [
        (13, [(None, "111"), (9, "011")], 12),
        (13, [(None, "111"), (9, "101")], 4),
        (25, [(None, "111111"), (9, "101110"), (13, "111011")], 4),
    ],
)
def test_the_examples_of_the_statement_and_of_the_chapter(
    num_tokens: int, groups: list[tuple[int | None, str]], found: int
) -> None:
    given = [hit_of_all.group(*each) for each in groups]
    assert HITS.reference(num_tokens, given, 4) == found == HITS.expected(num_tokens, given, 4)


def test_the_manager_finds_the_longest_hit_that_is_possible_in_every_group() -> None:
    for case in hit_of_all.cases(random.Random(5), True):
        num_tokens, groups, size = case.args
        possible = [
            hit
            for hit in range(0, num_tokens, size)
            if all(
                all(cached[block] for block in hit_of_all.needed(hit, window, size))
                for window, cached in groups
            )
        ]
        assert HITS.expected(*case.args) == max(possible)


@pytest.mark.parametrize(
    ("sizes", "tokens", "percent"),
    [
        ((1000, 10, 16, 16), 112, 12.0),
        ((2_146_304, 4096, 16, 16), 528, 0.76),
        ((2_146_304, 2048, 16, 16), 1056, 0.76),
        ((4_268_032, 2048, 16, 16), 2096, 0.58),
        ((4_268_032, 1024, 16, 16), 4176, 0.19),
        ((2_146_304, 2048, 16, 512), 1536, 46.56),
    ],
)
def test_blocks_of_models(sizes: tuple[int, ...], tokens: int, percent: float) -> None:
    assert aligned_block.oracle(*sizes) == (tokens, pytest.approx(percent, abs=0.006))
    assert aligned_block.same(BLOCK.reference(*sizes), aligned_block.oracle(*sizes))


def test_the_example_of_tables() -> None:
    given = [None, 5], [8, 1], 9, 4
    right = [[1, 2, 3], [0, 4, 5]], [6, 7, 8]
    assert TABLES.reference(*given) == right == TABLES.expected(*given)


def test_every_case_has_room_in_the_pool() -> None:
    """A step that is refused would leave its tokens without slots."""
    for hidden in (False, True):
        for case in tables_after.cases(random.Random(0), hidden):
            _, steps, _, size = case.args
            tables, _ = TABLES.expected(*case.args)
            assert all(len(table) == -(-sum(steps) // size) for table in tables)


@pytest.mark.parametrize(("exercise", "kind"), [(HITS, "hit"), (TABLES, "null")])
def test_a_wrong_answer_is_played_group_by_group(exercise: Exercise, kind: str) -> None:
    *_, wrong = exercise.wrong.values()
    verdict = exercise.check(wrong)
    assert verdict.run is not None
    effects = [effect for event in verdict.run for effect in event.effects]
    assert kind in {effect.kind for effect in effects}
    assert len({effect.table for effect in effects if effect.kind == "write"}) == 2


@pytest.mark.parametrize(
    ("number", "name", "said"),
    [
        ("11.1", "all_of_it", "nothing to sample from"),
        ("11.1", "each_on_its_own", "block 0 is not cached"),
        ("11.1", "like_full_attention", "a window of 4 needs blocks 1 to 2"),
        ("11.2", "rounded_down", "does not fit"),
        ("11.2", "no_multiple", "multiple of 16"),
        ("11.2", "of_the_block", "the state's 373 bytes"),
        ("11.3", "its_own_token_too", "still needs is entry 1"),
        ("11.3", "to_the_back", "to the front of the queue"),
    ],
)
def test_the_verdict_names_the_cause(number: str, name: str, said: str) -> None:
    exercise = exercises.get(number)
    verdict = exercise.check(exercise.wrong[name])
    assert not verdict and said in verdict.why


@pytest.mark.parametrize(
    ("name", "said"), [("begins_at_0", "-inf minus -inf"), ("rounded_up", "2 of its 4 tokens")]
)
def test_a_kernel_is_told_what_it_read(name: str, said: str) -> None:
    needs(KERNEL)
    assert said in KERNEL.check(KERNEL.wrong[name]).why


def test_only_a_null_block_lies_before_a_window() -> None:
    """As vLLM's tables are: what is still seen has a block, and all before it is 0."""
    for hidden in (False, True):
        for case in past_null_blocks.cases(random.Random(0), hidden):
            tables, lengths, size, window = case.args
            for table, length in zip(tables, lengths, strict=True):
                unseen = max(length - window, 0) // size
                assert [block == 0 for block in table] == [
                    entry < unseen for entry in range(-(-length // size))
                ]
