"""Runs a tool on the packages as a wheel lays them out: ``python -m tools.laid_out mypy``.

In a clone `kernels` and `figures` stand beside `pagesim` (see `pagesim.starting`), which Python
follows and a tool that only reads files does not. So the files are copied to build/laid_out, those
that changed, and the tool's findings are printed with the paths of the clone.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LAID_OUT = ROOT / "build" / "laid_out"
FOLDERS = ("kernels", "figures")


def places() -> dict[Path, Path]:
    """Where each file of a wheel is in the clone."""
    found = {}
    for name in ("pagesim", "tools", "kit", *FOLDERS):
        inside = Path("pagesim", name) if name in FOLDERS else Path(name)
        for path in sorted((ROOT / name).rglob("*.py*")):
            if path.suffix != ".pyc":
                found[inside / path.relative_to(ROOT / name)] = path.relative_to(ROOT)
    for name in FOLDERS:
        found[Path("pagesim", name, "__init__.py")] = found.pop(Path("pagesim", f"{name}.py"))
    return found | {Path("pyproject.toml"): Path("pyproject.toml")}


def lay_out() -> dict[Path, Path]:
    """Bring the copies up to date; returns their places."""
    files = places()
    for old in set(LAID_OUT.rglob("*.py*")) - {LAID_OUT / copy for copy in files}:
        old.unlink()
    for copy, path in files.items():
        there, here = LAID_OUT / copy, ROOT / path
        if not there.exists() or there.stat().st_mtime_ns != here.stat().st_mtime_ns:
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(here, there)
    return files


def main() -> int:
    """Run a module of Python over the laid-out tree; its exit code."""
    files = lay_out()
    done = subprocess.run(
        [sys.executable, "-m", *sys.argv[1:]],
        cwd=LAID_OUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    text = done.stdout
    for copy, path in files.items():
        if copy != path:
            text = text.replace(str(copy), str(path))
    print(text, end="")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
