"""`pagesim replay`: compares recorded vLLM traces with pagesim's classes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pagesim.commands.common import INPUT_FILE, OUTPUT_FILE, Answer, BadInput, answering, blaming
from pagesim.files.jsonl import JsonObject

if TYPE_CHECKING:
    from pagesim.replay import ReplayResult
    from pagesim.timeline import Timeline


@answering("pagesim replay tests/data/block_table-edge-106.jsonl.gz -o run.html")
@click.argument("files", nargs=-1, metavar="FILE...", type=INPUT_FILE)
@click.option("-o", "--out", type=OUTPUT_FILE, help="Write an HTML page that plays the run.")
@click.option("--recorder", is_flag=True, help="Print the script that records your own vLLM.")
@click.option(
    "--part",
    type=int,
    help="With -o: the part to play, counted from 1. A reset of vLLM's cache begins a new part.  "
    "[default: the longest]",
)
def replay(files: tuple[Path, ...], out: Path | None, recorder: bool, part: int | None) -> Answer:
    """Repeat recorded vLLM traces and compare every operation.

    pagesim's classes carry out the operations of each trace, and every result is compared with
    vLLM's. --recorder prints record_vllm.py, a script that records such a trace of your own vLLM.
    With -o, the longest part of a trace is also written as a page that plays it; --part selects
    another part. Exit code 0 when all operations are equal, 1 when any operation differs, 2 when a
    file is not a trace.
    """
    from pagesim.replay import TraceError, record_vllm, replay_file

    if recorder:
        if files or out is not None or part is not None:
            raise BadInput("--recorder prints a script and takes no FILE, -o or --part")
        script = Path(record_vllm.__file__).read_text(encoding="utf-8")
        return Answer(True, script.rstrip("\n"), {"ok": True, "script": script})
    if not files:
        raise BadInput("give a FILE, or --recorder (see pagesim replay --help)")
    if (out is not None and len(files) > 1) or (part is not None and out is None):
        raise BadInput("-o plays one FILE, and --part selects a part of it: give one FILE and -o")
    lines, values = [], []
    for file in files:
        with blaming(file, TraceError):
            result = replay_file(file, record_runs=out is not None)
        lines += _compared(file, result)
        names = ("kind", "operations", "total", "mismatch", "ended")
        values.append({"path": str(file)} | {name: getattr(result, name) for name in names})
        if out is not None:
            line, played = _play(file, result.runs, part, out)
            lines.append(f"{'':<8}{line}")
            values[-1] |= played
    ok = all(value["mismatch"] is None for value in values)
    return Answer(ok, "\n".join(lines), {"ok": ok, "files": values})


def _compared(file: Path, result: ReplayResult) -> list[str]:
    head = (
        f"{'ok' if result.mismatch is None else 'DIFFERS':<8}{file}: {result.kind}, "
        f"{result.operations} of {result.total} operations compared"
    )
    ended = result.ended and f"the recording ends early: {result.ended}"
    return [head, *(f"{'':<8}{words}" for words in (ended, result.mismatch) if words)]


def _play(
    file: Path, runs: Sequence[Timeline], part: int | None, out: Path
) -> tuple[str, JsonObject]:
    """Write the page of a part, or of the longest one."""
    lengths = [len(run) for run in runs]
    number = part or 1 + lengths.index(max(lengths))
    if not 1 <= number <= len(lengths):
        raise BadInput(f"--part {number}: {file} has the parts 1 to {len(lengths)}")
    title = f"{click.format_filename(file.name)}, part {number} of {len(lengths)}"
    with blaming(out):
        runs[number - 1].to_html(out, title)
    value = {"out": str(out), "part": number, "parts": len(lengths)}
    return f"{out} plays {title}: {lengths[number - 1]} steps", value
