"""The notebook runner finds what differs, names where, and writes the same bytes each time.

Each notebook starts a kernel of its own, so most of these tests run in `make notebooks`.
"""

import asyncio
import base64
import copy
import gzip
import html as entities
import json
import os
import re
import sys
from pathlib import Path

import nbformat
import pytest

import pagesim
from pagesim.player.page import DIGITS, OF_PYTHON, packed_script, unpacked_script
from tools import course
from tools.course import execute
from tools.course.canonical import WIDGET, dumps, read
from tools.course.compare import comparable, differences
from tools.course.run import run

pytestmark = pytest.mark.ch00


def outputs(path: Path) -> list[list[dict]]:
    return [cell.outputs for cell in nbformat.read(path, as_version=4).cells]


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_written_is_then_equal_and_stays_the_same_bytes(make_notebook, capsys) -> None:
    path = make_notebook(
        "import sys\nfor i in range(3):\n    print(i, flush=True)\n    print('e', file=sys.stderr)",
        "from IPython.display import display\nprint('a')\ndisplay({'text/plain': 'b'}, raw=True)\n"
        "print('c')\n1 + 1",
    )
    assert execute.main(["--write", str(path)]) == 0
    written = path.read_bytes()
    streams, mixed = outputs(path)
    assert [(o.name, o.text) for o in streams] == [("stdout", "0\n1\n2\n"), ("stderr", "e\ne\ne\n")]
    kinds = [output.output_type for output in mixed]
    assert kinds == ["stream", "display_data", "stream", "execute_result"]
    assert execute.main(["--write", str(path)]) == 0
    assert path.read_bytes() == written
    assert capsys.readouterr().out.endswith(" s\n")


def test_a_difference_is_found_and_shown(make_notebook, capsys) -> None:
    path = make_notebook("print('first')", "print('one'); print('two')")
    execute.main(["--write", str(path)])
    edit(path, '"two\\n"', '"too\\n"')
    assert execute.main([str(path)]) == 1
    shown = capsys.readouterr()
    assert "tiny.ipynb, cell 2 (id cell-1): the output differs" in shown.err
    assert "-too" in shown.err and "+two" in shown.err
    assert "cell 1 " not in shown.err
    assert "0 notebooks passed, 1 failed" in shown.out.splitlines()[-1]


def test_an_output_that_was_never_committed_is_a_difference(make_notebook) -> None:
    path = make_notebook("1 + 1")
    path.write_text(dumps(read(path)))
    assert execute.main([str(path)]) == 1


def test_an_error_names_cell_exception_and_line(make_notebook, capsys) -> None:
    path = make_notebook("x = 1", "def f():\n    return x / 0\n\nf()")
    before = path.read_bytes()
    assert execute.main(["--write", str(path)]) == 1
    shown = capsys.readouterr().err
    assert "tiny.ipynb, cell 2 (id cell-1): ZeroDivisionError: division by zero" in shown
    assert "f()" in shown
    assert len(shown.splitlines()) < 6
    assert path.read_bytes() == before


@pytest.mark.course
def test_a_slow_cell_and_a_dead_kernel_are_failures(make_notebook, capsys) -> None:
    slow = make_notebook("import time; time.sleep(60)", name="slow.ipynb")
    dead = make_notebook("import os; os._exit(3)", name="dead.ipynb")
    assert execute.main(["--timeout", "1", str(slow), str(dead)]) == 1
    shown = capsys.readouterr()
    assert "slow.ipynb, cell 1 (id cell-0): not done after 1 s" in shown.err
    assert "dead.ipynb, cell 1 (id cell-0): the kernel died" in shown.err
    assert "0 notebooks passed, 2 failed" in shown.out


@pytest.mark.course
def test_what_is_not_kept_of_outputs_is_not_compared(make_notebook) -> None:
    """A machine's own outputs, tracebacks of expected errors, and that the reference answers."""
    reference = "kernels: the NumPy reference answers, because"
    path = make_notebook(
        ("import time; print(time.time_ns())", "machine"),
        "print('same')",
        ("raise ValueError('as planned')", "raises-exception"),
        f"import sys; print({reference!r}, file=sys.stderr); print('x')",
    )
    assert execute.main(["--write", str(path)]) == 0
    machine, _, (error,), (only,) = outputs(path)
    assert machine == []
    assert error.traceback == ["ValueError: as planned"]
    assert only.text == "x\n"
    assert execute.main([str(path)]) == 0


def test_machine_cells_must_run(make_notebook) -> None:
    assert execute.main([str(make_notebook(("1 / 0", "machine")))]) == 1


@pytest.mark.course
def test_which_kernel_which_folder_which_environment(
    make_notebook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "mine"))
    path = make_notebook(
        "import os, sys\n[sys.executable, os.getcwd(), os.environ.get('PYTHONHASHSEED'), "
        "os.environ['MPLBACKEND'], os.environ['PYTHONPATH']]"
    )
    ran = asyncio.run(run(path))
    values = eval(ran.cells[0].outputs[0].data["text/plain"])
    assert values[:3] == [sys.executable, str(tmp_path.resolve()), None]
    assert "inline" in values[3]
    assert values[4].split(os.pathsep) == [str(tmp_path / "mine"), str(course.ROOT)]


IMAGE = """
from IPython.display import display
import base64, os
data = base64.b64encode(os.urandom(20)).decode()
display({"text/html": f'<img alt="%s" src="data:image/svg+xml;base64,{data}">'}, raw=True)
display({"image/png": data}, raw=True, metadata={"image/png": {"alt": "%s"}})
"""


@pytest.mark.course
def test_images_are_compared_by_presence_and_alt_text(make_notebook) -> None:
    path = make_notebook(*[IMAGE % ("a pool", "a table")] * 2)
    first = asyncio.run(run(path))
    fresh = copy.deepcopy(first)
    del fresh.cells[0], first.cells[1]
    fresh.cells[0].id = first.cells[0].id
    assert first.cells[0].outputs != fresh.cells[0].outputs
    assert differences("it", first, fresh) == []
    html, png = first.cells[0].outputs

    def check_with(*committed: dict) -> str:
        first.cells[0].outputs = [nbformat.from_dict(output) for output in committed]
        (found,) = differences("it", first, fresh)
        return found

    other = {"text/html": html.data["text/html"].replace("a pool", "a lake")}
    assert '-<img alt="a lake"' in check_with({**html, "data": other}, png)
    silent = check_with(html, {**png, "metadata": {}})
    assert "-an image, alt text: None" in silent
    assert "+an image, alt text: a table" in silent
    assert "+[image/png]" in check_with(html)


def test_players_are_compared_by_what_is_packed_in_them() -> None:
    """Another zlib packs the same run and the same script into other letters."""

    def cell(run: pagesim.Timeline, repack: bool = False) -> nbformat.NotebookNode:
        text = run._repr_html_()
        if repack:
            text, count = re.subn(r"(?<=>)H4sI[A-Za-z0-9+/=]{40,}", packed_anew, text)
            assert count == 1
            assert packed_script() in entities.unescape(text)
            other = gzip.compress(unpacked_script(packed_script()), 1, mtime=0)
            digits = base64.b85encode(other).decode().translate(str.maketrans(OF_PYTHON, DIGITS))
            text = text.replace(entities.escape(packed_script()), entities.escape(digits))
            assert entities.escape(digits) in text
        output = nbformat.v4.new_output("display_data", {"text/html": text})
        return nbformat.v4.new_code_cell("run", outputs=[output])

    def packed_anew(match: re.Match[str]) -> str:
        plain = gzip.decompress(base64.b64decode(match[0]))
        return base64.b64encode(gzip.compress(plain, 1, mtime=0)).decode()

    manager = pagesim.SelfAttnBlockSpaceManager(4, 6, 0)
    group = pagesim.SequenceGroup("a", [pagesim.Sequence(0, [1, 2, 3, 4, 5], 4)])
    with pagesim.record(manager) as run:
        manager.allocate(group)
        manager.free(group.first_seq)
    comparison = comparable(cell(run))
    assert "a player (page " in comparison
    assert len(comparison) < 2000
    assert comparable(cell(run, repack=True)) == comparison
    assert comparable(cell(run[:1])) != comparison


@pytest.mark.course
def test_what_an_editor_leaves_behind_is_removed_and_found(make_notebook, capsys) -> None:
    path = make_notebook("1 + 1", ("2 + 2", "kept"))
    execute.main(["--write", str(path)])
    clean = path.read_text()
    raw = json.loads(clean)
    raw["metadata"]["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": {}}}
    raw["metadata"]["language_info"]["version"] = "3.99"
    cell = raw["cells"][0]
    cell["execution_count"] = cell["outputs"][0]["execution_count"] = 12
    cell["metadata"] = {"execution": {"iopub.status.busy": "now"}, "scrolled": True}
    cell["outputs"][0]["data"][WIDGET] = {"model_id": "0123"}
    path.write_text(json.dumps(raw))
    assert dumps(read(path)) == clean  # without running anything
    assert execute.main([str(path)]) == 1
    assert "tiny.ipynb: not in canonical form" in capsys.readouterr().err
    assert json.loads(clean)["cells"][1]["metadata"]["tags"] == ["kept"]


def test_missing_ids_are_made_from_the_source(make_notebook) -> None:
    path = make_notebook("1", "2", "2")
    raw = json.loads(path.read_text())
    raw["nbformat_minor"] = 4
    for cell in raw["cells"]:
        del cell["id"]
    path.write_text(json.dumps(raw))
    first, again = (read(path) for _ in range(2))
    ids = [cell["id"] for cell in first.cells]
    assert ids == [cell["id"] for cell in again.cells]
    assert len(set(ids)) == 3


@pytest.mark.parametrize("content", ["", "{", "[]", '{"nbformat": 3, "nbformat_minor": 0}'])
def test_what_is_no_notebook_is_said_in_one_line(tmp_path: Path, capsys, content: str) -> None:
    path = tmp_path / "broken.ipynb"
    path.write_text(content)
    assert execute.main([str(path)]) == 1
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_bad_arguments_end_with_2(capsys) -> None:
    for arguments, message in ((["no.ipynb"], "no notebook"), (["-j", "0"], "at least 1")):
        with pytest.raises(SystemExit) as ended:
            execute.main(arguments)
        assert ended.value.code == 2
        assert message in capsys.readouterr().err


@pytest.mark.course
def test_budgets_are_reported(make_notebook, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute, "NOTEBOOK_SECONDS", 0)
    monkeypatch.setattr(execute, "COURSE_SECONDS", 0)
    path = make_notebook("1")
    assert execute.main(["--write", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "(over 0 s)" in shown
    assert "the course's budget is 0 s" in shown
