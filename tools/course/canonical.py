"""The form in which notebooks are committed: the same bytes from every run and every machine.

No execution counts, timings, widget state or tracebacks. The outputs of a cell tagged ``machine``
describe the machine it ran on, and are not kept.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from pagesim.files.jsonl import JsonObject

KEPT_CELL_METADATA = {"deletable", "editable", "jupyter", "nbgrader", "slideshow", "tags"}
WIDGET = "application/vnd.jupyter.widget-view+json"
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# What kernels.runtime.mode prints where there is no triton, which is not part of the course.
MACHINE_LINE = re.compile(r"^kernels: the NumPy reference answers.*\n?", re.MULTILINE)


class NotebookError(Exception):
    """A notebook that cannot be read or run; the message says which one, which cell, and why."""


def read(path: Path) -> NotebookNode:
    """The notebook as it is on disk, upgraded to format 4.5 with an id for every cell."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        if (raw["nbformat"], raw["nbformat_minor"]) < (4, 0):
            raise NotebookError(f"{path.name}: notebook format {raw['nbformat']}, 4 is needed")
        raw["nbformat_minor"] = 5
        _give_ids(raw["cells"])
        notebook: NotebookNode = nbformat.reads(json.dumps(raw), as_version=4)
        nbformat.validate(notebook)
    except (OSError, KeyError, TypeError, ValueError, nbformat.ValidationError) as error:
        raise NotebookError(
            f"{path.name}: not a readable notebook: {error}".splitlines()[0]
        ) from None
    return notebook


def _give_ids(cells: list[JsonObject]) -> None:
    """Ids that are missing or used twice are derived from the source, so they stay the same."""
    seen: set[str] = set()
    for place, cell in enumerate(cells):
        if not cell.get("id") or cell["id"] in seen:
            source = "".join(cell["source"])
            cell["id"] = hashlib.sha256(f"{place}:{source}".encode()).hexdigest()[:8]
        seen.add(cell["id"])


def canonical(notebook: NotebookNode) -> NotebookNode:
    """A copy without what changes from run to run or from machine to machine."""
    cells = []
    for cell in notebook.cells:
        kept = {k: v for k, v in cell.metadata.items() if k in KEPT_CELL_METADATA}
        plain = {**cell, "metadata": kept}
        if cell.cell_type == "code":
            outputs = [] if is_machine(cell) else outputs_of(cell.outputs)
            plain |= {"execution_count": None, "outputs": outputs}
        cells.append(plain)
    whole = {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    return NotebookNode(nbformat.from_dict(whole))


def dumps(notebook: NotebookNode) -> str:
    """The canonical text of a notebook, as it is written to disk."""
    return str(nbformat.writes(canonical(notebook))).rstrip("\n") + "\n"


def is_machine(cell: NotebookNode) -> bool:
    """Whether the cell's outputs describe the machine it ran on."""
    return "machine" in cell.metadata.get("tags", [])


def outputs_of(outputs: Iterable[NotebookNode]) -> list[JsonObject]:
    """Outputs in order; what is printed between two others becomes one stdout and one stderr.

    How prints are split into messages, and how the two streams interleave, depends on timing.
    """
    result: list[JsonObject] = []
    printed = {"stdout": "", "stderr": ""}

    def flush() -> None:
        printed["stderr"] = MACHINE_LINE.sub("", printed["stderr"])
        for name, text in printed.items():
            if text:
                result.append({"output_type": "stream", "name": name, "text": text})
            printed[name] = ""

    for output in outputs:
        if output.output_type == "stream":
            printed[output.name] += output.text
            continue
        flush()
        if output.output_type == "error":
            summary = f"{output.ename}: {output.evalue}"
            result.append({**output, "traceback": [summary]})
            continue
        shown = {k: v for k, v in output.items() if k not in {"execution_count", "transient"}}
        shown["data"] = {k: v for k, v in output.data.items() if k != WIDGET}
        if output.output_type == "execute_result":
            shown["execution_count"] = None
        if shown["data"]:
            result.append(shown)
    flush()
    return result


def place_of(number: int, cell: NotebookNode) -> str:
    """Where a cell is, for messages."""
    return f"cell {number + 1} (id {cell['id']})"
