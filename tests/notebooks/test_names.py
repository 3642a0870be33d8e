"""A cell above can be run again: no cell below takes away the names that it relies on."""

import ast
import symtable
from collections.abc import Iterator
from functools import cache

from nbformat import NotebookNode

from tests.notebooks.chapters import chapter, code_cells, every_chapter

Functions = ast.FunctionDef | ast.ClassDef
OWN_NAMES = ast.FunctionDef | ast.ClassDef | ast.Lambda
COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def python(cell: NotebookNode) -> ast.Module:
    """A cell without its lines for a shell."""
    lines = cell.source.splitlines()
    return ast.parse("\n".join("" if line.startswith(("!", "%")) else line for line in lines))


@cache
def bound(node: ast.AST) -> set[str]:
    """The names that a cell binds, apart from those inside functions and comprehensions."""
    names: set[str] = set()
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        names.add(node.id)
    elif isinstance(node, Functions):
        names.add(node.name)
    elif isinstance(node, ast.alias):
        names.add(node.asname or node.name.partition(".")[0])
    inside = [] if isinstance(node, OWN_NAMES | COMPREHENSIONS) else ast.iter_child_nodes(node)
    return names.union(*map(bound, inside))


def defined(cell: ast.Module) -> set[str]:
    """The functions, classes and modules of a cell."""
    nodes = (ast.Import, ast.ImportFrom, *Functions.__args__)
    return set().union(*(bound(each) for each in cell.body if isinstance(each, nodes)))


def taken(notebook: NotebookNode) -> set[str]:
    """Functions of one cell whose names mean something else in another."""
    cells = [python(cell) for cell in code_cells(notebook)]
    return {
        name
        for one in cells
        for name in defined(one)
        if any(other is not one and name in bound(other) for other in cells)
    }


def keys(cell: ast.Module) -> Iterator[set[str]]:
    """What the truth of each prediction in a cell reads when it is asked."""
    for node in ast.walk(cell):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pagesim.predict":
            (truth,) = (each.value for each in node.keywords if each.arg == "truth")
            yield read_by(symtable.symtable(ast.unparse(truth), "truth", "eval"))


def read_by(table: symtable.SymbolTable) -> set[str]:
    """The global names of an expression and of what is nested in it."""
    names = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()}
    return names.union(*map(read_by, table.get_children()))


def changed_keys(notebook: NotebookNode) -> set[str]:
    """Names that the truth of a prediction reads, and that more than one cell binds."""
    cells = [python(cell) for cell in code_cells(notebook)]
    read: set[str] = set().union(*(names for cell in cells for names in keys(cell)))
    return {name for name in read if sum(name in bound(cell) for cell in cells) > 1}


@every_chapter
def test_no_cell_changes_what_the_truth_of_a_prediction_reads(name: str) -> None:
    """It is read again when the answer is shown, perhaps after the whole chapter has run."""
    assert changed_keys(chapter(name)) == set()


@every_chapter
def test_a_function_of_one_cell_is_nothing_else_in_another(name: str) -> None:
    assert taken(chapter(name)) == set()


def notebook_of(*cells: str) -> NotebookNode:
    code = [NotebookNode(cell_type="code", source=cell) for cell in cells]
    return NotebookNode(cells=code)


def test_what_counts_as_changed() -> None:
    def names_in(*cells: str) -> set[str]:
        return changed_keys(notebook_of(*cells))

    asked = 'n, a = 3, [4]\npagesim.predict("x", None, truth=lambda: [n + i for i in a])'
    assert names_in(asked, "for n in (1, 2):\n    a = 1") == {"n", "a"}
    assert names_in(asked, "i = 3\nb = [n for n in (1, 2)]\ndef f(a):\n    n = 1") == set()


def test_what_counts_as_taken() -> None:
    def names_in(*cells: str) -> set[str]:
        return taken(notebook_of(*cells))

    step = "def step():\n    return 1"
    for other in ("for step in (1, 2):\n    pass", "step = 3", "import x as step", step):
        assert names_in(step, other) == names_in(other, step) == {"step"}
    assert names_in("import torch", "with x() as (a, torch):\n    pass") == {"torch"}
    assert names_in(step, "[step for step in x]\ndef other():\n    step = 1\n!step = 1") == set()
    assert names_in(step + "\nstep = 2", "x = step()") == set()
