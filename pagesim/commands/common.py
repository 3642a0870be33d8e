"""What the commands share: how they read files, answer, and say that an input cannot be used."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from pagesim.errors import UsageError
from pagesim.files import check_output


class Count(click.IntRange):
    """A whole number that fits into 64 bits; its help says only where it begins."""

    def __init__(self, least: int = 1) -> None:
        super().__init__(least)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number: int = super().convert(value, param, ctx)
        if number > sys.maxsize:
            self.fail(f"{number} is more than {sys.maxsize}.", param, ctx)
        return number


INPUT_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
OUTPUT_FILE = click.Path(dir_okay=False, writable=True, path_type=Path)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command found: text for people, an object for --json, and whether it is a yes."""

    ok: bool
    text: str
    value: dict[str, Any]


class BadInput(click.ClickException):
    """Input that cannot be used; main() prints the message as one line and returns 2."""

    exit_code = 2


def example(line: str) -> str:
    """The last lines of a command's help, kept unwrapped by click."""
    return f"\b\nExample:\n  {line}"


def with_file_name(file: Path, error: Exception) -> str:
    """What went wrong, with the file's name."""
    return str(error) if str(file) in str(error) else f"{file}: {error}"


def check_out(option: str, out: Path | None, *inputs: Path) -> None:
    """Refuse an output that cannot be written or is one of the inputs: before any work is done."""
    if out is not None:
        try:
            check_output(out, *inputs)
        except UsageError as error:
            raise BadInput(f"{option}: {error}") from error


@contextmanager
def blaming(out: Path) -> Iterator[None]:
    """What goes wrong with the output is told with its name."""
    try:
        yield
    except OSError as error:
        raise BadInput(with_file_name(out, error)) from error


def finish(context: click.Context, answer: Answer, as_json: bool) -> None:
    """Print an answer and leave with its exit code."""
    click.echo(json.dumps(answer.value) if as_json else answer.text)
    context.exit(0 if answer.ok else 1)
