"""The file that is written, and how a recorder stands in front of methods."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import tempfile
from importlib import import_module
from typing import Any


class NotServedError(ValueError):
    """The run, or this vLLM, cannot be recorded; the message names what it has."""


class TraceFile:
    """Operations one by one, beside ``path`` until they are complete; gzipped if it ends in .gz."""

    def __init__(self, path: str) -> None:
        self.path, self.part = path, path + ".part"
        self.num_ops = 0
        self._ops = tempfile.TemporaryFile(dir=os.path.dirname(os.path.abspath(path)))  # noqa: SIM115
        self._lines = gzip.open(self._ops, "wb")  # noqa: SIM115

    def write(self, op: str, args: dict[str, Any], observed: dict[str, Any]) -> None:
        """One operation; ``observed`` has its ret, if there is one, and its state."""
        line = {"i": self.num_ops, "op": op, "args": args}
        line.update(observed)
        self._lines.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        self.num_ops += 1

    def finish(self, header: dict[str, Any]) -> None:
        """Put the header in front, and everything in its place."""
        header["num_ops"] = self.num_ops
        first = json.dumps(header).encode() + b"\n"
        self._lines.close()
        self._ops.seek(0)
        zipped = self.path.endswith(".gz")
        try:
            with open(self.part, "wb") as out:
                out.write(gzip.compress(first) if zipped else first)
                lines = self._ops if zipped else gzip.open(self._ops)  # noqa: SIM115
                shutil.copyfileobj(lines, out)
            os.replace(self.part, self.path)
        finally:
            if os.path.exists(self.part):
                os.remove(self.part)

    def close(self) -> None:
        self._lines.close()
        self._ops.close()


class Recorder:
    """Stands in front of the ``methods`` of ``subject``, and notes what they do.

    ``call_x(original, …)`` does and notes a call of ``x``; calls of the subject to itself are a
    part of it.
    """

    format, kind = "", "scheduler"
    methods: tuple[str, ...] = ()

    def __init__(self, scheduler: Any, file: TraceFile) -> None:
        self.subject = self.scheduler = scheduler
        self.file = file
        self.problem: BaseException | None = None
        self._inside = False
        refuse("an engine that uses", self.not_served())
        self.config = self.config_of()

    def not_served(self) -> dict[str, Any]:
        """What the format does not hold, by name: a true value says that the engine has it."""
        raise NotImplementedError

    def config_of(self) -> dict[str, Any]:
        """The configuration from which `pagesim replay` makes a scheduler."""
        raise NotImplementedError

    def settle(self) -> None:
        """Note an operation that is complete only when the next one begins."""

    def start(self) -> None:
        for name in self.methods:
            setattr(self.subject, name, self._noting(name, getattr(self.subject, name)))

    def stop(self) -> None:
        for name in self.methods:
            delattr(self.subject, name)

    def _noting(self, name: str, original: Any) -> Any:
        noted = getattr(self, "call_" + name)

        def call(*args: Any, **kwargs: Any) -> Any:
            if self._inside:
                return original(*args, **kwargs)
            self._inside = True
            try:
                return noted(original, *args, **kwargs)
            except BaseException as problem:
                self.problem = problem
                raise
            finally:
                self._inside = False

        return call

    def header(self) -> dict[str, Any]:
        name = os.path.basename(self.file.path).split(".")[0]
        return {
            "reference": "vLLM " + version_of(),
            "format": self.format,
            "kind": self.kind,
            "name": name,
            "config": self.config,
            "seed": None,
            "workload": "recorded",
            "workload_args": {},
        }


def refuse(what: str, features: dict[str, Any]) -> None:
    """NotServedError for the first feature that is used."""
    for name, value in features.items():
        if value:
            raise NotServedError(f"{what} {name} cannot be recorded: the trace has no place for it")


def has(thing: Any, path: str) -> Any:
    """The attribute at ``a.b.c``, None where there is none: releases differ in what they have."""
    for name in path.split("."):
        thing = getattr(thing, name, None)
    return thing


def numbers(tokens: Any) -> list[int]:
    return [int(token) for token in tokens]


def version_of() -> str:
    return str(import_module("vllm").__version__)
