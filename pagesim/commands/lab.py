"""`pagesim lab`: the course in a folder of one's own, opened in JupyterLab."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import click

from pagesim.commands.common import Answer, BadInput, answering, blaming

CONFIG = Path(__file__).with_name("jupyter")
"""What JupyterLab is told: a notebook that was only read need not be saved; no teacher's menus."""

FIRST = "00_start_here.ipynb"


@answering("pagesim lab course")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.argument("flags", metavar="[-- FLAGS]", nargs=-1)
@click.option("--keep", is_flag=True, help="Keep what is in DIR, and write only what is missing.")
@click.option("--open/--no-open", "open_it", default=True, help="Open DIR in JupyterLab.")
def lab(folder: Path, flags: tuple[str, ...], keep: bool, open_it: bool) -> Answer:
    """Write the course into DIR, and open it in JupyterLab.

    DIR gets the chapters, and a folder with the exercises. FLAGS are passed on to JupyterLab. Exit
    code 2, and nothing is written, when DIR has files in it and --keep is not given, or when
    JupyterLab is not installed.
    """
    from pagesim.commands.findings import install_command, installed_version

    if open_it and find_spec("jupyterlab") is None:
        way = f"install it with {install_command('kernels,lab')}, or use --no-open"
        raise BadInput(f"JupyterLab is not installed: {way}")
    with blaming(folder):
        if not keep and folder.exists() and any(folder.iterdir()):
            way = "name a new folder, or keep what is in it with --keep"
            raise BadInput(f"{folder} is not empty: {way}")
        written = lay_out(folder)
    text = f"{folder}: {len(written)} notebooks written; the first chapter is {FIRST}"
    if installed_version("torch") is None:
        text += f"\nChapters that run kernels also need torch: {install_command('kernels')}"
    value = {"folder": str(folder), "written": [str(path) for path in written]}
    if not open_it:
        return Answer(True, text, value)
    click.echo(text, err=True)
    code = start(folder, flags)
    again = f"To open the course again: pagesim lab {folder} --keep"
    return Answer(code == 0, again, value | {"jupyterlab": code})


def lay_out(folder: Path) -> list[Path]:
    """Write those notebooks of the course that are missing; which ones these are."""
    from pagesim.exercises import notebooks
    from pagesim.files import replacing
    from pagesim.starting import beside

    (source,) = map(Path, beside(str(CONFIG.parents[1] / "notebooks.py")))
    chapters = {folder / path.name: path.read_bytes() for path in sorted(source.glob("*.ipynb"))}
    exercises = {
        folder / "exercises" / notebooks.file_name(chapter): notebooks.notebook(chapter).encode()
        for chapter in notebooks.chapters()
    }
    written = []
    for path, content in {**chapters, **exercises}.items():
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as file:
                file.write(content)
            written.append(path)
    sign(path for path, content in chapters.items() if path.read_bytes() == content)
    return written


def sign(chapters: Iterable[Path]) -> None:
    """Let JupyterLab trust chapters that nobody has changed: only then it shows their players."""
    if find_spec("nbformat") is not None:
        import nbformat.sign

        notary = nbformat.sign.NotebookNotary()
        for path in chapters:
            notary.sign(nbformat.read(path, as_version=4))


def start(folder: Path, flags: Iterable[str]) -> int:
    """Run JupyterLab until it ends, and return its exit code."""
    root = ["--allow-root"] if getattr(os, "geteuid", lambda: 1)() == 0 else []
    command = [sys.executable, "-m", "jupyterlab", *root, *flags, FIRST]
    paths = [str(CONFIG), *filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")])]
    environment = os.environ | {"JUPYTER_CONFIG_PATH": os.pathsep.join(paths)}
    with subprocess.Popen(command, cwd=folder, env=environment) as server:
        # On Ctrl-C it is JupyterLab that asks whether to stop.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            return server.wait()
        finally:
            signal.signal(signal.SIGINT, before)
