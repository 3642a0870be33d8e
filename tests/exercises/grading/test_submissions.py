"""The files of a class: taken apart as they are, and never followed, waited for or believed."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pagesim.exercises import all as exercises
from pagesim.exercises.grading import marking, submissions
from pagesim.exercises.grading.submissions import Cell, Handed, answered, cells, find

pytestmark = pytest.mark.ch02

posix = pytest.mark.skipif(os.name != "posix", reason="links and pipes as POSIX has them")
SLOTS = "def slots(table, num_tokens, block_size):\n    return []"


def code(source: Any, **nbgrader: Any) -> dict[str, Any]:
    return {"cell_type": "code", "source": source, "metadata": {"nbgrader": nbgrader}}


def notebook(path: Path, *listed: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"cells": listed, "nbformat": 4, "metadata": {}}))
    return path


def test_a_class_is_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "zoe.py").write_text("")
    notebook(tmp_path / "ann" / "ex02.ipynb")
    notebook(tmp_path / "ann" / "ex00" / "ex00.ipynb")
    notebook(tmp_path / "ann" / ".ipynb_checkpoints" / "ex02-checkpoint.ipynb")
    (tmp_path / "bob").mkdir()
    (tmp_path / "marks.csv").write_text("")
    (tmp_path / ".hidden.py").write_text("")
    found = [(h.student, h.path.name, h.problem) for h in find(tmp_path)]
    assert found == [
        ("ann", "ex02.ipynb", ""),
        ("ann", "ex00.ipynb", ""),
        ("bob", "bob", "no notebook and no .py file in it"),
        ("zoe", "zoe.py", ""),
    ]


@posix
def test_links_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text(SLOTS)
    group = tmp_path / "class"
    (group / "ann").mkdir(parents=True)
    (group / "eve.py").symlink_to(secret)
    (group / "mallory").symlink_to(tmp_path)
    (group / "ann" / "ex02.py").symlink_to(secret)
    (group / "ann" / "all").symlink_to(tmp_path)
    found = list(find(group))
    assert {(h.student, h.path.name) for h in found} == {
        ("ann", "ex02.py"), ("ann", "all"), ("eve", "eve.py"), ("mallory", "mallory"),
    }  # fmt: skip
    assert {h.problem for h in found} == {"a link, which is not followed"}
    with pytest.raises(ValueError, match="cannot be read"):
        cells(group / "eve.py")


def test_a_student_has_so_many_files(tmp_path: Path) -> None:
    for number in range(submissions.MAX_FILES + 9):
        notebook(tmp_path / "ann" / f"{number:03}.ipynb")
    found = list(find(tmp_path))
    assert len(found) == submissions.MAX_FILES + 1
    (problem,) = [h.problem for h in found if h.problem]
    assert problem == f"one of more than {submissions.MAX_FILES} files"


BROKEN = {
    "not UTF-8": (b'{"cells": "\xff"}', r"not UTF-8 \(byte 11\)"),
    "UTF-16": ("{}".encode("utf-16"), "not UTF-8"),
    "cut off": (b'{"cells": [{"cell_type": "co', "not JSON"),
    "empty": (b"", "not JSON"),
    "deep": (b"[" * 100_000, "not JSON"),
    "long number": (b'{"cells": ' + b"9" * 5000 + b"}", "not JSON"),
    "a list": (b"[]", "not a notebook"),
    "an old notebook": (b'{"worksheets": []}', "not a notebook"),
    "cells that are none": (b'{"cells": 3}', "not a notebook"),
    "cells of other kinds": (b'{"cells": [3, null, "x", {"cell_type": 4}]}', "without code"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_notebook_has_a_reason(name: str, tmp_path: Path) -> None:
    data, reason = BROKEN[name]
    file = tmp_path / "x.ipynb"
    file.write_bytes(data)
    with pytest.raises(ValueError, match=reason):
        cells(file)


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    with open(file, "wb") as sparse:
        sparse.truncate(1 << 40)
    with pytest.raises(ValueError, match="larger than 16 MiB"):
        cells(file)


def test_code_is_bounded_and_outputs_are_not(tmp_path: Path) -> None:
    """All of it is parsed, searched and sent before a limit on the student's time begins."""
    line, file = "x = 1 # \n", tmp_path / "x.py"
    file.write_text(line * (submissions.MAX_CODE // len(line)))
    assert len(cells(file)) == 1
    file.write_text(line * (submissions.MAX_CODE // len(line) + 1))
    most = line * (submissions.MAX_CODE // len(line) * 2 // 3)
    one = notebook(tmp_path / "a.ipynb", code(most) | {"outputs": [line * submissions.MAX_CODE]})
    assert len(cells(one)) == 1
    two = notebook(tmp_path / "b.ipynb", code(most), code(most))
    for large in (file, two):
        with pytest.raises(ValueError, match="characters of code"):
            cells(large)


def test_reading_a_file_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def search(*_: Any) -> None:
        while True:
            pass

    (tmp_path / "x.py").write_text("def slots(): ...")
    monkeypatch.setattr(marking, "flags", search)
    monkeypatch.setattr(marking, "READING_SECONDS", 0.1)
    result = marking.mark(Handed("ann", tmp_path / "x.py"), exercises())
    assert (result.marks, result.problem) == ((), "it takes more than 0.1 s to read")


def test_flags_are_few_and_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"import socket.{'a' * 300}{n}" for n in range(100)]
    (tmp_path / "x.py").write_text("\n".join([*names, "def slots(): ..."]))
    _, tried, flagged = marking._read(Handed("ann", tmp_path / "x.py"), exercises())
    assert [e.number for e in tried] == ["2.1"]
    assert len(flagged) == marking.MAX_FLAGS and max(map(len, flagged)) <= 200


@posix
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.py")
    with pytest.raises(ValueError, match="not a regular file"):
        cells(tmp_path / "x.py")
    (tmp_path / "y.py").mkdir()
    with pytest.raises(ValueError, match="not a regular file"):
        cells(tmp_path / "y.py")


def test_cells_lie_about_their_form_and_nothing_breaks(tmp_path: Path) -> None:
    odd = [
        {"cell_type": "code", "source": 3, "metadata": 4},
        {"cell_type": "code", "metadata": {"nbgrader": [1]}},
        code(["a = 1\n", 5, None, "b = 2"], grade_id=7, solution="x"),
        code("c = 3", grade_id="answer-" + "9" * 300),
    ]
    found = cells(notebook(tmp_path / "x.ipynb", *odd))
    assert [cell.text for cell in found] == ["", "", "a = 1\nb = 2", "c = 3"]
    assert all(cell.solves in ((), ("99.99",)) for cell in found)


def test_answers_are_found_by_number_and_by_name_and_tests_are_left_out(tmp_path: Path) -> None:
    file = notebook(
        tmp_path / "ann.ipynb",
        code("import math"),
        code("def other(): ...", grade_id="answer-2-1", solution=True),
        code("check('2.1', other)", grade_id="check-2-1", grade=True, solution=False),
        code("def needs_a_block(length, block_size): ..."),
    )
    found = cells(file)
    assert [cell.solves for cell in found] == [(), ("2.1",), ()]
    assert [e.number for e in answered(found, file, exercises())] == ["2.1", "2.2"]


def test_a_name_counts_in_its_own_chapter(tmp_path: Path) -> None:
    listed = [Cell(SLOTS, "the file")]
    assert [e.number for e in answered(listed, Path("ex02.py"), exercises())] == ["2.1"]
    assert [e.number for e in answered(listed, Path("ann.py"), exercises())] == ["2.1"]
    assert answered(listed, Path("ex03.py"), exercises()) == []


def test_lines_for_ipython_are_dropped(tmp_path: Path) -> None:
    file = notebook(
        tmp_path / "x.ipynb",
        code("%matplotlib inline\nx = 1"),
        code("if True:\n    !pip install y\nz = 7\n"),
        code("a = (7\n% 4)"),
    )
    texts = [cell.text for cell in cells(file)]
    assert texts == ["pass\nx = 1", "if True:\n    pass\nz = 7\n", "a = (7\n% 4)"]
