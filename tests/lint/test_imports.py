"""Each contract of pyproject.toml is broken by an import inside a function that it forbids."""

import re
import shutil
import tomllib
from pathlib import Path

import pytest

from tests.kernels.children import python
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
def findings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """By a contract's name: what is said about it, with all violations planted at once."""
    lay_out()
    tree = shutil.copytree(LAID_OUT, tmp_path_factory.mktemp("tree") / "laid_out")
    for importer, imported in PLANTED.values():
        with (tree / file_of(importer)).open("a", encoding="utf-8") as file:
            file.write(f"\n\ndef planted():\n    import {imported}\n")
    done = python("-m", "tools.imports", cwd=tree)
    assert done.returncode == 1, done.stdout + done.stderr
    _, *parts = re.split(r"^(.+)\n-+$", done.stdout.split("Broken contracts")[1], flags=re.M)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def contracts() -> dict[str, str]:
    """Names by ids."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {each["id"]: each["name"] for each in table["tool"]["importlinter"]["contracts"]}


def test_every_contract_has_its_violation() -> None:
    assert set(contracts()) == set(PLANTED)


@pytest.mark.parametrize("contract", PLANTED)
def test_a_planted_import_breaks_it(findings: dict[str, str], contract: str) -> None:
    importer, imported = PLANTED[contract]
    said = findings[contracts()[contract]]
    assert importer.rpartition(".")[2] in said and imported.rpartition(".")[2] in said, said


def test_contributing_draws_the_layers() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    (floors,) = (each for each in contracts["contracts"] if each["id"] == "floors")
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    (drawn,) = re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    layers = [layer.split(" | ") for layer in floors["layers"]]
    assert [line.split() for line in drawn.splitlines()] == layers
