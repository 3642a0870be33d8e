"""Run the course: check that every chapter still gives the outputs it was committed with.

    python notebooks/execute.py                   run all chapters, compare, exit 1 on a difference
    python notebooks/execute.py --write 02_*.ipynb    run and write the outputs

Written notebooks are canonical: no execution counts, timings, widget state or tracebacks; a second
run gives the same bytes. Text is compared exactly; of a picture only that it is there and its alt
text. A cell tagged ``machine`` says something about this machine: it must run, but its outputs are
neither kept nor compared. A cell tagged ``predict`` answers what its reader is to predict first: its
output is committed folded, and running the cell unfolds it. The kernel is this interpreter,
whatever kernels Jupyter knows of.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import difflib
import gzip
import hashlib
import html
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
NOTEBOOK_SECONDS, COURSE_SECONDS = 60, 180
KEPT_CELL_METADATA = {"deletable", "editable", "jupyter", "nbgrader", "slideshow", "tags"}
WIDGET = "application/vnd.jupyter.widget-view+json"
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
ANSI = re.compile(r"\x1b\[[0-9;]*m")
QUIET = "--IPKernelApp.log_level=40"  # its warnings are about transport, none about the course
# What kernels.runtime.mode says where there is no triton: true of this machine, not of the course.
MACHINE_LINE = re.compile(r"^kernels: the NumPy reference answers.*\n?", re.MULTILINE)
DATA_URI = re.compile(r"data:image/[^\"')\s]+")
SRCDOC = re.compile(r"srcdoc='([^']*)'")
PAYLOAD = re.compile(r'(id="pagesim-(?:timeline|script)">)([A-Za-z0-9+/=]+)')


class NotebookError(Exception):
    """A notebook that cannot be read or run; the message says which one, which cell and why."""


# ---- canonical form -------------------------------------------------------------------------


def read(path: Path) -> NotebookNode:
    """The notebook as it is on disk, upgraded to format 4.5 with an id for every cell."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        if (raw["nbformat"], raw["nbformat_minor"]) < (4, 0):
            raise NotebookError(f"{path.name}: notebook format {raw['nbformat']}, 4 is needed")
        raw["nbformat_minor"] = 5
        _give_ids(raw["cells"])
        notebook = nbformat.reads(json.dumps(raw), as_version=4)
        nbformat.validate(notebook)
    except (OSError, KeyError, TypeError, ValueError, nbformat.ValidationError) as error:
        raise NotebookError(
            f"{path.name}: not a readable notebook: {error}".splitlines()[0]
        ) from None
    return notebook


def _give_ids(cells: list[dict[str, Any]]) -> None:
    """Ids that are missing or used twice are derived from the source, so they stay the same."""
    seen: set[str] = set()
    for place, cell in enumerate(cells):
        if not cell.get("id") or cell["id"] in seen:
            source = "".join(cell["source"])
            cell["id"] = hashlib.sha256(f"{place}:{source}".encode()).hexdigest()[:8]
        seen.add(cell["id"])


def canonical(notebook: NotebookNode) -> NotebookNode:
    """A copy without anything that changes from run to run, or says something of this machine."""
    cells = []
    for cell in notebook.cells:
        kept = {k: v for k, v in cell.metadata.items() if k in KEPT_CELL_METADATA}
        if "predict" in kept.get("tags", []):
            kept["jupyter"] = {**kept.get("jupyter", {}), "outputs_hidden": True}
        plain = {**cell, "metadata": kept}
        if cell.cell_type == "code":
            outputs = [] if _is_machine(cell) else _outputs(cell.outputs)
            plain |= {"execution_count": None, "outputs": outputs}
        cells.append(plain)
    return nbformat.from_dict(
        {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    )


def dumps(notebook: NotebookNode) -> str:
    """The canonical text of a notebook, as it is written to disk."""
    return nbformat.writes(canonical(notebook)).rstrip("\n") + "\n"


def _is_machine(cell: NotebookNode) -> bool:
    return "machine" in cell.metadata.get("tags", [])


def _outputs(outputs: Iterable[NotebookNode]) -> list[dict[str, Any]]:
    """Outputs in order; between two others, what was printed is one stdout and one stderr.

    How prints are cut into messages, and how the two streams mix, depends on the clock.
    """
    result: list[dict[str, Any]] = []
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


# ---- comparison -----------------------------------------------------------------------------


def comparable(cell: NotebookNode) -> str:
    """What two runs of a cell must agree in, as text: exact, but for the pixels of images."""
    if cell.cell_type != "code" or _is_machine(cell):
        return ""
    parts = []
    for output in _outputs(cell.outputs):
        kind = output["output_type"]
        if kind == "stream":
            parts.append(f"[{output['name']}]\n{output['text']}")
        elif kind == "error":
            parts.append(f"[error]\n{output['ename']}: {output['evalue']}")
        else:
            for mime, data in sorted(output["data"].items()):
                parts.append(f"[{mime}]\n{_data_text(mime, data, output.get('metadata', {}))}")
    return "\n".join(parts)


def _data_text(mime: str, data: Any, metadata: Mapping[str, Any]) -> str:
    if mime.startswith("image/"):
        alt = metadata.get(mime, {}).get("alt") or metadata.get("alt")
        return f"an image, alt text: {alt}"
    text = data if isinstance(data, str) else json.dumps(data, indent=1, sort_keys=True)
    if mime != "text/html":
        return text
    return SRCDOC.sub(_player_text, DATA_URI.sub("data:image/…", text))


def _player_text(match: re.Match[str]) -> str:
    """A player in short sums: what is packed in it, unpacked (zlib differs from machine to
    machine), and all the rest of the page."""
    page, packed = html.unescape(match[1]), []
    for payload in PAYLOAD.finditer(page):
        packed.append(_sum(gzip.decompress(base64.b64decode(payload[2]))))
    rest = _sum(PAYLOAD.sub("", page).encode())
    return f"a player (page {rest}) of the run and with the script {' '.join(packed)}"


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def differences(name: str, committed: NotebookNode, fresh: NotebookNode) -> list[str]:
    """One readable diff for every cell whose outputs are not those that were committed."""
    found = []
    for place, (before, after) in enumerate(zip(committed.cells, fresh.cells, strict=True)):
        old, new = comparable(before), comparable(after)
        if old != new:
            lines = difflib.unified_diff(
                old.splitlines(), new.splitlines(), "committed", "this run", lineterm="", n=2
            )
            where = f"{name}, {_cell(place, before)}: the output differs"
            found.append("\n    ".join([where, *list(lines)[:60]]))
    return found


def _cell(place: int, cell: NotebookNode) -> str:
    return f"cell {place + 1} (id {cell['id']})"


# ---- running --------------------------------------------------------------------------------


class ThisInterpreter(AsyncKernelManager):
    """Starts ipykernel in the Python that runs this script, not in one that Jupyter finds."""

    @property
    def kernel_spec(self) -> KernelSpec:
        return KernelSpec(
            argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", QUIET],
            display_name="this interpreter",
            language="python",
        )


def child_environment(scratch: str) -> dict[str, str]:
    """This environment, less what would make two readers' outputs differ."""
    env = {k: v for k, v in os.environ.items() if k not in {"MPLBACKEND", "PYTHONHASHSEED"}}
    paths = [env["PYTHONPATH"]] if env.get("PYTHONPATH") else []
    return env | {
        "IPYTHONDIR": scratch,  # no start-up files and no history of the person who runs this
        "OMP_NUM_THREADS": "1",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "PYTHONPATH": os.pathsep.join([*paths, str(ROOT)]),
    }


async def run(path: Path, timeout: float = 120.0) -> NotebookNode:
    """Run a notebook in its own folder and a fresh kernel; returns it with its new outputs.

    `timeout` is for one cell, in seconds. Raises NotebookError for the first cell that fails.
    """
    notebook = read(path)
    manager = ThisInterpreter()
    client = NotebookClient(notebook, km=manager, timeout=timeout)
    with tempfile.TemporaryDirectory() as scratch:
        if sys.platform != "win32":
            # Ports are found free first and taken later: two kernels at once may find the same one.
            manager.transport, manager.ip = "ipc", str(Path(scratch) / "kernel")
        start = {"cwd": str(path.resolve().parent), "env": child_environment(scratch)}
        where = f"{path.name}, starting the kernel"
        try:
            async with client.async_setup_kernel(**start):
                for place, cell in enumerate(notebook.cells):
                    where = f"{path.name}, {_cell(place, cell)}"
                    await client.async_execute_cell(cell, place)
        except CellExecutionError as error:
            raise NotebookError(f"{where}: {_reason(error)}") from None
        except CellTimeoutError:
            raise NotebookError(f"{where}: not done after {timeout:g} s") from None
        except DeadKernelError:
            raise NotebookError(f"{where}: the kernel died") from None
        except RuntimeError as error:
            raise NotebookError(f"{where}: {error}") from None
    return notebook


def _reason(error: CellExecutionError) -> str:
    """The exception, and the line of the cell it came from, instead of the whole traceback."""
    frames = ANSI.sub("", error.traceback).splitlines()
    line = next((frame for frame in frames if re.match(r"-+> ?\d+ ", frame)), "")
    return f"{error.ename}: {error.evalue}" + (f"\n    {line.strip()}" if line else "")


# ---- the command ----------------------------------------------------------------------------


@dataclass(slots=True)
class Outcome:
    """What became of one notebook: how long it took, and what is wrong with it."""

    name: str
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)


async def process(path: Path, write: bool, timeout: float = 120.0) -> Outcome:
    """Run one notebook and either write it or compare it with what is on disk."""
    outcome = Outcome(path.name)
    begun = time.monotonic()
    try:
        fresh = await run(path, timeout)
        if write:
            path.write_text(dumps(fresh), encoding="utf-8", newline="\n")
        else:
            committed = read(path)
            outcome.problems += differences(path.name, committed, fresh)
            if path.read_text(encoding="utf-8") != dumps(committed):
                outcome.problems.append(
                    f"{path.name}: not in canonical form (saved by an editor?): write it with\n"
                    f"    python notebooks/execute.py --write {path.name}"
                )
    except NotebookError as error:
        outcome.problems.append(str(error))
    outcome.seconds = time.monotonic() - begun
    return outcome


async def process_all(paths: list[Path], write: bool, jobs: int, timeout: float) -> list[Outcome]:
    """Run notebooks, `jobs` at a time, with a line for each as it ends."""
    gate = asyncio.Semaphore(jobs)

    async def one(path: Path) -> Outcome:
        async with gate:
            outcome = await process(path, write, timeout)
        verdict = "FAILED" if outcome.problems else "written" if write else "passed"
        over = f"  (over {NOTEBOOK_SECONDS} s)" if outcome.seconds > NOTEBOOK_SECONDS else ""
        print(f"{outcome.name:<36} {verdict:<8} {outcome.seconds:6.1f} s{over}", flush=True)
        return outcome

    return await asyncio.gather(*(one(path) for path in paths))


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0, 1 for a failure, 2 for bad arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="compare with what is there (default)")
    mode.add_argument("--write", action="store_true", help="write the new outputs")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="notebooks at a time (2)")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one cell")
    parser.add_argument("notebooks", nargs="*", type=Path, help="all beside this script if none")
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        parser.error(f"--jobs {options.jobs}: at least 1")
    paths = [_locate(path) for path in options.notebooks] or sorted(HERE.glob("*.ipynb"))
    for path in paths:
        if not path.is_file():
            parser.error(f"no notebook {path}")

    begun = time.monotonic()
    outcomes = asyncio.run(process_all(paths, options.write, options.jobs, options.timeout))
    failed = [outcome for outcome in outcomes if outcome.problems]
    for outcome in failed:
        print("\n" + "\n".join(outcome.problems), file=sys.stderr)
    seconds = time.monotonic() - begun
    over = f" (the course's budget is {COURSE_SECONDS} s)" if seconds > COURSE_SECONDS else ""
    count = len(outcomes) - len(failed)
    plural = "" if count == 1 else "s"
    print(f"{count} notebook{plural} passed, {len(failed)} failed in {seconds:.1f} s{over}")
    return 1 if failed else 0


def _locate(path: Path) -> Path:
    """A path as given, or the notebook of that name beside this script."""
    return path if path.exists() or not (HERE / path.name).exists() else HERE / path.name


if __name__ == "__main__":
    sys.exit(main())
