"""The ground: pyproject, pins, environment.yml, Makefile, .ci/run and README agree and work."""

import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
import tomllib
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import pagesim
from pagesim.commands.findings import MINIMUM

pytestmark = pytest.mark.ch00

ROOT = Path(__file__).resolve().parents[1]
STEPS = ["lint", "test", "rest", "notebooks", "gate", "figures", "cluster", "e2e"]
SETUPS = ["e2e-setup", "web-setup"]
MAKES = "badges film kit lighthouse pins site slides web"
OTHERS = f"bench check coverage help lab lint-player nightly {MAKES}"
TARGETS = {*STEPS, *SETUPS, *OTHERS.split()}


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads(read("pyproject.toml"))["project"]


def pins() -> dict[str, Requirement]:
    """By name: the lines of constraints.txt."""
    lines = read("constraints.txt").splitlines()
    return {pin.name: pin for pin in map(Requirement, (x for x in lines if x[0] != "#"))}


def requirements(project: dict[str, Any]) -> list[Requirement]:
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *(line for extra in extras.values() for line in extra)]
    return [Requirement(line) for line in lines if not line.startswith("pagesim[")]


# --- pyproject.toml and constraints.txt -------------------------------------------------------


def test_every_requirement_is_pinned_within_its_range(project: dict[str, Any]) -> None:
    for requirement in requirements(project):
        (pin,) = pins()[requirement.name].specifier
        assert requirement.specifier.contains(pin.version), requirement


def test_pins_are_public_versions_that_any_index_can_serve() -> None:
    for pin in pins().values():
        assert re.fullmatch(r"==[0-9][^+*]*", str(pin.specifier)), f"no exact version: {pin}"
        assert not pin.extras and pin.url is None, f"pip takes no such constraint: {pin}"


def test_torch_and_triton_are_the_pair_that_belongs_together() -> None:
    lines = read("constraints.txt").splitlines()
    assert "torch==2.13.0" in lines
    assert "triton==3.7.1 ; sys_platform == 'linux'" in lines


def test_the_core_needs_neither_torch_nor_jupyter(project: dict[str, Any]) -> None:
    core = {Requirement(line).name for line in project["dependencies"]}
    assert core == {"click", "filelock", "matplotlib", "numpy", "tqdm"}


def test_all_is_every_other_extra(project: dict[str, Any]) -> None:
    extras = project["optional-dependencies"]
    (line,) = extras["all"]
    assert Requirement(line).extras == set(extras) - {"all"}


def test_doctor_asks_for_the_versions_of_pyproject(project: dict[str, Any]) -> None:
    floors = {requirement.name: str(requirement.specifier) for requirement in requirements(project)}
    for name, minimum in MINIMUM.items():
        assert floors[name] == f">={'.'.join(map(str, minimum))}"


# --- environment.yml and the papers beside it -------------------------------------------------


def test_environment_installs_this_checkout_with_the_pins(project: dict[str, Any]) -> None:
    items = re.findall(r"^ *- (.+)$", read("environment.yml"), flags=re.MULTILINE)
    packages = [item for item in items if item not in ("conda-forge", "nodefaults")]
    python, *rest = packages
    # pip lines only: a conda package beside them would be a second list of dependencies.
    assert rest == ["pip", "pip:", "-c constraints.txt", "-e .[all]"]
    assert project["requires-python"] == ">=3.11"
    conda = SpecifierSet(python.removeprefix("python"))
    assert [minor for minor in range(9, 16) if f"3.{minor}" in conda] == [11, 12, 13]


def test_binder_installs_this_checkout_with_the_pins(project: dict[str, Any]) -> None:
    lines = [x for x in read(".binder/requirements.txt").splitlines() if x[0] not in "#"]
    index, pinned, package = lines
    assert index.startswith("--extra-index-url https://download.pytorch.org/")
    assert (ROOT / ".binder" / pinned.removeprefix("-c ")).samefile(ROOT / "constraints.txt")
    extras = Requirement(package.replace("-e .", "pagesim")).extras
    assert extras <= set(project["optional-dependencies"])
    python = read(".binder/runtime.txt").strip().removeprefix("python-")
    assert python in SpecifierSet(project["requires-python"])


def test_one_version_and_one_date_everywhere(project: dict[str, Any]) -> None:
    """The first section of the changelog may be what is not released yet."""
    sections = re.findall(r"^## \[(.+?)\](?: - (\S+))?$", read("CHANGELOG.md"), re.MULTILINE)
    released = [section for section in sections if section[0] != "Unreleased"]
    version, date = released[0]
    assert version == project["version"] == pagesim.__version__
    assert re.findall(r"^(?:version|date-released): (.+)$", read("CITATION.cff"), re.M) == [
        version,
        date,
    ]
    assert [day for _, day in released] == sorted((day for _, day in released), reverse=True)


def test_no_workflow_names_an_owner() -> None:
    """Actions of others have their owners; this repository is whichever it runs in."""
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        named = re.findall(r"github\.com/[\w-]+|repository_owner == \S+", path.read_text())
        assert named == [], path


def test_licence_and_notice(project: dict[str, Any]) -> None:
    assert project["license"] == "MIT" and read("LICENSE").startswith("MIT License")
    for name in ("NOTICE", "README.md"):
        assert "0.6.4.post1" in read(name) and "Apache" in read(name)


PAGES = ["README.md"]
PAGES += [f"{path.relative_to(ROOT)}" for path in sorted(ROOT.glob("docs/**/*.md"))]
PAGES += [f"kit/{path.name}" for path in sorted((ROOT / "kit").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", read(page))
    assert links or page != "README.md"
    assert [link for link in links if not ((ROOT / page).parent / link).exists()] == []


def test_readme_is_one_screen_and_a_half() -> None:
    assert len(read("README.md").split()) <= 900


def test_readme_example_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the example writes a page
    (example,) = re.findall(r"```python\n(.*?)```", read("README.md"), flags=re.DOTALL)
    expected = re.findall(r"print\(.*\)\s+# (.+?):", example)
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(example, "README.md", "exec"), {})
    assert len(expected) == example.count("print(")
    assert printed.getvalue().splitlines() == expected
    assert "pagesim-player" in (tmp_path / "run.html").read_text()


# --- Makefile and .ci/run ---------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A bare copy of what make looks at, without an environment."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed; README.md has the steps without it")
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def make(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    # This test may itself run under make, whose variables would change the inner one.
    clean = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    return subprocess.run(
        ["make", *arguments],
        cwd=folder,
        env=clean | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_the_makefile_runs_exists() -> None:
    text = read("Makefile")
    files = set(re.findall(r"\btests/[\w./-]+", text))
    modules = set(re.findall(r"-m ((?:figures|kernels|pagesim|tools)[\w.]*)", text))
    assert "tests/cluster" in files and "tools.course.execute" in modules
    assert [name for name in files if not (ROOT / name).exists()] == []
    assert [name for name in modules if importlib.util.find_spec(name) is None] == []


def test_help_is_the_default_and_lists_every_target(checkout: Path) -> None:
    phony = re.search(r"^\.PHONY: (.+)$", read("Makefile"), flags=re.MULTILINE)
    assert phony and set(phony[1].split()) == TARGETS
    shown = make(checkout).stdout
    assert shown == make(checkout, "help").stdout
    listed = re.findall(r"^  make ([a-z0-9-]+) +\S.+$", shown, flags=re.MULTILINE)
    assert sorted(listed) == sorted(TARGETS)


def test_a_second_run_installs_nothing_until_a_pin_changes(checkout: Path) -> None:
    assert "pip install" in make(checkout, "-n", "test").stdout
    stamp = checkout / ".venv" / ".stamp"
    (folder,) = re.findall(r"^REVEAL := (.+)$", read("Makefile"), flags=re.MULTILINE)
    reveal = checkout / folder / "dist" / "reveal.js"
    reveal.parent.mkdir(parents=True)
    stamp.touch()
    assert "pip install" in make(checkout, "-n", "slides").stdout
    reveal.touch()
    for target in sorted(TARGETS - {"help"}):
        # -n still runs a recipe that calls make again; one line of it is enough to see.
        assert "pip install" not in make(checkout, "-n", target).stdout, target
    later = stamp.stat().st_mtime + 10
    for name in ("pyproject.toml", "constraints.txt"):
        os.utime(checkout / name, (later, later))
        assert "pip install" in make(checkout, "-n", "test").stdout, name
        os.utime(checkout / name, (0, 0))


def test_the_budget_is_that_of_all_tests(checkout: Path) -> None:
    assert "PAGESIM_BUDGET=1" in make(checkout, "-n", "test").stdout
    assert "PAGESIM_BUDGET" not in make(checkout, "-n", "test", "TEST_ARGS=-x").stdout
    assert "PAGESIM_REST=1" in make(checkout, "-n", "rest").stdout


def test_an_old_python_is_refused_in_words(checkout: Path) -> None:
    old = checkout / "old-python"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    done = make(checkout, "test", f"PYTHON={old}")
    assert done.returncode != 0
    assert "needs Python 3.11 or newer" in done.stderr and str(old) in done.stderr
    assert not (checkout / ".venv").exists()


def test_check_stops_at_the_first_failure_and_says_where(checkout: Path) -> None:
    text = read("Makefile").replace("PY := .venv/bin/python", "PY := ./fake")
    (checkout / "Makefile").write_text(text)
    fake = checkout / "fake"
    fake.write_text('#!/bin/sh\necho "ran $*"\ncase "$*" in *course.execute*) exit 1;; esac\n')
    fake.chmod(0o755)
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / ".stamp").touch()
    done = make(checkout, "check")
    assert done.returncode != 0
    assert "make check: FAILED in notebooks" in done.stdout
    assert "ran -m pytest" in done.stdout and "ran -m pagesim.figures" not in done.stdout
    fake.write_text('#!/bin/sh\necho "ran $*"\n')
    done = make(checkout, "check")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith("make check: passed")
    steps = re.findall(r"^== make (\w+)$", done.stdout, flags=re.MULTILINE)
    assert steps == STEPS


def test_lab_passes_flags_on(checkout: Path) -> None:
    shown = make(checkout, "-n", "lab", "LAB_ARGS=--no-browser --port 9").stdout
    assert shown.endswith("-m pagesim lab notebooks --keep -- --no-browser --port 9\n")


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX machine runs the CI script")
@pytest.mark.parametrize("code", [0, 3])
def test_ci_run_ends_with_pytests_closing_line(checkout: Path, code: int) -> None:
    (checkout / ".ci").mkdir()
    script = shutil.copy(ROOT / ".ci" / "run", checkout / ".ci" / "run")
    assert os.access(script, os.X_OK)
    closing = "======= 12 passed in 3.45s ======="
    (checkout / "Makefile").write_text(
        f"e2e-setup:\n\t@echo set up\n\t@exit {code}\n"
        f"check:\n\t@echo '{closing}'\n\t@echo noise\n\t@cat\n\t@echo \"CI is $$CI\"\n"
        '\t@echo "the browser is $$PAGESIM_E2E"\n'
        f"\t@echo 'make check: done'\n\t@exit {code}\n"
    )
    search = os.environ["PATH"]
    done = subprocess.run(
        ["env", "-i", f"PATH={search}", str(script)],
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode != 0) == (code != 0)
    assert "CI is true" in done.stdout and "the browser is required" in done.stdout
    assert done.stdout.index("set up") < done.stdout.index(closing)
    assert done.stdout.splitlines()[-3:] == ["== in short", closing, "make check: done"]
