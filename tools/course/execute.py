"""Check that every chapter still gives the outputs it was committed with, or write new ones.

    python -m tools.course.execute                        run all chapters, exit 1 on a difference
    python -m tools.course.execute --write 02_*.ipynb     run and write the outputs

The outputs of a cell tagged ``machine`` describe the machine: it must run, but they are neither
kept nor compared.
"""

import argparse
import asyncio
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from pagesim.player.describe import counted
from tools.course import NOTEBOOKS
from tools.course.canonical import NotebookError, dumps, read
from tools.course.compare import differences
from tools.course.run import run

NOTEBOOK_SECONDS, COURSE_SECONDS = 60, 180


@dataclass(slots=True)
class Outcome:
    """How long one notebook took, and what is wrong with it."""

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
                    f"    python -m tools.course.execute --write {path.name}"
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
    parser.add_argument("notebooks", nargs="*", type=Path, help="all of the course if none")
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        parser.error(f"--jobs {options.jobs}: at least 1")
    paths = [_locate(path) for path in options.notebooks] or sorted(NOTEBOOKS.glob("*.ipynb"))
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
    passed = counted(len(outcomes) - len(failed), "notebook")
    print(f"{passed} passed, {len(failed)} failed in {seconds:.1f} s{over}")
    return 1 if failed else 0


def _locate(path: Path) -> Path:
    """A path as given, or the course's notebook of that name."""
    return path if path.exists() or not (NOTEBOOKS / path.name).exists() else NOTEBOOKS / path.name


if __name__ == "__main__":
    sys.exit(main())
