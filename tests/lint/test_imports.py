"""Which file may import which: no circles, and no arrow in a forbidden direction.

Counted is what runs when a module is imported, and what stands under TYPE_CHECKING: everything but
the bodies of functions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.ch00

ROOT = Path(__file__).parents[2]
PACKAGES = ("pagesim", "kernels", "figures", "tools")
# What a package may import besides itself.
ALLOWED = {"pagesim": set(), "kernels": set(), "figures": {"pagesim"}, "tools": {"pagesim"}}
Arrows = Mapping[str, set[str]]


def modules(root: Path) -> dict[str, Path]:
    """Every module of ours by its dotted name; a package goes by its own name."""
    found = {}
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(tree: ast.AST, name: str, is_package: bool) -> Iterator[tuple[str, list[str]]]:
    """(module, names taken from it) for each import outside the bodies of functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                parts = name.split(".")
                up = parts[: len(parts) - node.level + is_package]
                module = ".".join([*up, module] if module else up)
            yield module, [alias.name for alias in node.names]
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from imported(node, name, is_package)


@cache
def arrows(root: Path) -> dict[str, set[str]]:
    """For each module of ours, the modules of ours that it imports."""
    files = modules(root)
    found: dict[str, set[str]] = {}
    for name, path in files.items():
        found[name] = set()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for module, members in imported(tree, name, path.name == "__init__.py"):
            for member in members or [""]:
                target = f"{module}.{member}"
                target = target if target in files else module
                if target in files and target != name:
                    found[name].add(target)
    return found


def folded(found: Arrows, package: str) -> dict[str, set[str]]:
    """The same between what lies directly in a package: its folders, and the files at its root.

    The package's own __init__ is left out: it hands on the names of all of them.
    """

    def place(name: str) -> str:
        return ".".join(name.split(".")[:2])

    ours = {name for name in found if name.startswith(f"{package}.")}
    rooms: dict[str, set[str]] = {place(name): set() for name in ours}
    for name in ours:
        rooms[place(name)] |= {place(t) for t in found[name] & ours} - {place(name)}
    return rooms


def circles(found: Arrows) -> list[set[str]]:
    """The sets of nodes that reach each other."""
    reach = {name: set(targets) for name, targets in found.items()}
    for middle in reach:
        for name in reach:
            if middle in reach[name]:
                reach[name] |= reach[middle]
    groups = {frozenset(n for n in reach[name] if name in reach[n]) for name in reach}
    return sorted((set(group) for group in groups if group), key=sorted)


@pytest.mark.parametrize("where", ["files", *PACKAGES])
def test_no_circle(where: str) -> None:
    """Between files, and in a package between its folders and the files at its root."""
    found = arrows(ROOT)
    assert circles(found if where == "files" else folded(found, where)) == []


def test_packages_import_only_what_they_may() -> None:
    wrong = [
        f"{name} imports {target}"
        for name, targets in arrows(ROOT).items()
        for target in sorted(targets)
        if ".cells." not in name  # a cell of a student's notebook: it imports what she imports
        and target.split(".")[0] not in ALLOWED[name.split(".")[0]] | {name.split(".")[0]}
    ]
    assert not wrong, wrong


def test_each_rule_can_fail(tmp_path: Path) -> None:
    """A small house with one of everything: two circles, a hidden import, a wrong direction."""
    for file, text in {
        "pagesim/__init__.py": "from pagesim.a.one import x\n",
        "pagesim/a/__init__.py": "",
        "pagesim/a/one.py": "from . import two\n",
        "pagesim/a/two.py": "if True:\n    from pagesim.b import three\n",
        "pagesim/b/__init__.py": "",
        "pagesim/b/three.py": "import pagesim.a.one\n\ndef f():\n    import kernels.k\n",
        "kernels/k.py": "from figures import f\n",
        "figures/f.py": "",
    }.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    found = arrows(tmp_path)
    assert found["pagesim.a.two"] == {"pagesim.b.three"}
    assert found["pagesim.b.three"] == {"pagesim.a.one"}
    assert found["kernels.k"] == {"figures.f"}
    assert circles(found) == [{"pagesim.a.one", "pagesim.a.two", "pagesim.b.three"}]
    assert circles(folded(found, "pagesim")) == [{"pagesim.a", "pagesim.b"}]
