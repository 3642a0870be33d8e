"""Compiled, interpreted or reference: decided once, before triton, and told in one line."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from pagesim.kernels import backend
from pagesim.kernels.runtime import mode
from tests.kernels.children import block_import, nightly, python

USE = """
import torch
from pagesim import kernels
where = kernels.backend.device()
cache = torch.arange(16.0, device=where).reshape(2, 2, 1, 4)
table, lens = (torch.tensor(x, dtype=torch.int32, device=where) for x in ([[1]], [1]))
q = torch.ones(1, 1, 4, device=where)
for dtype in (torch.float32, torch.bfloat16):
    k, v = cache.to(dtype), cache.to(dtype, copy=True)
    token = torch.full((1, 1, 4), 9.0, dtype=dtype, device=where)
    kernels.reshape_and_cache(token, token, k, v, torch.tensor([2], device=where))
    out = kernels.paged_attention_v1(q.to(dtype), k, v, table, lens)
    kernels.assert_matches_reference(out, q.to(dtype), k, v, table, lens)
    print(out.flatten().tolist(), out.dtype)
"""
USED = "[9.0, 9.0, 9.0, 9.0] torch.float32\n[9.0, 9.0, 9.0, 9.0] torch.bfloat16\n"
REPORT = "\nfrom pagesim.kernels import backend\nprint(backend.main(['--json']))\n"
KEYS = {"mode", "reason", "device", "torch", "triton", "probe", "ok"}


def test_json_is_one_object_and_agrees_with_this_process(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert backend.main(["--json"]) == 0
    printed, errors = capsys.readouterr()
    assert errors == ""
    found = json.loads(printed)
    assert set(found) == KEYS
    assert found["probe"] == "ok"
    assert found["ok"] is True
    if "TRITON_INTERPRET" not in mode.decide().reason:
        decided = mode.decide()
        assert (found["mode"], found["device"]) == (decided.mode, decided.device)


def test_two_lines_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert backend.main([]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert " on " in first
    assert second.startswith("probe: ok (torch ")


def test_without_triton_the_reference_answers_and_says_so_once(tmp_path: Path) -> None:
    child = python("-c", USE + REPORT, path=block_import(tmp_path, "triton"))
    assert child.stdout.startswith(USED)
    assert len(child.stderr.splitlines()) == 1
    assert "the NumPy reference answers" in child.stderr
    assert "triton cannot be imported" in child.stderr
    report, status = child.stdout.removeprefix(USED).splitlines()
    found = json.loads(report)
    assert (found["mode"], found["triton"], found["probe"]) == ("reference", None, "ok")
    assert (found["ok"], status) == (True, "0")


@nightly
def test_with_triton_nothing_is_said_and_nothing_of_ours_is_imported() -> None:
    """`import kernels` first is enough: a user's own `import triton` finds the mode decided."""
    if mode.decide().mode == "reference":
        pytest.skip(f"no triton to run: {mode.decide().reason}")
    names = (
        "sorted({name.split('.')[1] for name in {*sys.modules} - core if name[:8] == 'pagesim.'})"
    )
    core = "import sys, pagesim; core = set(sys.modules)\n"
    code = f"{core}from pagesim import kernels; import triton{USE}\nprint({names})"
    child = python("-c", code)
    assert (child.stdout, child.stderr) == (f"{USED}['folders', 'kernels']\n", "")


def test_without_torch_importing_works_and_calling_names_the_extra(tmp_path: Path) -> None:
    code = """
from pagesim import kernels
print(kernels.reference.online_softmax([0.0, 0.0]))
for use in ("paged_attention_v1", "reshape_and_cache", "assert_matches_reference"):
    try:
        getattr(kernels, use)
    except ImportError as error:
        print(error)
try:
    kernels.backend.device()
except ImportError as error:
    print(error)
"""
    child = python("-c", code + REPORT, path=block_import(tmp_path, "torch", "triton"))
    assert child.stderr == ""
    first, *messages, report, status = child.stdout.splitlines()
    assert first == "[0.5 0.5]"
    assert len(messages) == 4
    assert all('pip install "pagesim[kernels]"' in message for message in messages)
    found = json.loads(report)
    assert (found["mode"], found["torch"], found["ok"]) == ("reference", None, False)
    assert 'pip install "pagesim[kernels]"' in found["probe"]
    assert status == "1"


@nightly
def test_triton_imported_the_other_way_is_told_with_the_way_out() -> None:
    if mode.decide().mode == "reference":
        pytest.skip(f"no triton to import: {mode.decide().reason}")
    # The wrong way is the interpreter where there is a GPU, and the compiler where there is none.
    wrong = "1" if pytest.importorskip("torch").cuda.is_available() else "0"
    code = f"""
import os
os.environ["TRITON_INTERPRET"] = "{wrong}"
import triton
os.environ["TRITON_INTERPRET"] = "0"
from pagesim import kernels
print(kernels.reference.online_softmax([1.0]))
for use in (lambda: kernels.paged_attention_v1, lambda: kernels.backend.device()):
    try:
        use()
    except RuntimeError as error:
        print(error)
from pagesim.kernels import backend
print(backend.report()["probe"])
"""
    child = python("-c", code)
    assert child.stderr == ""
    first, *messages = child.stdout.splitlines()
    assert first == "[1.]"
    assert len(messages) == 3
    for message in messages:
        assert "restart" in message
        assert "import kernels before triton" in message


def test_the_users_wish_to_interpret_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = SimpleNamespace(
        cuda=SimpleNamespace(is_available=lambda: True, get_device_name=lambda: "Big GPU")
    )
    monkeypatch.delenv(mode.COMPILE_ONLY, raising=False)
    for wish, chosen, device in [("1", "interpreted", "cpu"), ("0", "compiled", "cuda")]:
        monkeypatch.setenv("TRITON_INTERPRET", wish)
        wanted = mode._wanted(gpu)
        assert (wanted.mode, wanted.device) == (chosen, device)
        assert "Big GPU" in wanted.reason
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert "TRITON_INTERPRET is set" in mode._wanted(gpu).reason


@pytest.mark.parametrize(
    ("triton", "numpy", "works"),
    [("3.6.0", "2.4.0", False), ("3.6.0", "2.3.5", True), ("3.7.1", "2.4.6", True)],
)
def test_an_old_triton_with_a_new_numpy_cannot_interpret(
    triton: str, numpy: str, works: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "numpy", SimpleNamespace(__version__=numpy))
    problem = mode._cannot_interpret(SimpleNamespace(__version__=triton))
    if works:
        assert problem is None
    else:
        assert "install triton>=3.7 or numpy<2.4" in problem


@nightly
def test_compile_only_runs_nothing() -> None:
    if mode.decide().mode == "reference":
        pytest.skip(f"no triton to compile with: {mode.decide().reason}")
    child = python("-c", REPORT + USE, PAGESIM_COMPILE_ONLY="1")
    report, status = child.stdout.splitlines()
    found = json.loads(report)
    assert (found["mode"], found["device"], found["ok"]) == ("compiled", None, False)
    assert found["probe"].startswith("not run")
    assert status == "1"
    assert "RuntimeError: no kernel can run here" in child.stderr
