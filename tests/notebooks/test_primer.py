"""Chapter 3's Triton primer: its kernel is section 3's loop in 20 lines; no word is left unsaid."""

import ast
import inspect
import re

import pytest

from pagesim.kernels.softmax import online_softmax_kernel
from tests.notebooks.chapters import source

pytestmark = pytest.mark.ch03


def function(cell: str, name: str) -> ast.FunctionDef:
    body = ast.parse(source("03", cell)).body
    (found,) = [node for node in body if isinstance(node, ast.FunctionDef) and node.name == name]
    return found


def loop(kernel: ast.FunctionDef) -> ast.For:
    (found,) = [node for node in kernel.body if isinstance(node, ast.For)]
    return found


def names(loop: ast.For) -> list[str]:
    """What the loop gives a value to, line by line."""
    assert all(isinstance(line, ast.Assign) for line in loop.body)
    return [ast.unparse(line.targets[0]) for line in loop.body if isinstance(line, ast.Assign)]


def test_the_kernel_is_the_loop_of_section_3() -> None:
    places = ("numpy", "attend"), ("own", "paged_kernel")
    numpy, triton = (loop(function(cell, name)) for cell, name in places)
    assert ast.unparse(numpy.target) == ast.unparse(triton.target) == "entry"
    assert [name for name in names(triton) if name != "place"] == names(numpy)
    for name in ("rescale", "m", "filled"):
        lines = [
            ast.unparse(line.value).replace("tl.", "np.").upper()
            for each in (numpy, triton)
            for line in each.body
            if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == name
        ]
        assert lines[0] == lines[1], name


def test_it_has_twenty_lines() -> None:
    kernel = function("own", "paged_kernel")
    assert (kernel.end_lineno or 0) - kernel.body[0].lineno + 1 <= 20


def test_every_word_of_triton_in_the_small_kernel_is_explained() -> None:
    text = source("03", "triton-lines")
    used = set(re.findall(r"\btl\.\w+", inspect.getsource(online_softmax_kernel.fn)))
    plain = {"tl.int64", "tl.float32", "tl.exp", "tl.maximum", "tl.where"}  # as NumPy has them
    assert {"tl.program_id", "tl.load", "tl.store", "tl.constexpr", "tl.arange"} <= used
    assert {word for word in used - plain if word not in text} == set()
    assert "mask=" in text and "grid" in text and "[(num_rows,)]" not in text
