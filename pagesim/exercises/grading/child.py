"""A submission's process: it runs the student's cells and answers cases. It knows no answer.

It reads frames from its standard input and writes one for each to what was its standard output.
Student code shares this process and may do anything to it; all that comes of that is an answer.
"""

import builtins
import functools
import importlib
import math
import os
import random
import sys
import types
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from pagesim.exercises import source
from pagesim.exercises.case import Case, Function
from pagesim.exercises.grading import sandbox, wire
from pagesim.exercises.guard import attempt, call_plainly
from pagesim.exercises.problem import LEFT_IN, NOT_WRITTEN, has_code
from pagesim.exercises.registry import get
from pagesim.files.jsonl import JsonObject

_SILENT = ("check", "hint", "solution", "progress")
"""What notebooks call for the student's own eyes."""


def main(settings: JsonObject) -> None:
    """Serve frames until there are none."""
    cases, answers = _streams()
    taken = sandbox.enter(settings["layers"], map(Path, settings["readable"]))
    for name in settings["imports"]:
        importlib.import_module(name)
    if "limits" in settings["layers"]:
        sandbox.limit_memory()
    wire.send(answers, {"taken": taken})
    student = Student()
    try:
        while True:
            request = wire.receive(cases)
            number = request.pop("id")
            reply = student.run(**request) if "text" in request else student.answer(**request)
            try:
                wire.send(answers, {**reply, "id": number})
            except wire.WireError as error:
                problem = f"The answer cannot be sent: {error}."
                wire.send(answers, {"problem": problem, "id": number})
    finally:
        os._exit(0)  # what the student left for the end of the process is not run


def _streams() -> tuple[BinaryIO, BinaryIO]:
    """The two pipes, moved away from where a print or an input would meet them."""
    cases, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    return cases, answers


class Student:
    """The student's notebook while it runs: its names, and a function for each exercise."""

    def __init__(self) -> None:
        sys.modules["submission"] = types.ModuleType("submission")
        self._names = vars(sys.modules["submission"])
        # What a notebook of ours begins with, for the file that has lost it.
        self._names |= {"math": math, "Any": Any, "display": lambda *_, **__: None}
        self._functions: dict[str, Function] = {}
        exercises = importlib.import_module("pagesim.exercises")
        for name in _SILENT:
            setattr(exercises, name, lambda *_, **__: None)
        builtins.input = lambda *_: ""
        random.seed(0)

    def run(self, text: str, file: str, solves: dict[str, str], limit: float) -> JsonObject:
        """Run a cell; ``solves`` has the exercises it answers, and the function's name for each."""
        # A partial has no file, so a traceback's line is looked for in the student's own.
        cell = functools.partial(source.run, text, file, self._names)
        problem = attempt(cell, Case(()), seconds=limit).problem
        for number, name in solves.items():
            if name in self._names:
                self._functions[number] = self._names[name]
        return {"problem": problem}

    def answer(
        self, number: str, name: str, args: tuple[Any, ...], limit: float, special: bool
    ) -> JsonObject:
        """What the student's function says to one case."""
        function = self._functions.get(number, self._names.get(name))
        if function is None:
            return {"problem": "", "missing": True}
        call = get(number).call if special else call_plainly
        answer = attempt(function, Case(args), call, limit)
        if answer.problem == NOT_WRITTEN and has_code(function, get(number).stub):
            answer = replace(answer, problem=LEFT_IN)
        return vars(answer) | ({"value": None} if answer.problem else {})
