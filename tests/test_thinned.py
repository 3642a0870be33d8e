"""`make test` and `make rest` together run every case once."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests import thinned

ROOT = Path(__file__).parents[1]
MANY, FEW = sorted(thinned.THINNED)[0], "tests/test_thinned.py"


class Case:
    """As much of a collected test as the choice looks at."""

    def __init__(self, file: str, test: str, number: int | None = None) -> None:
        self.nodeid, self.originalname = f"{file}::{test}[{number}]", test
        if number is not None:
            self.callspec = number


CASES: list[Any] = [Case(MANY, test, number) for test in ("a", "b") for number in range(11)]
CASES += [Case(MANY, "alone"), Case(FEW, "a", 0), Case(FEW, "a", 1)]


def ids(cases: list[Any]) -> Counter[str]:
    return Counter(case.nodeid for case in cases)


def test_what_one_leaves_out_is_what_the_other_runs() -> None:
    test, not_test = thinned.chosen(CASES, [thinned.TEST])
    rest, not_rest = thinned.chosen(CASES, [thinned.REST])
    assert (not_test, not_rest) == (rest, test)
    assert ids(test) + ids(rest) == ids(CASES)
    numbers = [case.callspec for case in test if case.originalname == "b"]
    assert numbers == [0, 5, 10]
    assert {case.originalname for case in rest} == {"a", "b"}


def test_without_the_variables_everything_runs() -> None:
    assert thinned.chosen(CASES, ["PATH"]) == (CASES, [])


def test_rest_collects_the_files_with_many_cases_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all((ROOT / name).is_file() for name in thinned.THINNED)
    places = [ROOT / MANY, ROOT / FEW, ROOT / "tests"]
    assert [thinned.pytest_ignore_collect(place) for place in places] == [None] * 3
    monkeypatch.setenv(thinned.REST, "1")
    assert [thinned.pytest_ignore_collect(place) for place in places] == [None, True, None]
