"""`pagesim exercises`: the exercises of the course as notebooks for a class."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pagesim.commands.common import BadInput, blaming, example

CHAPTER = click.option(
    "--chapter", "wanted", type=int, multiple=True, help="Only this chapter; may be repeated."
)
FORCE = click.option("--force", is_flag=True, help="Overwrite notebooks that are there already.")
FOLDER = click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))


@click.group(epilog=example("pagesim exercises release handout --chapter 2"))
def exercises() -> None:
    """List the exercises, and write their notebooks for students and teachers."""


@exercises.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
def show(as_json: bool) -> None:
    """List the exercises: number, stars, points and title."""
    from pagesim.exercises import all as every

    if as_json:
        fields = ("number", "title", "chapter", "stars", "points", "needs_triton", "vllm")
        click.echo(json.dumps([{name: getattr(e, name) for name in fields} for e in every()]))
        return
    for e in every():
        click.echo(f"{e.number:5} {'*' * e.stars:3} {e.points:2}  {e.title}")
    click.echo(f"{len(every())} exercises, {sum(e.points for e in every())} points")


@exercises.command(epilog=example("pagesim exercises release handout"))
@FOLDER
@CHAPTER
@FORCE
def release(folder: Path, wanted: tuple[int, ...], force: bool) -> None:
    """Write the students' notebooks into DIR.

    Exit code 2, and nothing written, when a notebook is there already with another text.
    """
    _write(folder, wanted, solutions=False, force=force)


@exercises.command(epilog=example("pagesim exercises solutions source/ex02 --chapter 2"))
@FOLDER
@CHAPTER
@FORCE
def solutions(folder: Path, wanted: tuple[int, ...], force: bool) -> None:
    """Write the teachers' notebooks into DIR: with solutions and hidden tests.

    They are what nbgrader calls source notebooks. Exit codes as with release.
    """
    _write(folder, wanted, solutions=True, force=force)


def _write(folder: Path, wanted: tuple[int, ...], *, solutions: bool, force: bool) -> None:
    from pagesim.errors import UsageError
    from pagesim.exercises import notebooks

    known = notebooks.chapters()
    for chapter in wanted:
        if chapter not in known:
            raise BadInput(f"--chapter: {chapter} has no exercises; these have: {known}")
    try:
        with blaming(folder):
            written = notebooks.write(folder, wanted or known, solutions=solutions, force=force)
    except UsageError as error:
        raise BadInput(str(error)) from error
    for path in written:
        click.echo(path)
