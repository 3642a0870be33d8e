"""The wheel, made from the sdist and unpacked in an environment of its own: it needs nothing else.

`make nightly` installs it, with what it asks for and nothing else (PAGESIM_INSTALL=1).
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from pagesim.commands import lab
from pagesim.player import page

pytestmark = pytest.mark.ch00

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"
FILES = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "NOTICE")
SOURCES = (*FILES, "figures", "kernels", "notebooks", "pagesim")
NO_INDEX = re.compile(
    r"NewConnectionError|NameResolutionError|ConnectTimeout|Max retries exceeded|ProxyError"
    r"|Network is unreachable|Connection refused"
)
SIMULATION = """
import pagesim, sys
manager = pagesim.SelfAttnBlockSpaceManager(block_size=4, num_gpu_blocks=12, num_cpu_blocks=8)
sequence = pagesim.Sequence(0, [1, 2, 3, 4, 5], 4)
manager.allocate(pagesim.SequenceGroup("r0", [sequence]))
assert manager.get_block_table(sequence) == [0, 1]
assert "site-packages" in pagesim.__file__, pagesim.__file__
run = pagesim.simulate(pagesim.workload.sharegpt_like(9, seed=0))  # its lengths are in the wheel
assert len(pagesim.workload.mooncake_conversation()) == 1000  # and so is this
assert run.requests.num_finished == 9
from pagesim.player import page
assert all(map(page.packed_script, (page.PLAYER, page.PAIR, page.FILM, page.FILMS)))
assert not {"torch", "triton"} & set(sys.modules)
print("simulated")
"""


def run(
    command: Sequence[str | Path], folder: Path, **extra: str
) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PIP_CONSTRAINT")}
    return subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**clean, **extra},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that no build folder with yesterday's files gets in or stays behind."""
    copy, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, copy / name)
    # Without --wheel, the wheel is built from the sdist: then that one is whole as well.
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", out, copy]
    done = run(command, copy)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = out.glob("*.whl")
    return built


def environment(folder: Path, *, with_pip: bool) -> Path:
    """A new environment; the folder of its programs."""
    venv.create(folder, with_pip=with_pip)
    return folder / ("Scripts" if os.name == "nt" else "bin")


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment in which the wheel lies, and which sees the packages of this one."""
    programs = environment(tmp_path_factory.mktemp("unpacked") / "env", with_pip=False)
    ours = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(run([programs / "python", "-c", ours], programs).stdout.strip())
    zipfile.ZipFile(wheel).extractall(packages)
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    return programs


@pytest.fixture(scope="module")
def empty(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment that holds the wheel and its core needs only."""
    if "PAGESIM_INSTALL" not in os.environ:
        pytest.skip("installs packages: make nightly asks for it by PAGESIM_INSTALL=1")
    folder = tmp_path_factory.mktemp("empty")
    programs = environment(folder / "env", with_pip=True)
    command = [programs / "python", "-m", "pip", "install", "--no-compile", "--retries", "1"]
    done = run([*command, "-c", ROOT / "constraints.txt", wheel], folder)
    if done.returncode and (NO_INDEX.search(done.stderr) or "PIP_NO_INDEX" in os.environ):
        pytest.skip("the package index cannot be reached, so NumPy cannot be installed")
    assert done.returncode == 0, done.stdout + done.stderr
    return programs


@pytest.fixture(params=["unpacked", "empty"])
def python(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(request.param) / "python"


def test_the_wheel_holds_one_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    info = next(top for top in tops if top.endswith(".dist-info"))
    assert tops == {"pagesim", info}
    assert "pagesim/py.typed" in names and f"{info}/licenses/NOTICE" in names
    assert "pagesim/kernels/tiny_llm/walk/model.safetensors" in names
    assert "pagesim/figures/data/thread_map.json" in names
    bundle = {f"pagesim/player/bundle/{path.name}" for path in page.BUNDLE.iterdir()}
    assert len(bundle) > 4 and bundle <= set(names), "a page needs the player's script"
    assert not [name for name in names if "gallery" in name]
    config = {f"pagesim/commands/jupyter/{path.name}" for path in lab.CONFIG.glob("*.*")}
    assert len(config) == 2 and config <= set(names)
    for folder, package in (("figures", "pagesim/"), ("kernels", "pagesim/"), ("pagesim", "")):
        ours = {package + p.relative_to(ROOT).as_posix() for p in (ROOT / folder).rglob("*.py")}
        assert ours <= set(names), "a module is missing from the wheel"


def test_the_core_simulates(python: Path, tmp_path: Path) -> None:
    done = run([python, "-c", SIMULATION], tmp_path)
    assert done.stdout == "simulated\n", done.stderr


def test_a_core_lays_out_the_course(empty: Path, tmp_path: Path) -> None:
    done = run([empty / "python", "-m", "pagesim", "lab", "course", "--no-open"], tmp_path)
    assert done.returncode == 0, done.stderr
    ours = [path for pattern in ("*", "exercises/*") for path in NOTEBOOKS.glob(f"{pattern}.ipynb")]
    committed = {path.relative_to(NOTEBOOKS): path.read_bytes() for path in ours}
    files = [path for path in (tmp_path / "course").rglob("*") if path.is_file()]
    assert {path.relative_to(tmp_path / "course"): path.read_bytes() for path in files} == committed


def test_a_core_without_jupyterlab_says_how_to_get_it(empty: Path, tmp_path: Path) -> None:
    done = run([empty / "pagesim", "lab", "course"], tmp_path)
    assert done.returncode == 2 and 'pip install "pagesim[kernels,lab]"' in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_doctor_says_what_a_core_lacks(empty: Path, tmp_path: Path) -> None:
    done = run([empty / "pagesim", "doctor", "--json"], tmp_path)
    assert done.returncode == 1, done.stderr
    found = {item["name"]: item for item in json.loads(done.stdout)["findings"]}
    missing = {name for name, item in found.items() if item["status"] == "missing"}
    assert missing == {"torch", "jupyterlab"}
    assert found["torch"]["remedy"] == 'pip install "pagesim[kernels]"'
    assert found["jupyterlab"]["remedy"] == 'pip install "pagesim[lab]"'


def test_doctor_in_words(empty: Path, tmp_path: Path) -> None:
    done = run([empty / "pagesim", "doctor"], tmp_path)
    assert done.returncode == 1 and done.stderr == ""
    assert done.stdout.splitlines()[-1] == "The course cannot run yet: torch, jupyterlab."


NEIGHBOURS = """
import kernels, transformers
from pagesim.kernels import reference
assert callable(kernels.get_kernel) and transformers.GPT2Config().n_head == 12
assert abs(reference.online_softmax([1.0, 1.0])[0] - 0.5) < 1e-9
print("pagesim" in reference.__name__, "site-packages" in kernels.__file__)
"""


@pytest.fixture(scope="module")
def beside(empty: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same environment with the distributions `kernels` and `transformers` of Hugging Face."""
    wanted = [empty / "python", "-m", "pip", "install", "-q", "kernels", "transformers"]
    done = run(wanted, tmp_path_factory.mktemp("beside"))
    assert done.returncode == 0, done.stderr
    return empty


@pytest.mark.parametrize("place", ["elsewhere", "in a clone"])
def test_somebody_elses_kernels_work_beside_ours(beside: Path, tmp_path: Path, place: str) -> None:
    """Also for whoever stands in a clone, where a folder has that name."""
    done = run([beside / "python", "-c", NEIGHBOURS], ROOT if place == "in a clone" else tmp_path)
    assert done.stdout == "True True\n", done.stderr


def test_a_folder_of_a_clone_hides_nobodys_package(tmp_path: Path) -> None:
    """Without an installation: what Python finds first on its path is a clone."""
    for name in ("kernels", "figures"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
    code = "import sys; sys.modules.update(torch=None, triton=None)  # they take long\n"
    code += "import figures, kernels; print(figures.__file__, kernels.__file__)\n"
    code += "from pagesim import figures, kernels; print(figures.palette, kernels.reference)"
    path = os.pathsep.join([str(ROOT), str(tmp_path)])
    done = run([sys.executable, "-c", code], tmp_path.parent, PYTHONPATH=path)
    theirs, ours = done.stdout.splitlines()
    assert theirs.count(str(tmp_path)) == 2, done.stdout
    assert str(ROOT / "kernels") in ours and str(ROOT / "figures") in ours, done.stdout
