"""`pagesim exercises`: the exercises of the course as notebooks for a class."""

from pathlib import Path

import click

from pagesim.commands.common import Answer, BadInput, answering, blaming, example

CHAPTER = click.option(
    "--chapter",
    "wanted",
    type=int,
    multiple=True,
    help="Write only the exercises of this chapter; may be repeated.  [default: all]",
)
FORCE = click.option("--force", is_flag=True, help="Overwrite notebooks that already exist.")
FOLDER = click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
FIELDS = ("number", "title", "chapter", "stars", "points", "needs_triton", "vllm")


@click.group(epilog=example("pagesim exercises release handout"))
def exercises() -> None:
    """List the exercises, or write their notebooks for a class."""


@answering("pagesim exercises list")
def show() -> Answer:
    """List the number, stars, points and title of each exercise."""
    from pagesim.exercises import all as every

    lines = [f"{e.number:5} {'*' * e.stars:3} {e.points:2}  {e.title}" for e in every()]
    lines.append(f"{len(every())} exercises, {sum(e.points for e in every())} points")
    value = [{name: getattr(e, name) for name in FIELDS} for e in every()]
    return Answer(True, "\n".join(lines), {"exercises": value})


@answering("pagesim exercises release handout --chapter 2")
@FOLDER
@CHAPTER
@FORCE
def release(folder: Path, wanted: tuple[int, ...], force: bool) -> Answer:
    """Write the students' notebooks into DIR.

    Exit code 2, and nothing is written, when a notebook already exists with different content and
    --force is not given.
    """
    return _write(folder, wanted, solutions=False, force=force)


@answering("pagesim exercises solutions source/ex02 --chapter 2")
@FOLDER
@CHAPTER
@FORCE
def solutions(folder: Path, wanted: tuple[int, ...], force: bool) -> Answer:
    """Write the teachers' notebooks, with solutions, into DIR.

    They also contain the hidden tests: nbgrader calls them source notebooks. The exit codes are
    those of release.
    """
    return _write(folder, wanted, solutions=True, force=force)


def _write(folder: Path, wanted: tuple[int, ...], *, solutions: bool, force: bool) -> Answer:
    from pagesim.errors import UsageError
    from pagesim.exercises import notebooks

    known = notebooks.chapters()
    for chapter in wanted:
        if chapter not in known:
            raise BadInput(f"--chapter: chapter {chapter} has no exercises; choose from {known}")
    with blaming(folder, UsageError):
        written = notebooks.write(folder, wanted or known, solutions=solutions, force=force)
    names = [str(path) for path in written]
    return Answer(True, "\n".join(names), {"written": names})


exercises.add_command(show, "list")
exercises.add_command(release)
exercises.add_command(solutions)
