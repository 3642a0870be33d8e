"""The `pagesim` command. Each command imports what it needs inside, so `--help` stays quick.

Exit codes: 0 yes, 1 it ran and the answer is no, 2 bad input (one line on stderr says what and
where).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command found: text for people, an object for --json, and whether it is a yes."""

    ok: bool
    text: str
    value: dict[str, Any]


def example(line: str) -> str:
    """The last lines of a command's help, kept unwrapped by click."""
    return f"\b\nExample:\n  {line}"


@click.group(
    context_settings=SETTINGS, invoke_without_command=True, epilog=example("pagesim doctor")
)
@click.version_option(package_name="pagesim")
@click.pass_context
def cli(context: click.Context) -> None:
    """See how vLLM keeps its KV cache in pages."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@cli.command(epilog=example("pagesim doctor --json"))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> None:
    """Say what runs on this machine, how, and what is missing.

    Exit code 0 when the course can run, 1 with the missing piece and the command that installs it.
    """
    from pagesim.doctor import examine

    report = examine()
    lines = []
    for finding in report.findings:
        lines.append(f"{finding.status:<8}{finding.name:<12}{finding.detail}")
        if finding.remedy:
            lines.append(f"{'':<20}-> {finding.remedy}")
    missing = [finding.name for finding in report.findings if finding.status == "missing"]
    lines.append(
        "The course can run." if report.ok else f"The course cannot run yet: {', '.join(missing)}."
    )
    _finish(context, Answer(report.ok, "\n".join(lines), report.as_dict()), as_json)


INPUT_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
OUTPUT_FILE = click.Path(dir_okay=False, writable=True, path_type=Path)


@cli.command(epilog=example("pagesim replay tests/data/block_table-edge-106.jsonl.gz -o run.html"))
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=INPUT_FILE)
@click.option("-o", "--out", type=OUTPUT_FILE, help="Write the player with what happened here.")
@click.option("--part", type=int, help="Which part to play, from 1: a reset begins a new one.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def replay(
    context: click.Context,
    files: tuple[Path, ...],
    out: Path | None,
    part: int | None,
    as_json: bool,
) -> None:
    """Run recorded vLLM traces through our classes and compare every operation.

    With -o one trace is played, too: its longest part, unless --part says another. Exit code 0 when
    all are equal, 1 at a difference, 2 when a file is no trace.
    """
    from pagesim.replay import TraceError, replay_file

    if (out is not None and len(files) > 1) or (part is not None and out is None):
        raise BadInput("-o plays one FILE, and --part says which part of it: give one FILE and -o")
    lines, values = [], []
    for file in files:
        try:
            result = replay_file(file, record_runs=out is not None)
        except (TraceError, OSError) as error:
            raise BadInput(_naming(file, error)) from error
        lines.append(
            f"{'ok' if result.mismatch is None else 'DIFFERS':<8}{file}: {result.kind}, "
            f"{result.operations} of {result.total} operations compared"
        )
        if result.mismatch is not None:
            lines.append(f"{'':<8}{result.mismatch}")
        value: dict[str, Any] = {
            "path": str(file),
            "kind": result.kind,
            "operations": result.operations,
            "total": result.total,
            "mismatch": result.mismatch,
        }
        if out is not None:
            lengths = [len(run) for run in result.runs]
            number = part or 1 + lengths.index(max(lengths))
            if not 1 <= number <= len(lengths):
                raise BadInput(f"--part {number}: {file} has the parts 1 to {len(lengths)}")
            title = f"{file.name}, part {number} of {len(lengths)}"
            result.runs[number - 1].to_html(out, title)
            lines.append(f"{'':<8}{out} plays {title}: {lengths[number - 1]} steps")
            value |= {"out": str(out), "part": number, "parts": len(lengths)}
        values.append(value)
    ok = all(value["mismatch"] is None for value in values)
    _finish(context, Answer(ok, "\n".join(lines), {"ok": ok, "files": values}), as_json)


@cli.command(epilog=example("pagesim play run.jsonl.gz -o run.html --open"))
@click.argument("file", type=INPUT_FILE)
@click.option("-o", "--out", type=OUTPUT_FILE, required=True, help="The page to write.")
@click.option("--open", "open_it", is_flag=True, help="Open it in the browser afterwards.")
@click.option("--title", help="What the page is called; the file's name otherwise.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def play(
    context: click.Context, file: Path, out: Path, open_it: bool, title: str | None, as_json: bool
) -> None:
    """Put a recorded run (run.save) into one HTML page that steps through it.

    The page opens anywhere, without a server. Exit code 2 when the file is no recorded run.
    """
    import webbrowser

    from pagesim.timeline import TimelineError, load

    try:
        run = load(file)
        run.to_html(out, title or file.name)
    except (TimelineError, OSError) as error:
        raise BadInput(_naming(file, error)) from error
    opened = open_it and webbrowser.open(out.resolve().as_uri())
    text = f"{out}: {len(run)} steps" + ("" if opened or not open_it else "; no browser found")
    value = {"path": str(file), "out": str(out), "steps": len(run), "opened": bool(opened)}
    _finish(context, Answer(True, text, value), as_json)


def _naming(file: Path, error: Exception) -> str:
    return str(error) if str(file) in str(error) else f"{file}: {error}"


class BadInput(click.ClickException):
    """Input that cannot be used; main() prints the message as one line and returns 2."""

    exit_code = 2


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit. Errors are one line, not click's three."""
    try:
        code = cli.main(args=arguments, prog_name="pagesim", standalone_mode=False)
    except click.ClickException as error:
        message = " ".join(error.format_message().split())
        if isinstance(error, click.UsageError):
            message += " (see pagesim --help)"
        click.echo(f"pagesim: {message}", err=True)
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
    sys.exit(code if isinstance(code, int) else 0)


def _finish(context: click.Context, answer: Answer, as_json: bool) -> None:
    """Print an answer and leave with its exit code."""
    click.echo(json.dumps(answer.value) if as_json else answer.text)
    context.exit(0 if answer.ok else 1)


if __name__ == "__main__":
    main()
