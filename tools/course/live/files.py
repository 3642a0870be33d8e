"""What the pages need to run Python, put into the site's folder: nothing comes from elsewhere."""

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from pagesim.exercises.registry import exercises
from tools.course import ROOT

PYODIDE = ROOT / "node_modules/pyodide"
"""Python for browsers, as npm has it; `make web-setup` installs it."""
MISSING = (
    "Stories and exercises cannot be edited in this site, because Pyodide is not installed: "
    "make web-setup"
)
FOLDER = "python"
"""Where it is on the site."""
ASSETS = Path(__file__).parent / "assets"
SCRIPTS = ("editor.js", "python.js", "shown.js", "live.js", "live.css")
"""What the pages load; the worker is beside Pyodide, which it imports."""
AS_THEY_ARE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
LOCK = "pyodide-lock.json"
CORE = ("files", "journal", "lesson", "player", "sizing", "story", "timeline", "v0", "v1")
"""The packages that stories need; with the files beside them, none needs NumPy."""
EXERCISES = ("cache", "exercises", "replay")
"""What the exercises need besides."""
LEFT_OUT = {"js", "cells", "__pycache__", "grading", "bundle.mjs", "film.txt", "films.txt"}
"""What no page needs: the sources of the player's script, kernels, the grading of a class."""
LICENCE = """\
Pyodide {version} and CPython {python}, as the npm package pyodide has them. Pyodide is under the
Mozilla Public License 2.0; its source is at https://github.com/pyodide/pyodide. CPython is under
the licence of the Python Software Foundation. The two archives beside it are pagesim's (MIT).
"""


def are_here() -> bool:
    """Whether the site can have them."""
    return (PYODIDE / "pyodide.asm.wasm").is_file() and shutil.which("node") is not None


def copy(target: Path) -> dict[str, int]:
    """Put them into the site's folder; their sizes in bytes. There is nothing without Pyodide."""
    if not are_here():
        return {}
    folder = target / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name in AS_THEY_ARE:
        shutil.copy2(PYODIDE / name, folder)
    shutil.copy2(ASSETS / "worker.js", folder)
    # The packages that it could fetch from elsewhere are not offered.
    lock = json.loads((PYODIDE / LOCK).read_text("utf-8")) | {"packages": {}}
    (folder / LOCK).write_text(json.dumps(lock), encoding="utf-8")
    version = json.loads((PYODIDE / "package.json").read_text("utf-8"))["version"]
    licence = LICENCE.format(version=version, python=lock["info"]["python"])
    (folder / "LICENCE.txt").write_text(licence, encoding="utf-8")
    _pack(folder / "pagesim.zip", [*_top(), *_within(CORE)])
    _pack(folder / "exercises.zip", _within(EXERCISES))
    script = str(Path(__file__).with_name("compiled.mjs"))
    subprocess.run(["node", script, str(folder.resolve())], check=True)
    return {path.name: path.stat().st_size for path in sorted(folder.iterdir())}


@cache
def checked() -> tuple[str, ...]:
    """The exercises that a page can check: tried where nothing is but what the pages have."""
    numbers = [exercise.number for exercise in exercises() if not exercise.needs_triton]
    with TemporaryDirectory() as folder:
        archive = Path(folder, "all.zip")
        _pack(archive, [*_top(), *_within(CORE + EXERCISES)])
        shutil.unpack_archive(archive, folder)
        # -I and -S: what is installed is not found.
        script = str(Path(__file__).with_name("checkable.py"))
        command = [sys.executable, "-I", "-S", script, folder, *numbers]
        found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return tuple(json.loads(found))


def _top() -> Iterator[tuple[Path, str]]:
    """pagesim's own modules, and what runs the reader's text."""
    for path in sorted((ROOT / "pagesim").glob("*.py")):
        yield path, f"pagesim/{path.name}"
    yield Path(__file__).with_name("inside.py"), "inside.py"


def _within(packages: tuple[str, ...]) -> Iterator[tuple[Path, str]]:
    for package in packages:
        for path in sorted((ROOT / "pagesim" / package).rglob("*")):
            name = path.relative_to(ROOT)
            if path.is_file() and not LEFT_OUT & {*name.parts}:
                yield path, name.as_posix()


def _pack(target: Path, files: Iterable[tuple[Path, str]]) -> None:
    """An archive that is the same each time."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, name in files:
            archive.writestr(zipfile.ZipInfo(name), path.read_bytes(), zipfile.ZIP_DEFLATED, 9)
