"""Whether notebooks are as they are committed: what a hook and the tests ask of each.

python -m tools.course.clean notebooks/*.ipynb
"""

import json
import re
import sys
from pathlib import Path

import nbformat

from tools.course import ROOT
from tools.course.canonical import WIDGET, NotebookError, dumps, read
from tools.course.compare import DATA_URI
from tools.course.pictures import fill

ADDRESS = re.compile(r"\bat 0x[0-9a-f]{6,}")


def problems(path: Path) -> list[str]:
    """What must not be committed in a notebook, each in words; an empty list if it is clean."""
    try:
        text = path.read_text(encoding="utf-8")
        nbformat.validate(nbformat.reads(text, as_version=4))
        notebook = read(path)
    except (NotebookError, OSError, ValueError, nbformat.ValidationError) as error:
        return [f"it cannot be read: {error}".splitlines()[0]]
    found = []
    if text != dumps(notebook):
        found.append(f"it is not in its committed form: {_command(path)}")
    try:
        stale = fill(notebook, path.name)
    except NotebookError as error:
        return [*found, str(error)]
    if stale:
        found.append(f"pictures are stale: python -m tools.course.pictures {path}")
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for output in (output for cell in cells for output in cell.outputs):
        if output.output_type == "error":
            found.append(f"a cell failed: {output.evalue}")
    # Not inside the pictures: base64 may spell anything.
    outputs = DATA_URI.sub("", json.dumps([cell.outputs for cell in cells]))
    places = [str(ROOT), str(Path.home()), "site-packages", "/tmp/"]
    found += [f"an output names {place}" for place in places if place in outputs]
    if address := ADDRESS.search(outputs):
        found.append(f"an output has an object's address, which changes: {address[0]}")
    if WIDGET in outputs:
        found.append("an output is a widget, which shows nothing without a kernel")
    return found


def _command(path: Path) -> str:
    if path.parent.name == "exercises":
        return "pagesim exercises release --force notebooks/exercises"
    return f"python -m tools.course.execute --write {path.name}"


def main(names: list[str]) -> int:
    """Print the problems of the notebooks; the exit code is 1 if there are any."""
    lines = [f"{name}: {problem}" for name in names for problem in problems(Path(name))]
    print("\n".join(lines), end="\n" if lines else "")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
