"""Small changes of a reference's solution, one at a time: what a slip of the pen would make of it.

Compared, calculated and counted otherwise, off by one, a condition turned round, a statement left
out. Only what is between the marks changes, for the rest is given to the student.
"""

import ast
import copy
from collections.abc import Callable, Iterator
from typing import Any

from pagesim.exercises import source

COMPARED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
CALCULATED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mod,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.MatMult: ast.Add, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
SWAPPED = {"min": "max", "max": "min", "append": "extend", "any": "all", "all": "any"}
SWAPPED |= {"minimum": "maximum", "maximum": "minimum"}


class Mutant:
    """A changed reference: ``change`` says where and how."""

    def __init__(self, reference: Callable[..., Any], change: str, text: str) -> None:
        self.change, self.text, self._reference = change, text, reference

    def function(self) -> Callable[..., Any]:
        return source.rewritten(self._reference, self.text)


def mutants(reference: Callable[..., Any]) -> Iterator[Mutant]:
    """Every mutant; each text once. Annotations are left alone: they do nothing."""
    text = source.text(reference)
    tree = ast.parse(text)
    seen = {ast.unparse(tree)}
    notes = [s.annotation for s in ast.walk(tree) if isinstance(s, ast.AnnAssign)]
    ignored = {node for note in notes for node in ast.walk(note)}
    for place, node in enumerate(ast.walk(tree)):
        if node in ignored or not _inside(node, text):
            continue
        for change in _changes(node):
            mutated = copy.deepcopy(tree)
            target = list(ast.walk(mutated))[place]
            before = _line(tree, node)
            change(target)
            try:
                new = ast.unparse(ast.fix_missing_locations(mutated))
                compile(new, "mutant", "exec")
            except (SyntaxError, ValueError):
                continue
            if new not in seen:
                seen.add(new)
                yield Mutant(reference, f"{before} → {_line(mutated, target)}", new)


def _inside(node: ast.AST, text: str) -> bool:
    """Whether it stands between the marks."""
    lines = text.splitlines()
    begin = next(i for i, line in enumerate(lines, 1) if "### BEGIN SOLUTION" in line)
    end = next(i for i, line in enumerate(lines, 1) if "### END SOLUTION" in line)
    return begin < getattr(node, "lineno", 0) < end


def _line(tree: ast.AST, node: ast.AST) -> str:
    """The first line of the innermost statement that the node is in."""
    holders = [s for s in ast.walk(tree) if isinstance(s, ast.stmt) and node in ast.walk(s)]
    return ast.unparse(holders[-1]).splitlines()[0]


def _changes(node: ast.AST) -> Iterator[Callable[[Any], None]]:  # noqa: C901 (a kind, a branch)
    """What can be done to a node."""
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            yield lambda n, i=i, op=op: n.ops.__setitem__(i, COMPARED[type(op)]())
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in CALCULATED:
        yield lambda n: setattr(n, "op", CALCULATED[type(n.op)]())
    if isinstance(node, ast.BoolOp):
        yield lambda n: setattr(n, "op", ast.Or() if isinstance(n.op, ast.And) else ast.And())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield lambda n: setattr(n, "op", ast.UAdd())  # of a bool: 0 or 1
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield lambda n: setattr(n, "value", not n.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield lambda n: setattr(n, "value", n.value + 1)
        yield lambda n: setattr(n, "value", n.value - 1)
    if isinstance(node, ast.Call):
        name = node.func
        if isinstance(name, ast.Name) and name.id in SWAPPED:
            yield lambda n: setattr(n.func, "id", SWAPPED[n.func.id])
        if isinstance(name, ast.Attribute) and name.attr in SWAPPED:
            yield lambda n: setattr(n.func, "attr", SWAPPED[n.func.attr])
        if isinstance(name, ast.Name) and name.id == "range":
            yield lambda n: n.args.__setitem__(-1, _plus(n.args[-1], -1))
            yield lambda n: n.args.__setitem__(-1, _plus(n.args[-1], 1))
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        yield lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name | ast.BinOp):
        yield lambda n: setattr(n, "slice", _plus(n.slice, -1))
    if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.Delete | ast.Continue):
        yield _leave_out


def _plus(node: ast.expr, number: int) -> ast.expr:
    op = ast.Add() if number > 0 else ast.Sub()
    return ast.BinOp(node, op, ast.Constant(abs(number)))


def _leave_out(node: Any) -> None:
    node.__class__ = ast.Pass
    node._fields = ()
