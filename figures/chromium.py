"""A headless Chromium that takes pictures of a page, driven with the standard library alone.

Chromium reads commands of the Chrome DevTools Protocol from one pipe and answers on another, as
JSON with a zero byte behind each. Windows cannot give a program such pipes by number.
"""

import base64
import json
import os
import select
import shutil
import signal
import tempfile
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pagesim.files.jsonl import Json, JsonObject

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
APP = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
FLAGS = (
    "--headless", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage",
    "--hide-scrollbars", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--force-color-profile=srgb",
)  # fmt: skip
READY = """new Promise(done => (function look() {
    document.querySelector("[data-mounted]") ? done(true) : setTimeout(look, 20) })())"""
"""Waits until the player has drawn."""
PATIENCE = 60
"""Seconds until a browser that says nothing is given up."""


def installed() -> str | None:
    """The path of Chromium or Chrome, if there is one on this machine that can be driven."""
    if not hasattr(os, "posix_spawn"):
        return None
    return next((path for name in (*NAMES, APP) if (path := shutil.which(name))), None)


class Chromium:
    """One page in a browser without a window: ``with Chromium(path, file, …) as page: page.png()``.

    ``width`` is in CSS pixels, of which each has ``scale`` squared pixels in the pictures.
    """

    def __init__(self, path: str, page: Path, width: int, scale: float, theme: str) -> None:
        self._ids, self._read = count(1), bytearray()
        self._session: str | None = None
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._pid = self._start(path)
        try:
            self._open(page.resolve().as_uri(), width, scale, theme)
        except BaseException:
            self._stop()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._stop()

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression; a promise is awaited. RuntimeError if it throws."""
        given = {"awaitPromise": True, "returnByValue": True}
        answer = self._ask("Runtime.evaluate", expression=script, **given)
        if failed := answer.get("exceptionDetails"):
            said = failed.get("exception", {}).get("description", failed["text"])
            raise RuntimeError(f"the page could not be filmed: {said}")
        return answer["result"].get("value")

    def png(self, width: int, height: int) -> bytes:
        """The page from its upper left corner, as it looks now."""
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self._ask("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def _start(self, path: str) -> int:
        import fcntl  # which Windows does not have

        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        # Above 4, so that giving one its number does not close the other.
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (theirs_in, theirs_out)]
        quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (1, 2)]
        given = [(os.POSIX_SPAWN_DUP2, fd, number) for fd, number in zip(high, (3, 4), strict=True)]
        flags = [*FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"]
        if os.geteuid() == 0:
            flags.insert(0, "--no-sandbox")  # as root, Chromium refuses to start otherwise
        pid = os.posix_spawn(path, [path, *flags], os.environ, file_actions=[*quiet, *given])
        for fd in (theirs_in, theirs_out, *high):
            os.close(fd)
        self._in, self._out = ours_in, ours_out
        return pid

    def _open(self, address: str, width: int, scale: float, theme: str) -> None:
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self._ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        screen = {"width": width, "height": 900, "deviceScaleFactor": scale, "mobile": False}
        self._ask("Emulation.setDeviceMetricsOverride", **screen)
        looks = {"prefers-color-scheme": theme, "prefers-reduced-motion": "no-preference"}
        features = [{"name": name, "value": value} for name, value in looks.items()]
        self._ask("Emulation.setEmulatedMedia", features=features)
        self._ask("Page.enable")
        self._ask("Page.navigate", url=address)
        self.run(READY)

    def _ask(self, method: str, **given: Json) -> JsonObject:
        number = next(self._ids)
        message = {"id": number, "method": method, "params": given}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        while (answer := self._next()).get("id") != number:
            pass  # an event, which nobody waits for
        if "error" in answer:
            raise RuntimeError(f"Chromium refused {method}: {answer['error']['message']}")
        result: JsonObject = answer["result"]
        return result

    def _next(self) -> JsonObject:
        while (end := self._read.find(0)) < 0:
            there, _, _ = select.select([self._in], [], [], PATIENCE)
            if not there or not (more := os.read(self._in, 1 << 16)):
                said = "has stopped" if there else f"says nothing for {PATIENCE} s"
                raise RuntimeError(f"Chromium {said}: does it show a page that you open with it?")
            self._read += more
        message: JsonObject = json.loads(self._read[:end])
        del self._read[: end + 1]
        return message

    def _stop(self) -> None:
        for fd in (self._in, self._out):
            os.close(fd)
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGTERM)
        os.waitpid(self._pid, 0)
        self._profile.cleanup()
