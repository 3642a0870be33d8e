"""pagesim where NumPy, tqdm, matplotlib and click are not installed: the same runs and files."""

import json
from pathlib import Path

import pytest

import pagesim
from tests import bare
from tests.kernels.children import python


def test_the_same_runs_searches_and_files(tmp_path: Path) -> None:
    done = python(str(Path(bare.__file__)), str(tmp_path))
    assert done.returncode == 0, done.stderr[-2000:]
    answer = json.loads(done.stdout)
    assert answer == {"found": bare.found(tmp_path), "there": []}
    assert answer["found"]["events"] > 40 and all(answer["found"]["loaded"])
    assert sum(map(len, answer["found"]["searches"])) > 100


def test_importing_pagesim_loads_none_of_them() -> None:
    there = "{'numpy', 'tqdm', 'matplotlib', 'click'} & set(sys.modules)"
    done = python("-c", f"import sys, pagesim; pagesim.v1; print({there})")
    assert (done.stdout, done.stderr) == ("set()\n", "")


def test_importing_pagesim_loads_no_exercise_and_they_need_neither_torch_nor_triton() -> None:
    there = "print([n for n in ('pagesim.exercises', 'torch', 'kernels') if n in sys.modules]); "
    use = "import pagesim.exercises.notebooks as n; [n.notebook(c) for c in n.chapters()]; "
    done = python("-c", f"import sys, pagesim; {there}{use}{there}")
    assert (done.stdout, done.stderr) == ("[]\n['pagesim.exercises']\n", "")


def test_what_needs_numpy_comes_when_it_is_asked_for() -> None:
    done = python("-c", "from pagesim import *; print(sweep, simulate, workload.Request)")
    assert (done.returncode, done.stderr) == (0, "")
    for name in ("simulate", "sweep", "workload", "Simulation"):
        assert name in dir(pagesim) and getattr(pagesim, name) is getattr(pagesim, name)
    with pytest.raises(AttributeError, match="no attribute 'simulator'"):
        pagesim.simulator  # noqa: B018


def test_what_needs_numpy_says_so() -> None:
    hidden = "import sys; from tests.bare import Hide; sys.meta_path.insert(0, Hide()); "
    done = python("-c", f"{hidden}import pagesim; pagesim.simulate")
    assert done.stderr.strip().splitlines()[-1] == "ModuleNotFoundError: No module named 'numpy'"
