"""Functions for cells, importable in any process, and executors without a thread."""

import os
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any


def area(width: int, height: int) -> dict[str, int]:
    """The product, and whose process made it."""
    return {"area": width * height, "process": os.getpid()}


def fragile(width: int, height: int) -> dict[str, int]:
    """As ``area``, but one cell raises."""
    if (width, height) == (2, 3):
        raise ValueError("no room for 2 by 3")
    return {"area": width * height}


def repaired(width: int, height: int, cure: str) -> dict[str, int]:
    """As ``fragile``, until the file ``cure`` is there."""
    return {"area": width * height} if Path(cure).exists() else fragile(width, height)


def deadly(width: int, height: int) -> dict[str, int]:
    """As ``area``, but one cell takes its whole process along, as a lack of memory does."""
    if (width, height) == (2, 3):
        os._exit(1)
    return {"area": width * height}


class Inline(Executor):
    """Runs a call when it is submitted, and counts."""

    def __init__(self) -> None:
        self.submitted = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.submitted += 1
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


class Answering(Inline):
    """Answers each call from a list: an exception, ``None`` to run it, ``...`` for no answer."""

    def __init__(self, answers: list[Any]) -> None:
        super().__init__()
        self.answers = answers
        self.futures: list[Future[Any]] = []
        self.calls: list[str] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.calls.append(str(args))
        answer = self.answers[self.submitted]
        future = super().submit(fn, *args, **kwargs)
        if answer is not None:
            future = Future()
            if answer is not ...:
                future.set_exception(answer)
        self.futures.append(future)
        return future
