"""Each contract of pyproject.toml is broken by an import inside a function that it forbids."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tools.laid_out import LAID_OUT, ROOT, lay_out

pytestmark = pytest.mark.ch00

PLANTED = {
    "floors": ("pagesim.sizing.dtypes", "pagesim.workload.rows"),
    "circles": ("pagesim.cache.attention_metadata", "pagesim.cache.metadata_v0"),
    "kernels": ("pagesim.kernels.layouts", "pagesim.errors"),
    "player": ("pagesim.player.sheet", "pagesim.v1.request"),
    "front-door": ("pagesim.exercises.case", "pagesim"),
    "engines": ("pagesim.v0.evictor", "pagesim.timeline.lines"),
    "journal": ("pagesim.journal.effects", "pagesim.v0.evictor"),
    "figures": ("pagesim.figures.style", "pagesim.kernels.layouts"),
}
"""By contract: who imports whom."""


def file_of(module: str) -> Path:
    return Path(*module.split(".")).with_suffix(".py")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lay_out()
    return shutil.copytree(LAID_OUT, tmp_path_factory.mktemp("tree") / "laid_out")


def lint(tree: Path, contract: str) -> subprocess.CompletedProcess[str]:
    code = "from importlinter.cli import lint_imports_command as lint; lint()"
    return subprocess.run(
        [sys.executable, "-c", code, "--no-cache", "--contract", contract],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_contract_has_its_violation() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = table["tool"]["importlinter"]["contracts"]
    assert {contract["id"] for contract in contracts} == set(PLANTED)


@pytest.mark.parametrize("contract", PLANTED)
def test_a_planted_import_breaks_it(tree: Path, contract: str) -> None:
    importer, imported = PLANTED[contract]
    file = tree / file_of(importer)
    before = file.read_text(encoding="utf-8")
    file.write_text(f"{before}\n\ndef planted():\n    import {imported}\n", encoding="utf-8")
    done = lint(tree, contract)
    file.write_text(before, encoding="utf-8")
    assert done.returncode == 1 and "BROKEN" in done.stdout, done.stdout + done.stderr
    assert importer.rpartition(".")[2] in done.stdout.split("Broken contracts")[1]
