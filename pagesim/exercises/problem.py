"""What went wrong in a student's function, as one sentence that names the line."""

import ast
import contextlib
import inspect
import linecache
import sysconfig
import traceback
from pathlib import Path

from pagesim.exercises.case import Function

NOT_WRITTEN = "The function is not written yet."
LEFT_IN = "The line raise NotImplementedError() is still there. Put your code in its place."
_OURS = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "kernels")]
_OTHERS = [sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")]


def named(error: BaseException, function: Function) -> str:
    """The exception, and the student's own line that it came from."""
    if type(error).__name__ == "InterpreterError" and error.__cause__ is not None:
        error = error.__cause__  # what was raised in a kernel: Triton's interpreter wraps it
    if isinstance(error, NotImplementedError) and not error.args:
        return NOT_WRITTEN
    if type(error).__module__ == "triton.compiler.errors":
        return _not_compiled(error)
    what = type(error).__name__
    with contextlib.suppress(Exception):  # its __str__ may be the student's
        what = " ".join(f"{what}: {error}".split()).rstrip(":")[:300]
    line = _line(error, function)
    return f"{what} ({line})" if line else what


def has_code(function: Function, stub: str) -> bool:
    """Whether there is code beside the stub's in a function that says that it is not written."""
    try:
        kernel = inspect.unwrap(getattr(function, "fn", function))  # what triton.jit was given
        hers = _defined("".join(linecache.getlines(kernel.__code__.co_filename)))
    except Exception:  # a function may be anything, and its text elsewhere
        return False
    return any(hers.get(name, node) != node for name, node in _defined(stub).items())


def _defined(text: str) -> dict[str, str]:
    """Each function of a text, without its comments."""
    nodes = ast.walk(ast.parse(text))
    return {node.name: ast.dump(node) for node in nodes if isinstance(node, ast.FunctionDef)}


def _not_compiled(error: BaseException) -> str:
    """Triton's compiler quotes the whole kernel up to the line that it cannot compile."""
    quoted = str(error).split("\n")
    line = quoted[-3].strip() if len(quoted) > 3 else ""
    if line == "raise NotImplementedError()":
        return NOT_WRITTEN
    return f"{type(error).__name__}: {quoted[-1]} (line: {line})"


def _line(error: BaseException, function: Function) -> str:
    """The deepest line that the student wrote: of her function's file, or of no library."""
    frames = traceback.extract_tb(error.__traceback__, limit=500)
    own = getattr(getattr(function, "__code__", None), "co_filename", None)
    hers = [f for f in frames if f.filename == own]
    hers = hers or [f for f in frames if not f.filename.startswith((*_OURS, *_OTHERS))]
    if not hers:
        return ""
    text = linecache.getline(hers[-1].filename, hers[-1].lineno or 0).strip()
    return f"line {hers[-1].lineno}: {text}" if text else f"line {hers[-1].lineno}"
