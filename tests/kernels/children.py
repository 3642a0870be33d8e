"""Running Python in a child process: what happens at import can be tested only once a process."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
nightly = pytest.mark.skipif(
    "PAGESIM_KERNELS" not in os.environ, reason="make nightly: a process of its own, or a compiler"
)


def python(
    *arguments: str | Path,
    path: Path | None = None,
    cwd: Path = ROOT,
    **environment: str | None,
) -> subprocess.CompletedProcess[str]:
    """Run Python on the checkout; a variable given as None is unset, `path` is searched first."""
    folders = [path, ROOT, os.environ.get("PYTHONPATH")]
    search = os.pathsep.join(str(folder) for folder in folders if folder)
    variables = {**os.environ, "PYTHONPATH": search}
    # The parent is interpreting or not; the child shall find out for itself.
    variables.pop("TRITON_INTERPRET", None)
    for name, value in environment.items():
        if value is None:
            variables.pop(name, None)
        else:
            variables[name] = value
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=variables,
        timeout=300,
        check=False,
    )


def block_import(folder: Path, *names: str) -> Path:
    """A folder to put first on the path, in which importing these packages fails as if missing."""
    for name in names:
        message = f"No module named {name!r}"
        (folder / f"{name}.py").write_text(f"raise ModuleNotFoundError({message!r}, name={name!r})")
    return folder


def copy_package(folder: Path) -> None:
    """pagesim with its kernels, to be changed: put the folder first on the path."""
    for name in ("pagesim", "kernels"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__py*", "js"))
