"""Prove that constraints.txt can be installed on Linux, macOS and Windows, from the index alone.

A pin that only this machine can satisfy (a wheel in a local folder, a version without wheels for
Windows) breaks a stranger's first `make`. So `make lint` asks uv to resolve all of pyproject.toml
for each system, with wheels only, and then checks that every package in the answer is pinned here
at that very version: what is not pinned would drift.

    python tests/lint/resolve_constraints.py                      check
    python tests/lint/resolve_constraints.py --write              make constraints.txt anew
    python tests/lint/resolve_constraints.py --write --upgrade    newest of all but torch and triton

Exit code 0: resolves (or skipped with a printed reason: no network, no uv), 1: it does not.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONSTRAINTS = ROOT / "constraints.txt"
PLATFORMS = ("linux", "macos", "windows")
PYTHONS = ("3.11", "3.13")
HELD = ("torch", "triton")

# uv's words when it could not ask; "No solution found" alone is an answer, not a silence.
UNREACHABLE = re.compile(
    r"error sending request|network was disabled|dns error|HTTP status server error"
    r"|are you offline|operation timed out",
    re.IGNORECASE,
)

Runner = Callable[[list[str]], "subprocess.CompletedProcess[str]"]


class OfflineError(Exception):
    """The index could not be asked; the message is the shortest reason uv gave."""


class ResolutionError(Exception):
    """The index answered, and the constraints cannot be met; the message is uv's explanation."""


def run_uv(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Run `uv pip compile` so that only the index counts: no local wheels, no user's settings."""
    environment = {k: v for k, v in os.environ.items() if k != "UV_FIND_LINKS"}
    environment["UV_SYSTEM_CERTS"] = "1"
    # torch's wheel for Apple silicon is built for macOS 14; uv would assume an older one.
    environment["MACOSX_DEPLOYMENT_TARGET"] = "14.0"
    command = [sys.executable, "-m", "uv", "pip", "compile", "--no-config", "--quiet"]
    return subprocess.run(
        [*command, "--all-extras", "--no-annotate", "--no-header", *arguments, "pyproject.toml"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def resolve(arguments: list[str], runner: Runner) -> str:
    """Return the resolved `name==version` lines. Raises OfflineError or ResolutionError."""
    done = runner(arguments)
    if done.returncode == 0:
        return done.stdout
    reason = UNREACHABLE.search(done.stderr)
    if reason:
        line = next(line for line in done.stderr.splitlines() if reason.group() in line)
        raise OfflineError(line.strip())
    raise ResolutionError(done.stderr.strip())


def pins(text: str) -> dict[str, str]:
    """Read `name==version` lines; comments, markers and the case of names do not matter."""
    found = {}
    for line in text.splitlines():
        match = re.match(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;#]+)", line.strip())
        if match:
            found[re.sub(r"[-_.]+", "-", match[1]).lower()] = match[2]
    return found


def loose(resolved: dict[str, str], pinned: dict[str, str]) -> list[str]:
    """Name what an install would bring that constraints.txt does not hold at that version."""
    return [
        f"{name}=={version} is " + (f"pinned as {pinned[name]}" if name in pinned else "not pinned")
        for name, version in sorted(resolved.items())
        if pinned.get(name) != version
    ]


def check(runner: Runner = run_uv) -> int:
    """Resolve for every system and Python; print one line each. Returns the exit code."""
    pinned = pins(CONSTRAINTS.read_text(encoding="utf-8"))
    failures = 0
    for python in PYTHONS:
        for platform in PLATFORMS:
            where = f"constraints, {platform}, Python {python}"
            target = ["--python-platform", platform, "--python-version", python]
            try:
                answer = resolve([*target, "--no-build", "-c", str(CONSTRAINTS)], runner)
            except OfflineError as offline:
                print(f"{where}: skipped, the package index cannot be reached ({offline})")
                return 1 if failures else 0
            except ResolutionError as problem:
                print(f"{where}: DOES NOT RESOLVE\n{problem}")
                failures += 1
                continue
            resolved = pins(answer)
            if drifting := loose(resolved, pinned):
                print(f"{where}: NOT ALL PINNED\n  " + "\n  ".join(drifting))
                failures += 1
            else:
                print(f"{where}: {len(resolved)} packages, all pinned")
    return 1 if failures else 0


def write(upgrade: bool, runner: Runner = run_uv) -> int:
    """Write constraints.txt anew under its own opening comment. Returns the exit code."""
    old = CONSTRAINTS.read_text(encoding="utf-8")
    opening = "".join(line + "\n" for line in old.splitlines() if line.startswith("#"))
    lines = [line for line in old.splitlines() if not line.startswith("#")]
    held = [line for line in lines if line.split("==")[0] in HELD]
    with tempfile.TemporaryDirectory() as folder:
        keep, output = Path(folder) / "held.txt", Path(folder) / "constraints.txt"
        keep.write_text("\n".join(held) + "\n", encoding="utf-8")
        # An output file that exists already is uv's list of preferred versions.
        output.write_text("\n".join([] if upgrade else lines) + "\n", encoding="utf-8")
        target = ["--universal", "--python-version", PYTHONS[0], "--fork-strategy", "fewest"]
        try:
            resolve([*target, "-c", str(keep), "-o", str(output)], runner)
        except (OfflineError, ResolutionError) as problem:
            print(f"constraints.txt is left as it was: {problem}")
            return 1
        CONSTRAINTS.write_text(opening + output.read_text(encoding="utf-8"), encoding="utf-8")
    print(f"wrote {CONSTRAINTS.name}: {len(pins(CONSTRAINTS.read_text('utf-8')))} pins")
    return 0


def main() -> int:
    """Read the command line and do what it asks."""
    parser = argparse.ArgumentParser(description="Check (or write) constraints.txt.")
    parser.add_argument("--write", action="store_true", help="make constraints.txt anew")
    parser.add_argument("--upgrade", action="store_true", help="with --write: newest versions")
    options = parser.parse_args()
    if find_spec("uv") is None:
        print('constraints: skipped, uv is not installed here (pip install "pagesim[test]")')
        return 0
    return write(options.upgrade) if options.write else check()


if __name__ == "__main__":
    sys.exit(main())
