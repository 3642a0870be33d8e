"""What the commands share: how they take files, answer, and report input that cannot be used."""

import functools
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from pagesim.errors import UsageError
from pagesim.files import check_output
from pagesim.files.jsonl import JsonObject


class Count(click.IntRange):
    """A whole number that fits into 64 bits; its help gives only the minimum."""

    def __init__(self, least: int = 1) -> None:
        super().__init__(least)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number: int = super().convert(value, param, ctx)
        if number > sys.maxsize:
            self.fail(f"{number} is more than {sys.maxsize}.", param, ctx)
        return number


class NamedInput(click.types.StringParamType):
    """Text that may name a file or folder that is read; ``where`` makes its path of the text."""

    def __init__(self, where: Callable[[str], Path] = Path) -> None:
        self.where = where


INPUT_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
INPUT_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
OUTPUT_FILE = click.Path(dir_okay=False, writable=True, path_type=Path)


Options = dict[str, Any]
"""What was given on the command line, by the names of the function's parameters."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A command's result: text for people, an object for --json, and whether it is a yes."""

    ok: bool
    text: str
    value: JsonObject


class BadInput(click.ClickException):
    """Input that cannot be used; main() prints the message as one line and returns 2."""

    exit_code = 2


def example(line: str) -> str:
    """The last lines of a command's help, kept unwrapped by click."""
    return f"\b\nExample:\n  {line}"


def answering(line: str) -> Callable[[Callable[..., Answer]], click.Command]:
    """Make a command of a function that returns an Answer: its exit code is 0 for yes, 1 for no.

    The command has the option --json; ``line`` is the example in its help. Its outputs, options of
    the type OUTPUT_FILE, are checked against its inputs before the function is called.
    """

    def decorate(function: Callable[..., Answer]) -> click.Command:
        @click.pass_context
        def run(context: click.Context, /, as_json: bool, **options: Any) -> None:
            _check_outputs(context.command.params, options)
            try:
                answer = function(**options)
            except UsageError as error:
                raise BadInput(str(error)) from error
            click.echo(json.dumps(answer.value) if as_json else answer.text)
            context.exit(0 if answer.ok else 1)

        command = click.command(epilog=example(line))(functools.update_wrapper(run, function))
        as_json = click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object.")
        command.params.append(as_json)
        return command

    return decorate


@contextmanager
def blaming(file: Path, *errors: type[Exception]) -> Iterator[None]:
    """Turn an OSError, or one of ``errors``, into bad input that names ``file``."""
    kinds: tuple[type[Exception], ...] = (OSError, *errors)
    try:
        yield
    except kinds as error:
        message = str(error) if str(file) in str(error) else f"{file}: {error}"
        raise BadInput(message) from error


def _check_outputs(parameters: list[click.Parameter], options: Options) -> None:
    """Before any work, refuse an output that cannot be written, is an input or another output."""
    given = {
        one: options[one.name] for one in parameters if options.get(one.name or "") is not None
    }
    outs = [one for one in given if one.type is OUTPUT_FILE]
    inputs: list[Path] = []
    for one, value in given.items() if outs else ():
        if one.type in (INPUT_FILE, INPUT_FOLDER):
            inputs += value if isinstance(value, tuple) else [value]
        elif isinstance(one.type, NamedInput):
            inputs.append(one.type.where(value))
    outputs: dict[str, str] = {}
    for one in outs:
        out, option = given[one], max(one.opts, key=len)
        try:
            check_output(out, *inputs)
        except UsageError as error:
            raise BadInput(f"{option}: {error}") from error
        other = outputs.setdefault(os.path.realpath(out), option)
        if other != option and (out.is_file() or not out.exists()):
            raise BadInput(f"{option}: {out} is also {other}: name another file")
