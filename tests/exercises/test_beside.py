"""The counterexample in the player: at the step that matters, beside the learner's own run."""

import os
import random
from dataclasses import replace
from typing import Any

import pytest

import pagesim
from pagesim import exercises
from pagesim.exercises.beside import parting_step
from pagesim.exercises.ch09.project_run import TheirPlayer, recorded
from pagesim.exercises.exercise import Exercise
from pagesim.exercises.guard import Answer
from pagesim.exercises.verdict import Verdict
from pagesim.timeline.display import still_picture
from pagesim.timeline.file import pieces
from tests.exercises.answers import needs
from tests.exercises.test_shrink import smallest_of
from tests.timeline.scenes import told

PAIRED = [exercise for exercise in exercises.all() if exercise.replay]
ADMIT, PROJECT = exercises.get("7.1"), exercises.get("9.5")


MOST = None if "PAGESIM_ANSWERS" in os.environ else 2
"""Wrong answers of an exercise that are played: `make nightly` plays all."""


def wrong_verdicts(exercise: Exercise) -> list[Verdict]:
    return [smallest_of(exercise, wrong) for wrong in [*exercise.wrong.values()][:MOST]]


def test_where_two_runs_part() -> None:
    def story(*words: str) -> pagesim.Timeline:
        return told(*words, gpu_blocks=6, block_size=2)

    run = story("a", "b c d", "e")
    assert parting_step(run, story("x", "y z w", "e")) is None, "words are not places"
    assert parting_step(run, story("a", "b", "e")) == 2
    assert parting_step(run, story("a", "b c d")) == 3 == parting_step(story("a", "b c d"), run)
    assert parting_step(run, told(gpu_blocks=7, block_size=2)) is None, "another pool"


def test_what_is_scheduled_counts() -> None:
    from pagesim.exercises.ch07.serving import ServingScheduler, add

    runs = []
    for tokens in (3, 4):
        scheduler = ServingScheduler(4)
        with pagesim.record(scheduler) as run:
            add(scheduler, 0, tokens)
            scheduler.schedule()
        runs.append(run)
    assert runs[0][-1].kind == "schedule" and parting_step(*runs) == len(runs[0])


def test_an_answer_with_a_problem_or_a_replay_that_meddles() -> None:
    def meddles(waiting: list[int], *args: int) -> list[int]:
        waiting.append(1)
        return []

    verdict = ADMIT.check(meddles)
    assert "changed its argument" in verdict.yours and verdict.pair is None

    def spoils(_: Any, case: Any, yours: Any) -> None:
        case.args[0].clear()

    verdict = replace(ADMIT, replay=spoils).check(lambda *args: ["?"])
    assert verdict.case is not None and verdict.pair is None and verdict.case.args[0]


def test_the_still_picture_is_of_the_step_that_is_opened() -> None:
    verdict = ADMIT.check(ADMIT.wrong["overtaking"])
    assert verdict.run is not None and len(verdict.run) > 1
    pictures = {still_picture(verdict.run.annotate(opens=step)) for step in (1, len(verdict.run))}
    assert len(pictures) == 2


def test_enough_exercises_show_the_answer_itself() -> None:
    assert len(PAIRED) >= 10


@pytest.mark.parametrize("exercise", PAIRED, ids=lambda e: e.number)
def test_both_runs_open_where_they_part(exercise: Exercise) -> None:
    pairs = 0
    for verdict in wrong_verdicts(exercise):
        if verdict.pair is None:
            assert verdict.run.notes.opens == len(verdict.run)
            continue
        pairs += 1
        one, other = verdict.pair.runs
        assert one is not other
        step = parting_step(one, other)
        for run in (one, other):
            assert run.notes.opens == (len(run) if step is None else min(step, len(run)))
        if pairs == 1:  # a page takes its time
            assert verdict._repr_html_().count("<iframe") == 1
        assert ".pair.to_html" in str(verdict)
    assert pairs or exercise.number == "0.1"


@pytest.mark.parametrize(
    "exercise", [e for e in exercises.all() if e.play and not e.replay], ids=lambda e: e.number
)
def test_without_the_answers_run_the_last_step_is_shown(exercise: Exercise) -> None:
    needs(exercise)
    verdict = smallest_of(exercise, next(iter(exercise.wrong.values())))
    assert verdict.pair is None and verdict.run.notes.opens == len(verdict.run)
    header = next(iter(pieces(verdict.run))).decode()
    assert f'"opens":{len(verdict.run)}' in header


def test_the_learners_admissions_are_played() -> None:
    """7.1: the wrong answer passes over the prompt that must wait."""
    verdict = smallest_of(ADMIT, ADMIT.wrong["overtaking"])
    right, yours = verdict.pair.runs
    expected = ADMIT.expected(*verdict.case.args)
    for run, places in ((right, expected), (yours, verdict.answer)):
        scheduled = [each.request for i in run.find(kind="schedule") for each in run[i].scheduled]
        assert [int(name) for name in scheduled] == list(places)


def test_an_answer_that_is_no_run_leaves_the_right_one_alone() -> None:
    for value in ([99], ["x"], [0, 0], [-5], None, 3.5, [[0]]):
        case = next(iter(ADMIT.cases(random.Random(0), False)))
        verdict = ADMIT.judge(case, Answer(value))
        assert verdict is not None and verdict.run is not None
        assert verdict.pair is None and "<iframe" in verdict._repr_html_()


def test_a_problem_is_not_played() -> None:
    verdict = PROJECT.check(lambda *args: 1 / 0)
    assert verdict.yours.startswith("ZeroDivisionError") and verdict.pair is None


def test_the_students_manager_is_told_of_as_vllms_is() -> None:
    for hidden in (False, True):
        for case in PROJECT.cases(random.Random(1), hidden):
            theirs = recorded(TheirPlayer(PROJECT.reference, noted=True), *case.args)
            vllm = PROJECT.play(case)
            assert len(vllm) == len(theirs) and parting_step(vllm, theirs) is None
            for one, other in zip(vllm, theirs, strict=True):
                for part in ("tokens", "opened", "closed"):
                    assert getattr(one, part) == getattr(other, part)
                assert sorted(map(str, one.effects)) == sorted(map(str, other.effects))


def test_a_wrong_manager_parts_at_its_operation() -> None:
    verdict = PROJECT.check(PROJECT.wrong["freed_first_to_last"])
    right, yours = verdict.pair.runs
    step = right.notes.opens
    assert step is not None and right[step - 1].kind == yours[step - 1].kind == "free"
    assert right.at(step).lists != yours.at(step).lists
    assert right.at(step - 1).lists == yours.at(step - 1).lists
