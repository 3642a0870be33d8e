"""The grader's end of a submission's process: start it, ask it, end it."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

from pagesim.exercises.grading import sandbox, wire
from pagesim.exercises.guard import MAX_PRINTED
from pagesim.files.jsonl import JsonObject

START_SECONDS = 60.0
"""For Python and the libraries to be loaded, on a machine that is busy."""

_NOT_AN_ANSWER = "It wrote something else where its answers go"
_ROOT = Path(__file__).resolve().parents[3]
_OPTIONS = ["-P", "-s", "-B", "-X", "utf8", "-c"]
_BEGIN = """
import json, sys
settings = json.loads(sys.argv[1])
sys.path[:] = settings["path"]
from pagesim.exercises.grading.child import main
main(settings)
"""


class EndedError(Exception):
    """The process gives no more answers; the message says why."""


class Process:
    """A process that runs one submission: its own folder, an empty environment, and a time limit.

    ``taken`` says what it cannot do (:data:`sandbox.TAKEN`). Only tests leave ``layers`` out.
    """

    def __init__(
        self, imports: Sequence[str] = (), layers: Collection[str] = sandbox.LAYERS
    ) -> None:
        with contextlib.ExitStack() as undo:  # also where Ctrl-C comes while it starts
            self._folder = tempfile.mkdtemp(prefix="pagesim-grade-")
            undo.callback(self._remove)
            settings = {
                "path": [str(_ROOT), *(p for p in sys.path if os.path.isabs(p))],
                "readable": [*_readable(), self._folder],
                "imports": list(imports),
                "layers": list(layers),
            }
            self._process = subprocess.Popen(
                [sys.executable, *_OPTIONS, _BEGIN, json.dumps(settings)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=self._folder,
                env=_environment(self._folder),
                start_new_session=True,
            )
            undo.callback(self.close)
            self._cases = cast(BinaryIO, self._process.stdin)
            self._answers = cast(BinaryIO, self._process.stdout)
            self._asked = 0
            self.taken: list[str] = self._exchange(None, START_SECONDS)["taken"]
            undo.pop_all()

    def ask(self, seconds: float, **request: Any) -> JsonObject:
        """The answer to a request; EndedError when the process gives none in this time."""
        self._asked += 1
        reply = self._exchange({**request, "id": self._asked}, seconds)
        texts = {name: reply.get(name, "") for name in ("problem", "printed")}
        if reply.get("id") != self._asked or {*map(type, texts.values())} != {str}:
            raise EndedError(f"{_NOT_AN_ANSWER}.")
        return reply | {name: text[:MAX_PRINTED] for name, text in texts.items()}

    def close(self) -> None:
        """End it and all that it started, and remove its folder."""
        self._kill()
        with contextlib.suppress(OSError):
            self._process.communicate(timeout=10)
        self._remove()

    def _remove(self) -> None:
        with contextlib.suppress(OSError, RecursionError):
            shutil.rmtree(self._folder)

    def _exchange(self, request: JsonObject | None, seconds: float) -> JsonObject:
        """Send a frame and read the next one; when the time is over, the process is ended."""
        until = time.monotonic() + seconds
        timer = threading.Timer(seconds, self._kill)
        timer.start()
        try:
            if request is not None:
                wire.send(self._cases, request)
            return wire.receive(self._answers)
        except (EOFError, OSError):
            late = f"No answer after {seconds:g} s; its process was ended."
            raise EndedError(late if time.monotonic() > until else self._ending()) from None
        except wire.WireError as error:
            raise EndedError(f"{_NOT_AN_ANSWER}: {error}.") from None
        finally:
            timer.cancel()

    def _ending(self) -> str:
        """How the process ended, in words."""
        try:
            code = self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            return "It closed the pipe that its answers go through."
        if code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
            return f"Its process was ended by {name}."
        return f"Its process ended itself (exit code {code})."

    def _kill(self) -> None:
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg") and self._process.returncode is None:
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()


def _readable() -> list[str]:
    """Where Python and the libraries are: what a submission may read."""
    ours = [_ROOT / name for name in ("pagesim", "kernels", "figures")]
    libraries = [p for p in sys.path if Path(p).name in ("site-packages", "dist-packages")]
    return [sys.prefix, sys.base_prefix, *libraries, *map(str, ours)]


def _environment(folder: str) -> dict[str, str]:
    """Nothing of the grader's own: what Python needs, and the same on every machine."""
    kept = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    kernels = {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": "", "MPLBACKEND": "Agg"}
    home = {"HOME": folder, "TMPDIR": folder, "PATH": os.defpath, "LANG": "C.UTF-8"}
    return {**kept, **threads, **kernels, **home, "PYTHONHASHSEED": "0"}
