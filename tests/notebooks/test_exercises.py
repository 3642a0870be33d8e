"""The notebooks of the exercises in a kernel of their own: solved, every check is right."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from jupyter_client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

from pagesim.exercises import all as every
from pagesim.exercises import notebooks
from tools.course.run import run

pytestmark = pytest.mark.course


@pytest.mark.parametrize("chapter", notebooks.chapters())
def test_the_solutions_pass_in_a_notebook(
    chapter: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PAGESIM_PROGRESS", raising=False)
    # The parent's own tests may have chosen the interpreter; a student's notebook has not.
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    (path,) = notebooks.write(tmp_path, [chapter], solutions=True)
    ran = asyncio.run(run(path))  # an answer that is not right raises in its hidden test
    (output,) = ran.cells[-1].outputs
    done = [line.split()[1] for line in output.data["text/plain"].splitlines() if line[0] == "✓"]
    assert done == [exercise.number for exercise in every() if exercise.chapter == chapter]


WAITS = """
import signal
from dataclasses import replace
from pagesim.exercises import get

def slots(table, num_tokens, block_size):
    open("inside", "w").close()
    while True:
        pass

exercise = replace(get("2.1"), seconds=600.0)
exercise.check(slots)
"""


def reply_to(client: BlockingKernelClient, request: str) -> dict[str, Any]:
    """The reply to a request; one to an earlier question may come before it."""
    while (reply := client.get_shell_msg(timeout=60))["parent_header"]["msg_id"] != request:
        pass
    return reply


def test_an_interrupt_ends_a_check_and_the_kernel_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The square button of JupyterLab: it is the student's, and no answer."""
    monkeypatch.chdir(tmp_path)
    manager, client = start_new_kernel()
    try:
        # After an error a kernel aborts what comes too soon behind it, unless told not to.
        waiting = client.execute(WAITS, stop_on_error=False)
        end = time.monotonic() + 60
        while not (tmp_path / "inside").exists() and time.monotonic() < end:
            time.sleep(0.01)
        manager.interrupt_kernel()
        reply = reply_to(client, waiting)
        assert reply["content"]["ename"] == "KeyboardInterrupt"
        left = "assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0); exercise.check(len)"
        assert reply_to(client, client.execute(left))["content"]["status"] == "ok"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
