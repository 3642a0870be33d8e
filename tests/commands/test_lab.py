"""`pagesim lab`: the course in a folder of one's own, and how JupyterLab is started on it."""

import json
import os
import signal
from importlib import util
from pathlib import Path
from typing import Any

import nbformat.sign
import pytest

from pagesim.commands import lab
from tests.commands.runs import Shell

pytestmark = pytest.mark.ch00

ROOT = Path(__file__).parents[2]
COMMITTED = {
    path.relative_to(ROOT / "notebooks"): path.read_bytes()
    for pattern in ("*.ipynb", "exercises/*.ipynb")
    for path in (ROOT / "notebooks").glob(pattern)
}
JUPYTERLAB = """
import json, os, signal, sys
told = [os.environ["JUPYTER_CONFIG_PATH"], os.getcwd(), *sys.argv[1:]]
json.dump(told, open(os.environ["TOLD"], "w"))
if "--interrupted" in sys.argv:
    os.kill(os.getppid(), signal.SIGINT)
sys.exit("--fails" in sys.argv)
"""


@pytest.fixture(autouse=True)
def signatures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jupyter notes what it trusts here, not in somebody's home."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))


@pytest.fixture
def unsigned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading all chapters takes a second, which only one test needs."""
    monkeypatch.setattr(lab, "sign", list)


@pytest.fixture
def jupyterlab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A JupyterLab that notes what it was told; in which file."""
    (tmp_path / "fake" / "jupyterlab").mkdir(parents=True)
    for name, code in (("__init__", ""), ("__main__", JUPYTERLAB)):
        (tmp_path / "fake" / "jupyterlab" / f"{name}.py").write_text(code)
    monkeypatch.setattr(lab, "find_spec", lambda name: True)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "fake"))
    monkeypatch.setenv("TOLD", str(tmp_path / "told.json"))
    return tmp_path / "told.json"


def content(folder: Path) -> dict[Path, bytes]:
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def trusted(path: Path) -> bool:
    read: Any = nbformat.read(path, as_version=4)
    return bool(nbformat.sign.NotebookNotary().check_signature(read))


def test_the_course_is_laid_out_and_what_nobody_changed_is_trusted(
    tmp_path: Path, shell: Shell
) -> None:
    folder = tmp_path / "my" / "course"
    value = shell.answer("lab", folder, "--no-open")
    assert content(folder) == COMMITTED
    assert {Path(name).relative_to(folder) for name in value["written"]} == COMMITTED.keys()
    assert trusted(folder / "04_growing_and_sharing.ipynb")
    changed = folder / lab.FIRST
    changed.write_text(changed.read_text().replace("# ", "## ", 1))
    assert shell.answer("lab", folder, "--no-open", "--keep")["written"] == []
    assert not trusted(changed)


@pytest.mark.usefixtures("unsigned")
def test_a_folder_with_files_is_refused_or_kept(tmp_path: Path, shell: Shell) -> None:
    mine = tmp_path / "course" / lab.FIRST
    mine.parent.mkdir()
    mine.write_text("my work")
    assert "--keep" in shell.refusal("lab", mine.parent, "--no-open")
    assert content(mine.parent) == {Path(lab.FIRST): b"my work"}
    value = shell.answer("lab", mine.parent, "--no-open", "--keep")
    assert content(mine.parent) == COMMITTED | {Path(lab.FIRST): b"my work"}
    assert str(mine) not in value["written"] and len(value["written"]) == len(COMMITTED) - 1
    assert "is a file" in shell.refusal("lab", mine, "--no-open", "--keep")


def test_without_jupyterlab_nothing_is_written(
    tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = util.find_spec
    monkeypatch.setattr(
        lab, "find_spec", lambda name: None if name == "jupyterlab" else there(name)
    )
    monkeypatch.setattr(lab, "start", lambda *_: pytest.fail("it was started"))
    assert "kernels,lab" in shell.refusal("lab", tmp_path / "course")
    assert not (tmp_path / "course").exists()


@pytest.mark.usefixtures("unsigned")
@pytest.mark.parametrize("uid", [0, 1000])
def test_jupyterlab_opens_the_first_chapter(
    uid: int, jupyterlab: Path, tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a container one is root, and JupyterLab refuses to start without being told so."""
    monkeypatch.setattr(os, "geteuid", lambda: uid, raising=False)
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "mine")
    out, err = shell.printed("lab", tmp_path / "course", "--", "--no-browser")
    assert lab.FIRST in err and "--keep" in out
    config, folder, *flags = json.loads(jupyterlab.read_text())
    assert config == os.pathsep.join([str(lab.CONFIG), "mine"])
    assert {path.suffix for path in lab.CONFIG.iterdir()} >= {".json", ".py"}
    assert Path(folder).samefile(tmp_path / "course")
    assert flags == ["--allow-root"] * (uid == 0) + ["--no-browser", lab.FIRST]


@pytest.mark.usefixtures("unsigned", "jupyterlab")
@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_ctrl_c_is_jupyterlabs_and_its_failure_is_a_no(tmp_path: Path, shell: Shell) -> None:
    before = signal.getsignal(signal.SIGINT)
    shell("lab", tmp_path / "a", "--", "--interrupted")
    assert signal.getsignal(signal.SIGINT) is before
    shell("lab", tmp_path / "b", "--", "--fails", code=1)
