"""What a teacher should look at: code that reads the package's own answers, or is one of them.

A flag is not a verdict. It is possible to hide from a scan of text; see docs/TEACHING.md.
"""

import ast
import itertools
import re
from collections.abc import Mapping, Sequence

from pagesim.exercises.exercise import Exercise
from pagesim.exercises.grading.submissions import Cell, parsed

_MODULES = frozenset(
    ("ctypes", "gc", "importlib", "inspect", "marshal", "multiprocessing", "socket", "subprocess")
)
_ATTRIBUTES = frozenset(
    ("expected", "getsource", "mistakes", "reference", "__globals__", "__subclasses__")
)
_FUNCTIONS = frozenset(("__import__", "eval", "exec", "get", "getsource", "open"))
_LOOKS = ("backend", "compare", "exercises", "explore", "predict", "record", "score", "xray")
_HARMLESS = frozenset(
    (*_LOOKS, "errors", "NoFreeBlocksError", "UsageError", "simulate", "simulation", "workload")
)
"""What of `pagesim` and `pagesim.kernels` answers no exercise by itself."""
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
_SHORT = 5
"""Statements that two people who know the answer may well write alike."""


def flags(cells: Sequence[Cell], exercises: Sequence[Exercise]) -> list[str]:
    """One phrase for each thing that was found, in order."""
    hers = parsed(*(cell.text for cell in cells))
    blocks = (_BLOCK.findall(exercise.statement) for exercise in exercises)
    given = parsed(*(exercise.stub for exercise in exercises), *itertools.chain(*blocks))
    found = _flagged(hers) - _flagged(given)
    offered = tuple(f"{name}." for name in _imports(given).values() if _is_library(name))
    borrowed = _borrowed(hers, {exercise.name for exercise in exercises})
    found |= {f"calls {name}" for name in borrowed if not f"{name}.".startswith(offered)}
    bodies = _bodies(hers)
    for exercise in exercises:
        if bodies & _bodies(parsed(exercise.solution)) - _bodies(parsed(exercise.stub)):
            found.add(f"{exercise.number} is the package's own solution")
    return sorted(found)


def _borrowed(tree: ast.AST, answers: set[str]) -> set[str]:
    """What functions and classes use of the library; outside of them it is only looked at."""
    known = _imports(tree)
    found = {known[name] for name in answers & {*known}}
    for node in ast.walk(tree):
        named = isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id in answers for target in node.targets
        )
        if named or isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            found |= {_dotted(each, known) for each in ast.walk(node)}
    found = {name for name in found if _is_library(name)}
    return {name for name in found if not any(other.startswith(f"{name}.") for other in found)}


def _imports(tree: ast.AST) -> dict[str, str]:
    """What a name stands for: Story → pagesim.Story."""
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.split(".")[0]
                known[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom) and node.module:
            known |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    return known


def _dotted(node: ast.AST, known: Mapping[str, str]) -> str:
    """The full name of what is named here; empty if it was not imported."""
    if isinstance(node, ast.Attribute):
        whole = _dotted(node.value, known)
        return f"{whole}.{node.attr}" if whole else ""
    return known.get(node.id, "") if isinstance(node, ast.Name) else ""


def _is_library(name: str) -> bool:
    package, *rest = name.split(".")
    rest = rest[1:] if rest[:1] == ["kernels"] else rest
    return package == "pagesim" and bool(rest) and rest[0] not in _HARMLESS


def _flagged(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Attribute) and node.attr in _ATTRIBUTES:
            found.add(f"asks for .{node.attr}")
        elif isinstance(node, ast.Name) and node.id in _FUNCTIONS:
            found.add(f"uses {node.id}")
        found |= {f"imports {name}" for name in names if _is_suspect(name)}
    return found


def _is_suspect(name: str) -> bool:
    if name.startswith("pagesim.exercises."):
        return name.split(".")[2] not in ("check", "get", "hint", "solution", "progress")
    return name.partition(".")[0] in _MODULES


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
