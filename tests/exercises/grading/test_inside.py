"""Attacks on the grading itself: whatever the process does, it is worth nothing but its answers."""

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from pagesim.exercises import get
from pagesim.exercises.case import Case
from pagesim.exercises.exercise import Exercise
from pagesim.exercises.grading import marking
from pagesim.exercises.grading.marking import Marked
from pagesim.exercises.grading.submissions import Handed
from pagesim.exercises.problem import LEFT_IN

pytestmark = [pytest.mark.ch02, pytest.mark.usefixtures("warm")]

FRAME = """
import json, os, struct
def frame(**message):
    data = json.dumps(message).encode()
    return struct.pack(">I", len(data)) + data
def everywhere(data):
    for descriptor in range(1, 64):
        try:
            os.write(descriptor, data)
        except OSError:
            pass
"""
WRONG = "return [-1] * n"
NIGHTLY = "PAGESIM_GRADE_ALL" in os.environ
MEMORY = "recursion without end"
"""It fills a gigabyte, which takes longer than most attacks together: `make nightly` tries it."""
# name: (cells before, body of the function, what the feedback says)
ATTACKS = {
    "an answer that is equal to everything": (
        "class Yes(list):\n    __eq__ = lambda *a: True\n    __ne__ = lambda *a: False\n"
        "    __len__ = lambda s: 1",
        "return Yes([-1])",
        "yours",
    ),
    "a number that is equal to everything": (
        "class Yes(int):\n    __eq__ = lambda *a: True\n    __hash__ = int.__hash__",
        "return [Yes(-1)] * n",
        "wrong",
    ),
    "an object of no kind": ("class Yes: tolist = 3", "return Yes()", "wrong"),
    "checks that always agree": (
        "import pagesim.exercises.values as v, pagesim.exercises.exercise as e\n"
        "v.equal_values = lambda *a: True\ne.Exercise.judge = lambda *a: None\n"
        "e.Exercise.check = lambda *a, **k: True",
        WRONG,
        "yours",
    ),
    "a guard that reports success": (
        "import pagesim.exercises.guard as g, sys\n"
        "for m in list(sys.modules.values()):\n"
        "    if hasattr(m, 'attempt'): m.attempt = lambda *a: g.Answer(True)",
        WRONG,
        "yours:    True",
    ),
    "a printed verdict": (
        "",
        "import os, sys\n    print(n, True); print('right', file=sys.__stdout__, flush=True)\n"
        "    os.write(1, b'right'); os.write(2, b'right')\n    " + WRONG,
        "yours",
    ),
    "a verdict in the pipe": (
        FRAME,
        "everywhere(frame(right=True, points=1, problem='', id=1))\n    " + WRONG,
        "something else where its answers go",
    ),
    "answers in the pipe": (
        FRAME,
        "for i in range(1000): everywhere(frame(value=[-1], problem='', printed='', id=i))\n    "
        + WRONG,
        "wrong",
    ),
    "a frame that claims four gigabytes": (
        FRAME,
        "everywhere(b'\\xff' * 16)\n    " + WRONG,
        "something else where its answers go: a frame of 4294967295 bytes",
    ),
    "a frame that is no JSON": (FRAME, "everywhere(b'\\0\\0\\0\\1x')", "cannot be read"),
    "a frame that is too deep": (
        FRAME,
        "everywhere(struct.pack('>I', 200000) + b'[' * 200000)",
        "cannot be read (RecursionError)",
    ),
    "a frame of another kind": (
        FRAME,
        "everywhere(frame(value={'call': 'os'}))",
        "the kind 'call'",
    ),
    "numbers that all have one hash": (
        FRAME,
        "everywhere(frame(problem='', id=2, value={'set': [k * (2**61 - 1) for k in range(9**4)]}))"
        "; " + WRONG,
        "a whole number of",
    ),
    "a frame one byte at a time": (
        FRAME + "import time",
        "everywhere(struct.pack('>I', 10**6))\n    while True:\n        try:\n"
        "            while True: everywhere(b' '); time.sleep(0.05)\n"
        "        except BaseException: pass",
        "its process was ended",
    ),
    "endless data": (FRAME, "while True: everywhere(bytes(65536))", "something else"),
    "a verdict at the end of the process": (
        FRAME + "import atexit\natexit.register(everywhere, frame(right=True, points=1, id=1))",
        WRONG,
        "yours",
    ),
    "the end of the process": ("", "import os; os._exit(0)", "ended itself (exit code 0)"),
    "an exit": ("", "raise SystemExit(0)", "SystemExit"),
    "a closed pipe": ("", "import os; os.closerange(0, 64); " + WRONG, "ended itself"),
    "a segmentation fault": ("", "import ctypes; ctypes.string_at(1)", "ended by SIGSEGV"),
    "recursion without end": (
        "import sys; sys.setrecursionlimit(10**9)",
        "return slots(table, n, b)",
        "wrong",
    ),
    "a loop that catches everything": (
        "",
        "while True:\n        try:\n            while True: pass\n"
        "        except BaseException: pass",
        "No answer after",
    ),
    "a sleep that hears no signal": (
        "",
        "import signal, time\n"
        "    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\n"
        "    time.sleep(600)",
        "its process was ended",
    ),
    "a clock that was stopped": (
        "",
        "import signal\n    signal.setitimer(signal.ITIMER_REAL, 0)\n    while True: pass",
        "its process was ended",
    ),
    "gigabytes of print": ("", "while True: print('x' * 1000000)", "No answer after"),
    "an answer without end": ("", "return iter(int, 1)", "wrong"),
    "an answer of ten megabytes": ("", "return ['x' * 1000] * 10000", "bytes"),
    "an answer too deep": ("", "a = []\n    for _ in range(10**5): a = [a]\n    return a", "wrong"),
    "a number of a million digits": ("", "return [10 ** 1000000]", "wrong"),
    "an error that cannot be told": (
        "class Bad(Exception):\n    def __str__(self): raise self\n    __repr__ = __str__",
        "raise Bad()",
        "wrong",
    ),
    "an error that paints the terminal": ("", r"raise ValueError('\x1b[2J\x07')", r"\x1b[2J\x07"),
    "a file in JSON": ("import json\njson.dumps = lambda *a, **k: '{\"id\": 1}'", WRONG, "wrong"),
    "another case": (
        "import pagesim.exercises.grading.wire as w\nold = w.receive\n"
        "w.receive = lambda s: {**old(s), 'args': ([0], 0, 1)}",
        WRONG,
        "yours:    []",
    ),
}


def few(exercise: Exercise) -> Callable[[random.Random, bool], Iterator[Case]]:
    """The first hidden cases: what is tried here is not the exercise."""
    return lambda rng, hidden: islice(exercise.cases(rng, hidden), 5)


def marked(tmp_path: Path, before: str, body: str, seconds: float = 0.3) -> Marked:
    """Marks of a file whose answer to 2.1 is an attack, and whose answer to 6.1 is right."""
    first, second = (replace(e, cases=few(e)) for e in (get("2.1"), get("5.1")))
    tried = [replace(first, seconds=seconds), second]
    attack = f"{before}\n\ndef slots(table, n, b):\n    {body}\n"
    file = tmp_path / "mallory.py"
    file.write_text(second.solution + "\n\n" + attack)
    return marking.mark(Handed("mallory", file), tried)


@pytest.mark.parametrize("name", [name for name in ATTACKS if NIGHTLY or name != MEMORY])
def test_an_attack_is_worth_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, body, said = ATTACKS[name]
    late = said in ("its process was ended", "No answer after")
    if said == "its process was ended":
        monkeypatch.setattr(marking, "GRACE", 0.5)
    result = marked(tmp_path, before, body, 0.1 if late else 0.3)
    attacked, honest = result.marks
    assert (attacked.number, attacked.points) == ("2.1", 0)
    assert said in attacked.feedback, attacked.feedback
    assert all(c.isprintable() or c == "\n" for c in attacked.feedback)
    if "json" not in before and "w.receive" not in before and "attempt" not in before:
        assert (honest.number, honest.points) == ("5.1", honest.of), honest.feedback


@pytest.mark.parametrize("prints", ["pass", "os.write(1, b'x')", "print('x', file=sys.__stdout__)"])
def test_an_honest_answer_is_right_whatever_it_prints(prints: str, tmp_path: Path) -> None:
    right = "return [table[i // b] * b + i % b for i in range(n)]"
    result = marked(tmp_path, "import os, sys", f"{prints}; {right}")
    assert [mark.points for mark in result.marks] == [mark.of for mark in result.marks]


def test_a_stub_s_line_that_is_left_in_is_named(tmp_path: Path) -> None:
    left, _ = marked(tmp_path, "", "n = 1\n    raise NotImplementedError()").marks
    assert LEFT_IN in left.feedback


def test_without_a_sandbox_it_still_grades(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text(get("2.1").solution)
    handed = Handed("ann", tmp_path / "x.py")
    tried = [replace(get("2.1"), cases=few(get("2.1")))]
    result = marking.mark(handed, tried, layers=())
    assert (result.marks[0].points, result.taken) == (1, ())


def test_the_seed_chooses_the_hidden_cases(tmp_path: Path) -> None:
    asked = []

    def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
        asked.append((rng.getstate() == random.Random(7).getstate(), hidden))
        return iter(())

    (tmp_path / "x.py").write_text("def slots(): ...")
    tried = [replace(get("2.1"), cases=cases)]
    marking.mark(Handed("ann", tmp_path / "x.py"), tried, seed=7)
    assert asked == [(True, True)]


NAIVE = """
import sys
from pagesim.exercises import get
names = {}
exec(open(sys.argv[1]).read(), names)
print("GRADE", bool(get("2.1").check(names["slots"])))
"""


@pytest.mark.parametrize("name", ["checks that always agree"])
def test_a_grader_in_the_same_process_is_fooled(name: str, tmp_path: Path) -> None:
    before, body, _ = ATTACKS[name]
    file = tmp_path / "mallory.py"
    file.write_text(f"{before}\n\ndef slots(table, n, b):\n    {body}\n")
    done = subprocess.run(
        [sys.executable, "-c", NAIVE, str(file)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "GRADE True\n"


def test_its_folder_is_gone_afterwards(tmp_path: Path) -> None:
    result = marked(tmp_path, "", "import os; return os.getcwd()")
    folder = result.marks[0].feedback.split("yours:    '")[1].split("'")[0]
    assert folder.startswith("/") and "pagesim-grade-" in folder
    assert not os.path.exists(folder)
