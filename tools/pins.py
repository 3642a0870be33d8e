"""constraints.txt from pyproject.toml, by uv: ``python -m tools.pins --write``, or a check of it.

One resolution holds for Linux, macOS and Windows and every Python from 3.11, and what is pinned
already stays. The check resolves again and compares, and asks for wheels on each system. More
arguments go to uv: ``--write --upgrade-package numpy``. Exit code 1: the pins are out of date, or
do not resolve; 0 as well where the index cannot be reached.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
PINS = ROOT / "constraints.txt"
COMPILE = ("uv", "pip", "compile", "--no-config", "--quiet", "--all-extras", "--no-annotate")
UNIVERSAL = (
    "--universal",
    "--python-version=3.11",
    "--fork-strategy=fewest",
    "--custom-compile-command=make pins",
)
SYSTEMS = ("linux", "macos", "windows")
PYTHONS = ("3.11", "3.12", "3.13")
UNREACHABLE = re.compile(
    r"error sending request|network was disabled|dns error|timed out|server error"
)


def compile_pins(*options: str) -> None:
    """Run uv; SystemExit with code 0 if it cannot ask, with its words if there is no answer."""
    # Only the index counts; torch's wheel for Apple silicon is built for macOS 14.
    environment = {name: value for name, value in os.environ.items() if name != "UV_FIND_LINKS"}
    environment |= {"UV_SYSTEM_CERTS": "1", "MACOSX_DEPLOYMENT_TARGET": "14.0"}
    command = [sys.executable, "-m", *COMPILE, *options, "pyproject.toml"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return
    if UNREACHABLE.search(done.stderr):
        print(f"pins: skipped, the package index cannot be reached: {done.stderr.splitlines()[-1]}")
        raise SystemExit(0)
    raise SystemExit(f"constraints.txt does not resolve {' '.join(options)}\n{done.stderr}")


def main(arguments: list[str]) -> None:
    """Test that the pins are up to date, or write them."""
    if "--write" in arguments:
        rest = [one for one in arguments if one != "--write"]
        compile_pins(*UNIVERSAL, "-o", str(PINS), *rest)
        return
    with TemporaryDirectory() as folder:
        again = Path(folder, PINS.name)
        again.write_bytes(PINS.read_bytes())  # what is pinned is preferred
        compile_pins(*UNIVERSAL, "-o", str(again), *arguments)
        if again.read_bytes() != PINS.read_bytes():
            raise SystemExit("constraints.txt is not what pyproject.toml asks for: make pins")
    for system in SYSTEMS:
        for python in PYTHONS:
            target = (f"--python-platform={system}", f"--python-version={python}")
            compile_pins(*target, "--no-build", "-c", str(PINS))
    print(f"pins: up to date, with wheels for {', '.join(SYSTEMS)} and {', '.join(PYTHONS)}")


if __name__ == "__main__":
    main(sys.argv[1:])
