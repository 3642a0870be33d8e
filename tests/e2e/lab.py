"""JupyterLab on a port of its own, and what a reader does in it."""

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from tests.e2e.browser import Page

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {
    # Neither news nor updates: nothing here shall ask the network.
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    # Outputs that are scrolled away stay in the page.
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
}
FLAGS = (
    "--no-browser",
    "--allow-root",
    "--ip=127.0.0.1",
    "--ServerApp.port_retries=0",
    "--IdentityProvider.token=",
    "--expose-app-in-browser",
    "--LabApp.news_url=None",
    "--LabApp.extension_manager=readonly",
)
IDLE = """const {currentWidget} = window.jupyterapp?.shell ?? {};
return currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"""
COMMAND = """const [name, args, done] = arguments;
jupyterapp.commands.execute(name, args).then(() => done(''), error => done(`${error}`))"""
CELLS = """return jupyterapp.shell.currentWidget.content.widgets.map(
  cell => ({...cell.model.toJSON(), execution_count: cell.model.executionCount}))"""


def missing() -> str | None:
    """Why JupyterLab cannot run here, or None."""
    for name in ("jupyterlab", "ipykernel", "ipywidgets"):
        if importlib.util.find_spec(name) is None:
            return f'{name} is not installed: pip install "pagesim[lab,test]"'
    return None


@dataclass(slots=True)
class Lab:
    """A running JupyterLab: its address, and the folder that it serves."""

    url: str
    root: Path

    def notebook(self, name: str, *sources: str) -> str:
        """Write a notebook of code cells; returns its path within the root."""
        v4 = nbformat.v4
        cells = [v4.new_code_cell(source) for source in sources]
        # Without a kernel's name JupyterLab would ask for one.
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        notebook = v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
        nbformat.write(notebook, self.root / name)
        return name

    def copy(self, chapter: str, name: str) -> str:
        """A chapter under another name; returns its path within the root."""
        shutil.copy(ROOT / "notebooks" / chapter, self.root / name)
        return name

    def sign(self, path: str) -> None:
        """What `make lab` does before it opens JupyterLab (test_packaging.py reads it there)."""
        command = [sys.executable, "-m", "nbformat.sign", str(self.root / path)]
        subprocess.run(command, env=_environment(self.root.parent), check=True)

    def open(self, page: Page, path: str) -> None:
        """Open a notebook and wait until its kernel is idle."""
        page.driver.get(f"{self.url}/lab/tree/{path}?reset")
        page.until(IDLE)

    def command(self, page: Page, name: str, **arguments: Any) -> None:
        """One of JupyterLab's commands, awaited."""
        error = page.driver.execute_async_script(COMMAND, name, arguments)
        assert error == "", error

    @contextmanager
    def dark(self, page: Page) -> Iterator[None]:
        """JupyterLab's dark theme, and then the light one again."""
        self.command(page.top(), "apputils:change-theme", theme="JupyterLab Dark")
        try:
            yield
        finally:
            self.command(page.top(), "apputils:change-theme", theme="JupyterLab Light")

    def run_all(self, page: Page) -> list[dict[str, Any]]:
        """Run all cells; returns them. Every code cell was run, and none with an error."""
        self.command(page, "notebook:run-all-cells")
        page.until(IDLE)
        cells = self.cells(page)
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        assert code and all(cell["execution_count"] for cell in code if cell["source"])
        outputs = [output for cell in code for output in cell["outputs"]]
        errors = [output["evalue"] for output in outputs if output["output_type"] == "error"]
        assert errors == []
        assert page.all('[data-mime-type="application/vnd.jupyter.error"]') == []
        return cells

    def cells(self, page: Page) -> list[dict[str, Any]]:
        """The cells as the notebook has them now."""
        return page.js(CELLS)


@contextmanager
def serve(folder: Path) -> Iterator[Lab]:
    """Run JupyterLab on a copy of the chapters; its files and settings all lie in `folder`."""
    root = folder / "root"
    shutil.copytree(ROOT / "notebooks", root / "notebooks", ignore=_only_notebooks)
    settings = folder / "JUPYTER_CONFIG" / "labconfig" / "default_setting_overrides.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps(SETTINGS), encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", *FLAGS]
    command += [f"--port={port}", f"--ServerApp.root_dir={root}"]
    with (folder / "lab.log").open("w+", encoding="utf-8") as log:
        server = subprocess.Popen(command, env=_environment(folder), stdout=log, stderr=log)
        try:
            _await(f"http://127.0.0.1:{port}/api/status", server, folder / "lab.log")
            yield Lab(f"http://127.0.0.1:{port}", root)
        finally:
            server.terminate()
            server.wait(30)


def _only_notebooks(_folder: str, names: list[str]) -> set[str]:
    return {name for name in names if not name.endswith(".ipynb")}


def _environment(folder: Path) -> dict[str, str]:
    kinds = ("JUPYTER_CONFIG", "JUPYTER_DATA", "JUPYTER_RUNTIME")
    kinds += ("JUPYTERLAB_SETTINGS", "JUPYTERLAB_WORKSPACES")
    own = {f"{kind}_DIR": str(folder / kind) for kind in kinds}
    own["IPYTHONDIR"] = str(folder / "ipython")
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    teachers = {
        "JUPYTER_CONFIG_PATH": str(ROOT / "pagesim" / "commands" / "jupyter")
    }  # as `make lab` has it
    return os.environ | own | teachers | {"PYTHONPATH": os.pathsep.join(paths)}


def _await(url: str, server: subprocess.Popen[bytes], log: Path, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and server.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"JupyterLab did not start: {log.read_text(encoding='utf-8')[-2000:]}")
