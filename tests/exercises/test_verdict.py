"""How a verdict looks, in a terminal and in a notebook."""

import html
import re
from dataclasses import replace

import pytest

from pagesim import exercises
from pagesim.exercises import source
from pagesim.exercises.case import Case
from pagesim.exercises.exercise import Exercise
from pagesim.exercises.guard import Answer
from pagesim.exercises.kit import placed
from pagesim.exercises.problem import LEFT_IN
from pagesim.timeline import Timeline
from tests.exercises.answers import blank, needs

SLOTS = exercises.get("2.1")
CASE = Case(([1], 1, 1))


def judged(answer: Answer, exercise: Exercise = SLOTS) -> str:
    verdict = exercise.judge(CASE, answer)
    assert verdict is not None and not verdict
    return str(verdict)


def test_a_wrong_answer_in_a_terminal() -> None:
    assert str(SLOTS.check(SLOTS.wrong["logical_for_physical"])) == (
        "2.1 Slots: wrong\n"
        "  case:     table = [1], num_tokens = 1, block_size = 1\n"
        "  yours:    [0]\n"
        "  expected: [1]\n"
        "  why:      Token 0 is in logical block 0, at offset 0. The table puts this block into "
        "physical block 1, so the slot is 1 * 1 + 0 = 1.\n"
        '  step through it in a notebook, or write a page: .pair.to_html("run.html")'
    )


def test_a_right_answer() -> None:
    verdict = SLOTS.check(SLOTS.reference)
    assert re.fullmatch(r"2\.1 Slots: right \(\d+ cases\)", str(verdict))
    said = verdict._repr_html_()
    assert 'data-right="true"' in said and "#009E73" in said and "<iframe" not in said
    assert verdict.run is None


def test_a_wrong_answer_in_a_notebook() -> None:
    verdict = SLOTS.check(SLOTS.wrong["logical_for_physical"])
    said = verdict._repr_html_()
    assert 'data-right="false"' in said and "#009E73" not in said.split("<iframe")[0]
    places = [said.index(text) for text in ("yours", "[0]</pre>", "expected", "[1]</pre>")]
    assert places == sorted(places)
    assert said.count("<iframe") == 1 and verdict.run is not None
    assert [table.block_ids for table in verdict.run.at(-1).tables.values()] == [(1,)]


def test_nothing_that_a_student_returns_or_prints_becomes_markup() -> None:
    bad = "</pre><script>alert(1)</script>"
    verdict = SLOTS.judge(CASE, Answer(bad, printed=bad))
    said = replace(verdict, play=None, words=bad, why=bad)._repr_html_()
    assert "<script" not in said and said.count(html.escape(bad)) == 4


def test_what_is_not_written_is_neither_wrong_nor_given_away() -> None:
    verdict = SLOTS.check(blank)
    assert not verdict and verdict.tried == 0 and verdict.run is None
    assert str(verdict) == "2.1 Slots: not written yet"
    said = verdict._repr_html_()
    assert "not written yet" in said and "expected" not in said and "#D55E00" not in said


GATHER = exercises.get("5.4")
LATE = GATHER.solution.replace("inside)\n\n", "inside)\n    raise NotImplementedError()\n\n")


@pytest.mark.parametrize(
    ("number", "text", "said"),
    [
        ("2.2", "{stub}", "not written yet"),
        ("2.2", "x = 1\n# a note\n{stub}", "not written yet"),
        ("2.2", "def needs_a_block(a, b):\n    a % b\n    raise NotImplementedError()", LEFT_IN),
        ("2.2", "def needs_a_block(a, b):\n    raise NotImplementedError(1)", "Error: 1"),
        ("5.4", "{stub}", "not written yet"),
        ("5.4", LATE, LEFT_IN),
        ("2.5", exercises.get("2.5").solution + "    raise NotImplementedError()\n", LEFT_IN),
    ],
)
def test_a_stub_s_line_that_is_left_in_a_finished_answer(number: str, text: str, said: str) -> None:
    exercise = exercises.get(number)
    needs(exercise)
    cell = source.Cell(text.replace("{stub}", exercise.stub), exercise.name)
    assert said in str(exercise.check(cell))


def test_problems_are_told_in_place_of_a_value() -> None:
    said = judged(Answer(problem="SystemExit: 3", printed="a\nb\n"))
    assert "  yours:    SystemExit: 3\n  expected: [1]\n" in said and "why:" not in said
    assert "  printed:  a\n            b\n" in said


def test_a_right_value_with_a_problem_is_wrong() -> None:
    assert SLOTS.judge(CASE, Answer([1])) is None
    assert "  yours:    The function changed" in judged(Answer([1], "The function changed it."))


def test_kinds_and_nan_are_named_before_the_rule() -> None:
    nan = float("nan")
    assert "why:      The answer is None: is a return missing?" in judged(Answer(None))
    assert "The answer must be a list, not an int." in judged(Answer(1))
    assert "The answer must be a list, not a generator." in judged(Answer(i for i in [1]))
    assert "Element 0 must be an int, not a bool." in judged(Answer([True]))
    assert "Element 0 must be an int, not a float." in judged(Answer([nan]))
    floats = replace(SLOTS, expected=lambda *_: [1.0], why=lambda *_: "The rule.")
    assert "Your result contains NaN. The rule." in judged(Answer([nan]), floats)


def test_where_a_long_answer_differs_is_named() -> None:
    long = Case((list(range(9)), 90, 10))
    verdict = SLOTS.judge(long, Answer([*range(89), 0]))
    assert verdict is not None and (verdict.yours, verdict.expected) == ("… [0]", "… [89]")
    why = "The first difference is at [89]: yours is 0, right is 89. Token 89 is in logical"
    assert verdict.why.startswith(why)


def test_an_answer_of_another_shape_never_breaks_the_check() -> None:
    def fails(*_: object) -> str:
        raise IndexError

    odd = replace(SLOTS, why=fails, same=fails)
    assert "does not have the right shape" in judged(Answer([1, 2]), odd)
    recursive: list[object] = []
    recursive.append(recursive)
    assert SLOTS.check(lambda *_: recursive).yours.startswith("RecursionError")


def test_a_run_is_made_only_when_it_is_looked_at() -> None:
    seen: list[Case] = []

    def play(case: Case) -> Timeline:
        seen.append(case)
        return placed([1], 1, 1)

    verdict = replace(SLOTS, play=play).judge(CASE, Answer([0]))
    assert verdict is not None and not seen
    assert str(verdict) and seen == [CASE]
    assert verdict.run is not None and verdict.run.notes.title == "Slots: what vLLM does"
