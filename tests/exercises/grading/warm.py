"""A submission's process that is forked from one in which the exercises are loaded.

A new Python takes longer to load them than most submissions run. What comes then is the same: the
child's own `main` in its folder, with its environment, behind two pipes. `test_outside.py` and
`pagesim grade` start processes as they are.
"""

import multiprocessing
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing import forkserver
from types import SimpleNamespace
from typing import Any

import pytest

from pagesim.exercises import grading
from pagesim.exercises.grading import parent
from tests.exercises.grading.loaded import begin

FORKED = multiprocessing.get_context("forkserver")


class Popen:
    """As much of :class:`subprocess.Popen` as the grader uses."""

    def __init__(self, command: Sequence[str], **given: Any) -> None:
        cases, stdin = FORKED.Pipe(duplex=False)
        stdout, answers = FORKED.Pipe(duplex=False)
        kept = {name: given[name] for name in ("cwd", "env")}
        self._process = FORKED.Process(target=begin, args=(cases, answers, command), kwargs=kept)
        self._process.start()
        self.pid = self._process.pid
        self.stdin = open(os.dup(stdin.fileno()), "wb")  # noqa: SIM115
        self.stdout = open(os.dup(stdout.fileno()), "rb")  # noqa: SIM115
        for end in (cases, stdin, stdout, answers):
            end.close()

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("a submission", timeout or 0.0)
        return self.returncode

    def communicate(self, timeout: float | None = None) -> None:
        with suppress(OSError):
            self.stdin.close()
        self.wait(timeout)
        self.stdout.close()

    def kill(self) -> None:
        self._process.kill()


@pytest.fixture(scope="module")
def forked() -> Iterator[Any]:
    """The context of `multiprocessing` in which the exercises are loaded once for a file."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in parent._environment("").items():
            if name.endswith("_THREADS") or name == "PYTHONHASHSEED":
                patch.setenv(name, value)
        FORKED.set_forkserver_preload([begin.__module__])
        forkserver.ensure_running()
    yield FORKED
    forkserver._forkserver._stop()  # type: ignore[attr-defined]


@pytest.fixture
def forked_pools(forked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The grader's own processes are forked."""
    monkeypatch.setattr(grading, "get_context", lambda _: forked)


@pytest.fixture
def warm(forked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Submissions' processes are forked."""
    own = SimpleNamespace(**vars(subprocess) | {"Popen": Popen})
    monkeypatch.setattr(parent, "subprocess", own)
