"""Ctrl-C, names that are no text, a full disk behind stdout: a line, never a traceback."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import pagesim
from tests.commands.runs import Shell, requests
from tests.kernels.children import ROOT, python
from tests.timeline.scenes import told

pytestmark = [
    pytest.mark.ch00,
    pytest.mark.skipif(os.name != "posix", reason="signals and names as POSIX has them"),
]

SCRIPT = "from pagesim.commands.cli import main\nmain()\n"


@pytest.mark.parametrize(
    ("module", "script"),
    [
        ("pagesim.starting", True),
        ("pagesim.starting", False),
        ("pagesim.v0.block_manager", False),
        ("click", True),
    ],
)
def test_ctrl_c_while_the_command_is_imported(module: str, script: bool, tmp_path: Path) -> None:
    (tmp_path / "pagesim").write_text(SCRIPT)
    started = [str(tmp_path / "pagesim")] if script else ["-m", "pagesim"]
    child = subprocess.Popen(
        [sys.executable, "-X", "importtime", *started, "doctor"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    for line in child.stderr:
        if line.split(b"|")[-1].strip() == module.encode():
            child.send_signal(signal.SIGINT)
            break
    rest = child.stderr.read()
    assert child.wait(60) == 130
    assert b"Traceback" not in rest and b"Error" not in rest


def test_in_a_library_ctrl_c_is_left_alone() -> None:
    code = "import signal, pagesim; print(signal.getsignal(signal.SIGINT).__name__)"
    assert python("-c", code).stdout == "default_int_handler\n"


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="/dev/full is Linux's")
def test_a_full_disk_behind_stdout() -> None:
    command = [sys.executable, "-m", "pagesim", "size", "--model", "opt-13b", "--memory", "9GB"]
    with open("/dev/full", "wb") as full:
        told = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, check=False)
    assert told.returncode == 2
    assert told.stderr == b"pagesim: standard output: No space left on device\n"


@pytest.fixture
def odd(tmp_path: Path) -> bytes:
    """A folder and the start of a name that no text encoding knows."""
    try:
        (tmp_path / os.fsdecode(b"\xff")).touch()
    except OSError:
        pytest.skip("this file system wants UTF-8")
    return os.fsencode(tmp_path) + b"/\xff"


def test_names_that_are_no_text_are_played(odd: bytes, shell: Shell) -> None:
    told([1, 2, 3]).save(os.fsdecode(odd) + ".jsonl")
    names = ["play", odd + b".jsonl", "-o", odd + b".html"]
    done = python("-m", "pagesim", *names)
    assert (done.returncode, done.stderr) == (0, "")
    page = os.fsdecode(odd) + ".html"
    assert shell.answer(*map(os.fsdecode, names))["out"] == page
    assert ".jsonl" not in Path(page).read_text(encoding="utf-8"), "a file's name is no title"


def test_names_that_are_no_text_are_replayed_and_drawn(
    odd: bytes, tmp_path: Path, shell: Shell
) -> None:
    trace = (ROOT / "tests/data/block_table-edge-106.jsonl.gz").read_bytes()
    Path(os.fsdecode(odd) + ".jsonl.gz").write_bytes(trace)
    requests(Path(os.fsdecode(odd) + ".csv"), "0,5,5")
    for arguments in (
        ["replay", odd + b".jsonl.gz", "-o", odd + b".html"],
        ["waste", odd + b".csv", "--out", odd + b".svg"],
        ["simulate", odd + b".csv", "--record", odd + b".jsonl"],
    ):
        assert shell.printed(*map(os.fsdecode, arguments))[1] == "", arguments
    assert len(list(tmp_path.iterdir())) == 6


@pytest.mark.parametrize("closed", [1, 2])
def test_a_closed_stream_stops_nothing(closed: int, tmp_path: Path) -> None:
    """`pagesim … >&-` or `2>&-`: Python then has None for it."""
    trace, out = requests(tmp_path / "requests.csv", "0,5,5"), tmp_path / "run.jsonl"
    command = [sys.executable, "-m", "pagesim", "simulate", trace, "--record", out]
    line = f"exec {shlex.join(map(str, command))} {closed}>&-"
    assert subprocess.run(line, shell=True, check=False, capture_output=True).returncode == 0
    assert len(pagesim.load(out)) > 0
