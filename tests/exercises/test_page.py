"""A page becomes an exercise; what is wrong with one is named with its file and line."""

import random
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from pagesim.errors import UsageError
from pagesim.exercises import get, source
from pagesim.exercises.case import Case
from pagesim.exercises.exercise import Exercise
from pagesim.exercises.writing import exercise
from tests.kernels.children import python

PAGE = '''"""# 2.9 Twice ★★

Write `twice(n)`.

## Hints
1. Think.
2. Think
   again.
3. n + n.

## Wrong answers
* once (a number): It is n,
  and that is all.
* never (a number): There is none.
* other (a number): It is another function.

## vLLM 0.33.0
* a.py: f
"""

from pagesim.exercises.kit import Case


def twice(n):
    """Two times n."""
    ### BEGIN SOLUTION
    total = n
    ### never: if n:
    ### never:     total = -n
    total += n
    ### once:
    return total
    ### never: return None
    ### END SOLUTION


def other(n):
    return n - 1


def cases(rng, hidden):
    yield Case((3,), tag="a number")
    yield Case((4,), "four")


def words(n):
    return f"the number {n}"


def oracle(n):
    return 2 * n


def valid(n):
    return n > 0


def why(right, tag, n, *rest):
    return f"{tag}: {right}, {n}, {rest}"
'''


def written(folder: Path, text: str) -> Exercise:
    path = folder / "twice.py"
    path.write_text(text, encoding="utf-8")
    spec = spec_from_file_location(f"page_{folder.name}", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return exercise(module)


def test_a_page_is_an_exercise(tmp_path: Path) -> None:
    made = written(tmp_path, PAGE)
    assert (made.number, made.title, made.stars) == ("2.9", "Twice", 2)
    assert made.statement == "Write `twice(n)`."
    assert made.hints == ("Think.", "Think again.", "n + n.")
    assert (made.vllm, made.release) == (("a.py: f",), "0.33.0")
    assert made.mistakes["once"].misconception == "It is n, and that is all."
    cases = list(made.cases(random.Random(0), False))
    assert [case.words for case in cases] == ["the number 3", "four"]
    assert made.why(cases[0], 1, 6) == "a number: 6, 3, ()"
    assert made.case_of is not None and made.case_of(0) is None
    assert made.case_of(3) == Case((3,), "the number 3")
    assert made.check(made.reference) and made.play is None
    assert [made.wrong[name](3) for name in ("once", "never", "other")] == [3, None, 2]


def test_what_a_page_need_not_say() -> None:
    plain, kernel = get("2.3"), get("2.5")
    assert (plain.seconds, plain.needs_triton, plain.release) == (2.0, False, "0.6.4.post1")
    assert (kernel.seconds, kernel.needs_triton) == (30.0, True)
    assert plain.play is not None, "the oracle's story is what is played"


def test_what_why_has_no_word_against_reaches_a_goal(tmp_path: Path) -> None:
    page = PAGE.replace("return 2 * n", 'return Goal(0, "at least twice")')
    page = page.replace("import Case", "import Case, Goal")
    page = page.replace("right, tag, n, *rest", "yours, n")
    page = page.replace('f"{tag}: {right}, {n}, {rest}"', '"" if yours >= 2 * n else "few"')
    made = written(tmp_path, page)
    assert made.check(made.reference) and made.check(lambda n: 3 * n)
    assert made.check(made.wrong["once"]).why == "few"


def test_one_chapter_is_imported_for_one_exercise() -> None:
    script = "from pagesim.exercises import get; import sys; get('2.1'); print(*sys.modules)"
    done = python("-c", script)
    assert "exercises.ch02.slots" in done.stdout and "exercises.ch03" not in done.stdout


def test_a_wrong_answer_is_seen_nowhere_and_takes_its_lines_alone(tmp_path: Path) -> None:
    made = written(tmp_path, PAGE)
    assert "###" not in made.solution and "never" not in made.stub
    body = source.text(made.wrong["never"]).splitlines()[3:-1]
    assert [line[4:] for line in body] == ["if n:", "    total = -n", "total += n", "return None"]


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("# 2.9 Twice ★★", "# 2.9 Twice", 1, "like `# 2.1 Slots ★`"),
        ("## Hints", "## Hint", 5, "## Hints"),
        ("2. Think\n", "Think\n", 5, "three hints, `1. …`, not 2"),
        ("* once (a number): It", "* once: It", 12, "* its_name (the case that shows it)"),
        ("* never (a", "* nowhere (a", 28, "lists no wrong answer 'never'"),
        ("### once:", "", 12, "is the wrong answer 'once': put `### once: …` under a line"),
        ("def oracle", "def orakel", 1, "no function `oracle`"),
        (
            "def valid(n)",
            "def valid(m)",
            54,
            "`valid` asks for 'm', but there are only n, yours, right",
        ),
        ("    ### BEGIN SOLUTION\n", "", 24, "the first function must be the right answer"),
    ],
)
def test_a_malformed_page_is_named(
    old: str, new: str, line: int, words: str, tmp_path: Path
) -> None:
    assert old in PAGE
    with pytest.raises(UsageError) as error:
        written(tmp_path, PAGE.replace(old, new))
    assert f"twice.py, line {line}: " in str(error.value) and words in str(error.value)
