"""`pagesim explain`: what went wrong in a recorded run or a log, and what to change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pagesim.commands.common import INPUT_FILE, OUTPUT_FILE, Answer, BadInput, answering, blaming

if TYPE_CHECKING:
    from pagesim.timeline import Timeline


@answering("pagesim explain run.jsonl.gz -o report.html")
@click.argument("file", type=INPUT_FILE)
@click.option("--request", metavar="NAME", help="Tell the story of this request.")
@click.option("-o", "--out", type=OUTPUT_FILE, help="Write the report as a page above the player.")
@click.option(
    "--part",
    type=int,
    help="The part of a recording of vLLM, counted from 1.  [default: the longest]",
)
def explain(file: Path, request: str | None, out: Path | None, part: int | None) -> Answer:
    """Say what went wrong in a run or a log, worst first.

    FILE is a recorded run, as run.save or simulate --record writes it, a recording of vLLM (see
    replay), or a log of vLLM. Each finding says which requests it concerns, what it cost and what
    to change. For a log, the report also says what its figures mean. With --request, the answer is
    the story of one request instead: why it waited, what it found cached, and who took the blocks
    that it missed. With -o, the report is also a page whose findings open the player at their step.
    Exit code 0 whether or not there are findings, 2 when FILE cannot be used.
    """
    if (kind := _format(file)) is None:
        return _log(file, request, out, part)
    from pagesim.explain.page import write
    from pagesim.explain.reading import history_of
    from pagesim.explain.report import findings, report, summary
    from pagesim.explain.request import story

    run, notes = _run(file, kind, part)
    history = history_of(run)
    value = {"path": str(file), "events": len(run), "steps": len(history.steps), "notes": notes}
    if request is not None:
        told = story(history, request)
        if out is not None:
            with blaming(out):
                about = f"The story of {request}, step by step"
                write(run, out, click.format_filename(file.name), about, told.findings())
        text = "\n".join([*notes, told.text(), *([f"{out} shows it"] if out else [])])
        return Answer(True, text, value | told.as_dict())
    found = findings(history)
    text = "\n".join([*notes, report(history, found)])
    if out is not None:
        with blaming(out):
            write(run, out, click.format_filename(file.name), summary(history, found), found)
        text += f"\n\n{out} shows each finding at its step"
    return Answer(True, text, value | {"findings": [each.as_dict() for each in found]})


def _format(file: Path) -> str | None:
    """The format that the first line of a file names; None for a log, whose lines name none."""
    from pagesim.files.jsonl import numbered_lines

    with blaming(file, ValueError):
        _, line = next(numbered_lines(str(file), ValueError), (1, b""))
    try:
        words = json.loads(line)
    except (ValueError, RecursionError):
        return "damaged" if line.lstrip().startswith((b"{", b"\x1f\x8b")) else None
    return str(words["format"]) if isinstance(words, dict) and "format" in words else None


def _log(file: Path, request: str | None, out: Path | None, part: int | None) -> Answer:
    """What a log of vLLM says."""
    import gzip
    import zlib

    from pagesim.explain.log import explain_file

    if (request, out, part) != (None, None, None):
        raise BadInput(f"{file} is no recorded run: --request, -o and --part need one")
    is_packed = file.suffix == ".gz"
    with blaming(file, ValueError, EOFError, zlib.error), open(file, "rb") as raw:
        report = explain_file(gzip.GzipFile(fileobj=raw) if is_packed else raw)
    if not report.known:
        raise BadInput(
            f"{file}: neither a recorded run, nor a recording of vLLM, nor a log with a line about "
            "its cache"
        )
    return Answer(True, report.text(), {"path": str(file)} | report.as_dict())


def _run(file: Path, kind: str, part: int | None) -> tuple[Timeline, list[str]]:
    """The run in a file, as it was saved or as the replay of a recording makes it, and notes."""
    from pagesim.replay import TraceError, replay_file
    from pagesim.timeline import TimelineError, load
    from pagesim.timeline.header import FORMAT

    with blaming(file, TimelineError, TraceError):
        if kind == FORMAT:
            if part is not None:
                raise BadInput("--part selects a part of a recording of vLLM; this is a run")
            return load(file), []
        result = replay_file(file, record_runs=True)
    lengths = [len(run) for run in result.runs]
    number = part or 1 + lengths.index(max(lengths))
    if not 1 <= number <= len(lengths):
        raise BadInput(f"--part {number}: {file} has the parts 1 to {len(lengths)}")
    notes = [f"part {number} of {len(lengths)}"] if len(lengths) > 1 else []
    if result.ended:
        notes.append(f"the recording ends early: {result.ended}")
    if result.mismatch:
        notes.append(f"pagesim does otherwise than the recording from here on: {result.mismatch}")
    return result.runs[number - 1], notes
