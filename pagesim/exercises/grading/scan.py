"""What a teacher should look at: code that reads the package's own answers, or is one of them.

A flag is not a verdict. It is possible to hide from a scan of text; see docs/TEACHING.md.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from pagesim.exercises.exercise import Exercise
from pagesim.exercises.grading.submissions import Cell, parsed

_MODULES = frozenset(
    ("ctypes", "gc", "importlib", "inspect", "marshal", "multiprocessing", "socket", "subprocess")
)
_ATTRIBUTES = frozenset(
    ("expected", "getsource", "mistakes", "reference", "__globals__", "__subclasses__")
)
_FUNCTIONS = frozenset(("__import__", "eval", "exec", "get", "getsource", "open"))
_SHORT = 5
"""Statements that two people who know the answer may well write alike."""


def flags(cells: Sequence[Cell], exercises: Iterable[Exercise]) -> list[str]:
    """One phrase for each thing that was found, in order."""
    trees = [tree for cell in cells if (tree := parsed(cell.text)) is not None]
    found = {flag for tree in trees for flag in _suspect(tree)}
    hers = {body for tree in trees for body in _bodies(tree)}
    for exercise in exercises:
        found -= _suspect(parsed(exercise.stub))  # what she was given
        if hers & _written(exercise):
            found.add(f"{exercise.number} is the package's own solution")
    return sorted(found)


def _suspect(tree: ast.AST | None) -> set[str]:
    return {flag for node in (ast.walk(tree) if tree else ()) for flag in _flag(node)}


def _flag(node: ast.AST) -> set[str]:
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module:
        names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    found = {f"imports {name}" for name in names if _is_suspect(name)}
    if isinstance(node, ast.Attribute) and node.attr in _ATTRIBUTES:
        found.add(f"asks for .{node.attr}")
    if isinstance(node, ast.Name) and node.id in _FUNCTIONS:
        found.add(f"uses {node.id}")
    return found


def _is_suspect(name: str) -> bool:
    if name.startswith("pagesim.exercises."):
        return name.split(".")[2] not in ("check", "get", "hint", "solution", "progress")
    return name.split(".")[0] in _MODULES


def _written(exercise: Exercise) -> set[str]:
    """The functions of the solution that the student does not begin with."""
    solution, stub = parsed(exercise.solution), parsed(exercise.stub)
    return _bodies(solution) - _bodies(stub) if solution and stub else set()


def _bodies(tree: ast.AST) -> set[str]:
    """Each function that is long enough: its name and statements, without docstring and spaces."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            body = node.body[ast.get_docstring(node, clean=False) is not None :]
            inside = [each for statement in body for each in ast.walk(statement)]
            if sum(isinstance(each, ast.stmt) for each in inside) > _SHORT:
                found.add(node.name + "".join(map(ast.dump, body)))
    return found
