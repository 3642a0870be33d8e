"""Runs a notebook in a fresh kernel: this interpreter, whatever kernels Jupyter knows."""

import os
import re
import sys
import tempfile
from pathlib import Path

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from tools.course import ROOT
from tools.course.canonical import NotebookError, place_of, read

ANSI = re.compile(r"\x1b\[[0-9;]*m")
QUIET = "--IPKernelApp.log_level=40"  # its warnings are about transport, not the course


class ThisInterpreter(AsyncKernelManager):
    """Starts ipykernel in this Python rather than in one that Jupyter finds."""

    @property
    def kernel_spec(self) -> KernelSpec:
        return KernelSpec(
            argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", QUIET],
            display_name="this interpreter",
            language="python",
        )


def child_environment(scratch: str) -> dict[str, str]:
    """This environment without what would make two readers' outputs differ."""
    env = {k: v for k, v in os.environ.items() if k not in {"MPLBACKEND", "PYTHONHASHSEED"}}
    paths = [env["PYTHONPATH"]] if env.get("PYTHONPATH") else []
    return env | {
        "IPYTHONDIR": scratch,  # none of the user's start-up files or history
        "OMP_NUM_THREADS": "1",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "PYTHONPATH": os.pathsep.join([*paths, str(ROOT)]),
    }


async def run(path: Path, timeout: float = 120.0) -> NotebookNode:
    """Run a notebook in its own folder and a fresh kernel; returns it with its new outputs.

    `timeout` is for one cell, in seconds. Raises NotebookError for the first cell that fails.
    """
    notebook = read(path)
    manager = ThisInterpreter()
    client = NotebookClient(notebook, km=manager, timeout=timeout)
    with tempfile.TemporaryDirectory() as scratch:
        if sys.platform != "win32":
            # A port is found first and taken later: two kernels at once may find the same one.
            manager.transport, manager.ip = "ipc", str(Path(scratch) / "kernel")
        start = {"cwd": str(path.resolve().parent), "env": child_environment(scratch)}
        where = f"{path.name}, starting the kernel"
        try:
            # Else nbclient leaves alive a kernel whose manager is not its own.
            async with client.async_setup_kernel(cleanup_kc=True, **start):
                for number, cell in enumerate(notebook.cells):
                    where = f"{path.name}, {place_of(number, cell)}"
                    await client.async_execute_cell(cell, number)
        except CellExecutionError as error:
            raise NotebookError(f"{where}: {_reason(error)}") from None
        except CellTimeoutError:
            raise NotebookError(f"{where}: not done after {timeout:g} s") from None
        except DeadKernelError:
            raise NotebookError(f"{where}: the kernel died") from None
        except RuntimeError as error:
            raise NotebookError(f"{where}: {error}") from None
    return notebook


def _reason(error: CellExecutionError) -> str:
    """The exception, and the line of the cell it came from, instead of the whole traceback."""
    frames = ANSI.sub("", error.traceback).splitlines()
    line = next((frame for frame in frames if re.match(r"-+> ?\d+ ", frame)), "")
    return f"{error.ename}: {error.evalue}" + (f"\n    {line.strip()}" if line else "")
