"""The report: the better mark counts, strangers' names do no harm, two runs are the same."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pagesim.exercises import all as exercises
from pagesim.exercises import get, grading
from pagesim.exercises.grading import grade, report
from pagesim.exercises.grading.marking import Mark, Marked, clean
from pagesim.exercises.grading.sandbox import TAKEN
from pagesim.exercises.grading.scan import flags
from pagesim.exercises.grading.submissions import Cell, Handed, find
from tests.exercises.grading.loaded import RIGHT, ends_the_grader, is_never_done

pytestmark = pytest.mark.ch02

WRONG = Mark("2.1", 0, 1, "2.1 Slots: wrong")


def marked(student: str, *marks: Mark, problem: str = "", name: str = "ex02.py") -> Marked:
    taken = tuple(TAKEN) if marks else ()
    return Marked(Handed(student, Path(student) / name), marks, problem, (), taken)


def made(*files: Marked) -> report.Report:
    return report.make(files, exercises(), 0)


def test_the_better_of_two_marks_counts() -> None:
    (student,) = made(marked("ann", RIGHT, name="a.py"), marked("ann", WRONG, name="b.py")).students
    assert (student.points, student.marks["2.1"]) == (1, RIGHT)


def test_chapters_that_were_handed_in_count() -> None:
    two = [e for e in exercises() if e.chapter == 2]
    found = made(marked("ann", RIGHT), marked("bob", problem="not JSON"))
    assert (list(found.exercises), found.of) == (two, sum(e.points for e in two))
    assert not found.ok and made(marked("ann", RIGHT)).ok


def test_the_table_has_a_row_a_student_and_the_feedback_below() -> None:
    text = made(marked("bob", WRONG), marked("ann", RIGHT), marked("eve", problem="x")).text()
    lines = text.splitlines()
    others = ["-"] * (sum(e.chapter == 2 for e in exercises()) - 1)
    assert [line.split() for line in lines if line[:4] in ("ann ", "bob ", "eve ")] == [
        ["ann", "1", *others, "1"],
        ["bob", "0", *others, "0"],
        ["eve", "-", *others, "0"],
    ]
    assert lines[-5:] == ["bob", "  2.1 Slots: wrong", "", "eve", "  not graded: ex02.py: x"]


def test_the_header_says_what_is_left() -> None:
    everything = made(marked("ann", RIGHT))
    assert "LEFT" not in "\n".join(everything.header)
    mac = Marked(Handed("bob", Path("x")), (WRONG,), "", (), ("writing", "processes"))
    some = made(marked("ann", RIGHT), mac)
    assert some.taken == ("writing", "processes")
    assert "LEFT to submissions: the network; reading files" in some.header[-1]
    assert some.as_dict()["left"] == ["network", "reading", "signals", "memory"]


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "\uff1d1", '"=1', "'=1"]


@pytest.mark.parametrize("name", FORMULAS)
def test_no_name_is_a_formula(name: str) -> None:
    table = made(marked(name, RIGHT, problem="")).csv()
    header, row = csv.reader(io.StringIO(table))
    assert header[:4] == ["student", "points", "of", "ex 2.1"]
    assert (row[1], row[3]) == ("1", "1")
    assert row[0].strip()[:1] not in tuple("=+-@\uff1d\uff0b\uff0d\uff20")
    assert row[0].endswith(clean(name))


def test_text_of_a_stranger_is_printable_and_bounded() -> None:
    assert clean("a\x1b[2Jb\udc80\u202e") == "a\\x1b[2Jb\\udc80\\u202e"
    assert clean("<f at 0x7f12ab>") == "<f>"
    assert len(clean("x" * 10**6)) == 2000


@pytest.mark.usefixtures("forked_pools")
def test_a_class_is_graded_the_same_way_twice(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    group = tmp_path / "class"
    group.mkdir()
    (group / "ann.py").write_text(get("2.1").solution)
    (group / "bob.py").write_text("def slots(*_): return [{'b', 'a'}, object]")
    (group / "eve.ipynb").write_text("{")
    (group / "mallory.py").write_text("import os\nos._exit(0)\ndef slots(*_): ...")
    seen: list[int] = []
    first = grade(group, jobs=2, progress=lambda done, of: seen.append(done))
    assert [(s.name, s.points) for s in first.students] == [
        ("ann", 1), ("bob", 0), ("eve", 0), ("mallory", 0),
    ]  # fmt: skip
    assert seen == [1, 2, 3, 4]
    request.getfixturevalue("warm")
    again = report.make([grading._mark(file, 0) for file in find(group)], exercises(), 0)
    assert json.dumps(first.as_dict()) == json.dumps(again.as_dict())
    assert first.text() == again.text() and first.csv() == again.csv()
    assert "There is no function slots. the file: Its process ended itself (exit code 0)." in (
        first.students[3].marks["2.1"].feedback
    )


@pytest.mark.parametrize(
    ("text", "flag"),
    [
        ("import inspect", "imports inspect"),
        ("from pagesim.exercises.ch02 import slots", "imports pagesim.exercises.ch02"),
        ("from pagesim import exercises\nexercises.get('2.1').reference", "asks for .reference"),
        ("from pagesim.exercises import get\nget('2.1')", "uses get"),
        (
            get("6.2").solution.replace('"""The', '"""My').replace("\n", "\n\n"),
            "6.2 is the package's own solution",
        ),
    ],
)
def test_what_a_teacher_should_look_at_is_flagged(text: str, flag: str) -> None:
    assert flag in flags([Cell(text, "cell 1")], [get("2.1"), get("6.2")])


EVICT = "def evict(cached):\n    evictor = {}()\n    return evictor.evict()[0]\n"


@pytest.mark.parametrize(
    ("text", "flag"),
    [
        (
            f"from pagesim.v0.evictor import LRUEvictor as E\n{EVICT.format('E')}",
            "calls pagesim.v0.evictor.LRUEvictor",
        ),
        (f"import pagesim\n{EVICT.format('pagesim.Story')}", "calls pagesim.Story"),
        (
            f"import pagesim.v0.evictor\n{EVICT.format('pagesim.v0.evictor.LRUEvictor')}",
            "calls pagesim.v0.evictor.LRUEvictor",
        ),
        (f"import pagesim.v1 as new\n{EVICT.format('new.Request')}", "calls pagesim.v1.Request"),
        (
            "def slots(*args):\n    from pagesim import cache\n    return cache.slots_of(*args)",
            "calls pagesim.cache.slots_of",
        ),
        ("from pagesim.cache import slots_of\nslots = slots_of", "calls pagesim.cache.slots_of"),
        ("from pagesim.cache import slots_of as slots", "calls pagesim.cache.slots_of"),
        (
            "from pagesim import kernels\nclass One:\n    f = kernels.reference.gather_attention",
            "calls pagesim.kernels.reference.gather_attention",
        ),
    ],
)
def test_an_answer_that_calls_the_library_is_flagged(text: str, flag: str) -> None:
    called = [f for f in flags([Cell(text, "1")], [get("2.1"), get("6.2")]) if "calls" in f]
    assert called == [flag]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("0.1", "import pagesim\nstory = pagesim.Story(4)\nprint(story.run)"),  # to compare with
        ("7.2", "from pagesim.exercises.ch07.watermark import measure\nprint(measure(0, 0.1))"),
        ("15.4", get("15.4").solution),
        ("8.3", get("8.3").solution.replace("min(found)", "sorted(found)[0]")),
        ("2.1", "from pagesim import UsageError\ndef slots(*args):\n    raise UsageError"),
    ],
)
def test_what_an_exercise_offers_is_not_flagged(number: str, text: str) -> None:
    assert flags([Cell(text, "cell 1")], [get(number)]) == []


def test_a_short_answer_that_anybody_would_write_is_not_flagged() -> None:
    for number in ("2.1", "2.2", "4.1"):  # five statements at most
        exercise = get(number)
        assert flags([Cell(exercise.solution, "cell 1")], [exercise]) == []


def test_what_a_student_begins_with_is_not_flagged() -> None:
    given = "import math\nfrom pagesim.exercises import check, get, hint, progress, solution\n"
    for exercise in exercises():
        assert flags([Cell(given, "cell 1"), Cell(exercise.stub, "cell 2")], [exercise]) == []


@pytest.mark.usefixtures("forked_pools")
@pytest.mark.parametrize("work", [ends_the_grader, is_never_done])
def test_a_file_that_ends_the_grader_is_a_row(work: Callable[[Handed], Marked]) -> None:
    files = [Handed(name, Path(name)) for name in ("ann", "mallory", "zoe")]
    found = grading._marked(files, 2, work)
    assert {marked.handed.student: marked.problem for marked in found} == {
        "ann": "",
        "mallory": "it ended the grader's process",
        "zoe": "",
    }


def test_an_error_of_the_grader_costs_one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grading, "mark", lambda *_: 1 / 0)
    found = grading._mark(Handed("ann", Path("ann")), 0)
    assert found.problem == "the grader failed: ZeroDivisionError: division by zero"
