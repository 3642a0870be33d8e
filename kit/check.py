#!/usr/bin/env python3
"""Compares the answers of a simulator with recordings of vLLM, line by line.

    python3 check.py traps -- ./my_simulator          runs the program once for each file
    python3 check.py --give FILE > CALLS              writes what the program reads
    ./my_simulator < CALLS | python3 check.py FILE    compares what the program has printed

The program reads a header and then one call per line, and prints one answer per call. FORMAT.md
says what is in them. FILE is a recording, also one in .gz, or a folder with recordings.

Exit codes: 0 all answers are equal, 1 an answer differs or is missing, 2 the command is wrong.
This is one file that needs only Python's standard library.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import zlib
from math import isclose
from pathlib import Path
from typing import Any

CALL = ("i", "op", "args")
ANSWER = ("ret", "error", "state")
"""What a recorded line holds: a call and its answer."""

MISSING = "(nothing)"


class BadInputError(Exception):
    """The command or a recording is wrong: exit code 2."""


def main(arguments: list[str]) -> int:
    """Run the command, print what it found, and return the exit code."""
    mine, program = arguments, list[str]()
    if "--" in arguments:
        mine, program = arguments[: arguments.index("--")], arguments[arguments.index("--") + 1 :]
    options = parser().parse_args(mine)
    files = [file for path in options.paths for file in recordings(Path(path))]
    if not program and len(files) != 1:
        raise BadInputError(f"{len(files)} files need a program to run: add -- PROGRAM")
    if options.give:
        sys.stdout.write(calls(recorded(files[0])))
        return 0
    equal = 0
    for file in files:
        lines = recorded(file)
        names = chosen(lines, options.only, file)
        answers, end = run(program, calls(lines), options.seconds) if program else given()
        difference = compare(lines, answers, names, end)
        well = f"{len(lines) - 1} answers are equal ({', '.join(names)})"
        print(f"{file}: {difference or well}", flush=True)
        equal += difference is None
    if len(files) > 1:
        print(f"{equal} of {len(files)} files are equal")
    return 0 if equal == len(files) else 1


def parser() -> argparse.ArgumentParser:
    """The options before ``--``."""
    made = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0],
        usage="check.py [--only NAMES] FILE_OR_FOLDER ... [-- PROGRAM ...]",
    )
    made.add_argument("paths", nargs="+", metavar="FILE_OR_FOLDER")
    made.add_argument("--give", action="store_true", help="print the calls and compare nothing")
    made.add_argument(
        "--only",
        metavar="NAMES",
        help="compare only these parts of an answer, such as tokens,preempted, or all; by default "
        "what the header's member check says, and otherwise all",
    )
    made.add_argument("--seconds", type=float, default=60, help="for each file (default 60)")
    return made


# -- recordings ------------------------------------------------------------------------------------


def recordings(path: Path) -> list[Path]:
    """The recordings at a path."""
    if not path.is_dir():
        return [path]
    found = sorted([*path.rglob("*.jsonl"), *path.rglob("*.jsonl.gz")])
    if not found:
        raise BadInputError(f"{path}: there is no recording in this folder")
    return found


def recorded(path: Path) -> list[dict[str, Any]]:
    """The lines of a recording: its header, and calls with their answers."""
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode()
        lines = [json.loads(line) for line in split(text)]
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise BadInputError(f"{path}: this is not a recording: {error}") from None
    if not lines or not all(isinstance(line, dict) for line in lines) or "kind" not in lines[0]:
        raise BadInputError(f"{path}: this is not a recording: FORMAT.md says what one looks like")
    return lines


def split(text: str) -> list[str]:
    """The lines of a text; Python's splitlines() knows more ends of lines than JSON Lines has."""
    return text.removesuffix("\n").split("\n") if text else []


def calls(lines: list[dict[str, Any]]) -> str:
    """What the program reads: the lines without their answers."""
    kept = [lines[0], *({key: line.get(key) for key in CALL} for line in lines[1:])]
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in kept)


def chosen(lines: list[dict[str, Any]], only: str | None, file: Path) -> list[str]:
    """The parts of an answer that are to be compared."""
    names = only.split(",") if only else lines[0].get("check", ["all"])
    if not isinstance(names, list):
        raise BadInputError(f"{file}: check must be a list of names, not {names!r}")
    for name in names:
        if name != "all" and not any(parts(line, [name]).keys() - {"error"} for line in lines):
            raise BadInputError(f"{file}: no answer has a part {name!r}")
    return names


# -- answers ---------------------------------------------------------------------------------------


def given() -> tuple[list[str], str]:
    """The answers from standard input."""
    return split(sys.stdin.buffer.read().decode(errors="replace")), "the answers end here"


def run(program: list[str], text: str, seconds: float) -> tuple[list[str], str]:
    """The answers of a program to these calls, and how it ended."""
    try:
        done = subprocess.run(
            program, input=text.encode(), stdout=subprocess.PIPE, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as slow:
        answers = split((slow.stdout or b"").decode(errors="replace"))
        return answers, f"the program has not ended after {seconds:g} seconds"
    except OSError as error:
        raise BadInputError(f"the program cannot be started: {error}") from None
    end = f"the program has ended with exit code {done.returncode}"
    return split(done.stdout.decode(errors="replace")), end


def compare(
    lines: list[dict[str, Any]], answers: list[str], names: list[str], end: str
) -> str | None:
    """The first difference in words; None if all answers are equal."""
    for number, line in enumerate(lines[1:], 2):
        call = f"{line.get('op')} {shown(line.get('args', {}), 100)}"
        where = f"line {number}, call {line.get('i')}: {call}"
        if len(answers) < number - 1:
            return f"{where}\n  there is no answer: {end}"
        try:
            got = json.loads(answers[number - 2])
        except (ValueError, RecursionError):
            got = None
        if not isinstance(got, dict):
            return f"{where}\n  this answer is not a JSON object: {answers[number - 2]!r:.80}"
        if "state" not in line:
            got.pop("state", None)
        if found := first_difference(parts(line, names), parts(got, names)):
            path, expected, other = found
            return f"{where}\n  {path}\n    expected {shown(expected)}\n    got      {shown(other)}"
    if len(answers) >= len(lines):
        return f"{len(answers)} answers to {len(lines) - 1} calls: print one line per call"
    return None


def parts(line: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """The parts of an answer that are compared; ``error`` always is.

    A member that is null is missing, and so is an empty one of the state.
    """
    answer = {key: line[key] for key in ANSWER if line.get(key) is not None}
    if isinstance(state := answer.get("state"), dict):
        answer["state"] = {key: part for key, part in state.items() if part not in ({}, [], None)}
    if "all" in names:
        return answer
    for key in answer.keys() - {"error"}:
        members = answer[key].items() if isinstance(answer[key], dict) else ()
        answer[key] = {name: part for name, part in members if name in names}
    return {key: part for key, part in answer.items() if part != {}}


def first_difference(expected: Any, got: Any, path: str = "") -> tuple[str, Any, Any] | None:
    """Where two JSON values differ, and the two values there; None if they are equal."""
    if isinstance(expected, dict) and isinstance(got, dict):
        for key in [*expected, *(key for key in got if key not in expected)]:
            pair = expected.get(key, MISSING), got.get(key, MISSING)
            if found := first_difference(*pair, f"{path}.{key}".lstrip(".")):
                return found
        return None
    if isinstance(expected, list) and isinstance(got, list):
        is_equal = len(expected) == len(got) and not any(map(first_difference, expected, got))
    elif float in (type(expected), type(got)) and {type(expected), type(got)} <= {int, float}:
        is_equal = abs(got) < 1e300 and isclose(expected, got, rel_tol=0, abs_tol=1e-9)
    else:
        is_equal = type(expected) is type(got) and expected == got
    return None if is_equal else (path, expected, got)


def shown(value: Any, longest: int = 300) -> str:
    """A value in one line."""
    text = value if value is MISSING else json.dumps(value, separators=(",", ":"))
    return text if len(text) <= longest else f"{text[:longest]}..."


if __name__ == "__main__":
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
        sys.exit(code)
    except BrokenPipeError:  # of `--give FILE | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except BadInputError as error:
        print(f"check: {error}", file=sys.stderr)
        sys.exit(2)
