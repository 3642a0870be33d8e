"""Attacks on the world outside: stopped in the sandbox, and seen to work without it."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pagesim.exercises.grading import sandbox
from pagesim.exercises.grading.parent import Process
from tests.exercises.grading import attacks

pytestmark = [
    pytest.mark.ch02,
    pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such sandbox"),
]

SECRET = "find the grader's secrets"
"""The one attack that the sandbox has no part in: the environment is empty in any case."""


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """What an attack may harm; the process leads a group of its own."""
    handed, folder = tmp_path / "class" / "other.py", tmp_path / "folder"
    handed.parent.mkdir(mode=0o777)
    folder.mkdir(mode=0o777)
    handed.write_text("right")
    handed.chmod(0o666)
    listening = socket.create_server(("127.0.0.1", 0))
    other = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        yield {
            "pid": other.pid,
            "file": str(handed),
            "folder": str(folder),
            "port": listening.getsockname()[1],
        }
    finally:
        listening.close()
        other.kill()
        other.wait()


def tried(
    process: Process, attack: str, victim: dict[str, Any], limit: float = 5.0
) -> dict[str, Any]:
    """What the function with this attack answered."""
    said = process.ask(9, text=attack, file="<cell>", solves={"2.1": "slots"}, limit=3.0)
    assert said["problem"] == ""
    call: dict[str, Any] = {"number": "2.1", "name": "slots", "args": (victim,)}
    return process.ask(limit + 4, **call, limit=limit, special=False)


def unharmed(victim: dict[str, Any]) -> bool:
    file, folder = Path(victim["file"]), Path(victim["folder"])
    with open(f"/proc/{victim['pid']}/stat") as stat:
        alive = stat.read().rpartition(")")[2].split()[0] in "SR"
    kept = file.exists() and file.stat().st_mode & 0o777 == 0o666 and file.read_text() == "right"
    return alive and kept and not list(folder.iterdir())


@pytest.fixture(scope="module")
def sandboxed() -> Iterator[Process]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PAGESIM_SECRET", "of the grader's")
        process = Process()
    missing = set(sandbox.TAKEN) - set(process.taken)
    if missing:
        process.close()
        pytest.skip(f"this machine cannot take away {missing}")
    yield process
    process.close()


@pytest.fixture(scope="module")
def weakened() -> Iterator[Process]:
    process = Process(layers=())
    yield process
    process.close()


@pytest.mark.parametrize("name", attacks.OUTSIDE)
def test_the_sandbox_stops_it(name: str, sandboxed: Process, victim: dict[str, Any]) -> None:
    reply = tried(sandboxed, attacks.OUTSIDE[name], victim)
    assert reply["value"] is None and reply["problem"], reply
    assert "SyntaxError" not in reply["problem"] and "NameError" not in reply["problem"]
    assert unharmed(victim)


@pytest.mark.parametrize("name", [n for n in attacks.OUTSIDE if n != SECRET])
def test_without_the_sandbox_it_works(name: str, weakened: Process, victim: dict[str, Any]) -> None:
    if name == "become root" and os.getuid() != 0:
        pytest.skip("this process is not root")
    assert weakened.taken == []
    # A machine that is busy needs more than 5 s to fill 1,200 MiB.
    assert tried(weakened, attacks.OUTSIDE[name], victim, limit=60.0)["value"] == "done"


ORPHAN = """
import threading
from pagesim.exercises.grading.parent import Process
process = Process()
threading.Timer(0.5, print, [process._process.pid], {"flush": True}).start()  # it sleeps by then
process.ask(600, text="import time; time.sleep(600)", file="<c>", solves={}, limit=600.0)
"""


def test_it_does_not_outlive_the_grader() -> None:
    grader = subprocess.Popen(
        [sys.executable, "-c", ORPHAN],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        stdout=subprocess.PIPE,
        text=True,
    )
    submission = Path("/proc", grader.stdout.readline().strip())
    assert submission.is_dir()
    grader.kill()
    grader.communicate()
    until = time.monotonic() + 20
    while submission.is_dir() and time.monotonic() < until:
        time.sleep(0.02)
    assert not submission.is_dir()
