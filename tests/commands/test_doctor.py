"""`pagesim doctor`: every way a machine can be, and no way to make it crash."""

import json
import subprocess
import sys
import webbrowser
from pathlib import Path

import pytest

from pagesim.commands import findings as doctor
from tests.kernels.children import python

pytestmark = pytest.mark.ch00

GOOD = {"mode": "interpreted", "reason": "no GPU here", "device": "cpu"}
GOOD |= {"torch": "2.13.0", "triton": "3.7.1", "probe": "ok", "ok": True}


def answering(answer: object, before: str = "") -> doctor.Probe:
    text = f"{before}{json.dumps(answer)}\n"
    return lambda: subprocess.CompletedProcess([], 0, stdout=text, stderr="")


@pytest.fixture
def complete(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which everything is installed, whatever this one has."""
    monkeypatch.setattr(doctor, "installed_version", lambda name: "99.0")


def without(monkeypatch: pytest.MonkeyPatch, name: str, version: str | None = None) -> None:
    """One package is not installed, or has this version."""
    versions = {name: version}
    monkeypatch.setattr(doctor, "installed_version", lambda asked: versions.get(asked, "99.0"))


def finding(report: doctor.Report, name: str) -> doctor.Finding:
    (found,) = [found for found in report.findings if found.name == name]
    return found


# --- what is installed ------------------------------------------------------------------------


def test_a_complete_machine_is_ok(complete: None) -> None:
    report = doctor.examine(answering(GOOD))
    assert report.ok and report.kernels == GOOD
    probe = finding(report, "probe")
    assert (probe.status, probe.detail) == ("ok", "interpreted on cpu: no GPU here")
    assert json.loads(json.dumps(report.as_dict()))["ok"] is True


@pytest.mark.parametrize(
    ("name", "extra"),
    [("numpy", ""), ("matplotlib", ""), ("torch", "[kernels]"), ("jupyterlab", "[lab]")],
)
@pytest.mark.parametrize("version", [None, "1.0"])
def test_what_the_course_needs(
    complete: None, monkeypatch: pytest.MonkeyPatch, name: str, extra: str, version: str | None
) -> None:
    without(monkeypatch, name, version)
    report = doctor.examine(answering(GOOD))
    assert not report.ok
    found = finding(report, name)
    assert found.status == "missing" and (version or "not installed") in found.detail
    assert found.remedy == f'pip install -e ".{extra}" -c constraints.txt'


def test_the_oldest_version_that_works_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "installed_version", lambda _: "2.0")
    assert doctor.MINIMUM["numpy"] == (2, 0) and doctor.look_at_package("numpy").status == "ok"


def test_outside_a_checkout_the_remedy_is_the_published_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(doctor, "ROOT", tmp_path)
    assert doctor.install_command("kernels") == 'pip install "pagesim[kernels]"'
    assert doctor.install_command(None) == 'pip install "pagesim"'


def test_without_torch_no_child_is_started(complete: None, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "torch")

    def never() -> subprocess.CompletedProcess[str]:
        raise AssertionError("the child was started")

    report = doctor.examine(never)
    assert not report.ok and finding(report, "probe").status == "note"


@pytest.mark.parametrize(("system", "remedied"), [("linux", True), ("darwin", False)])
def test_without_triton_the_course_runs(
    complete: None, monkeypatch: pytest.MonkeyPatch, system: str, remedied: bool
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    without(monkeypatch, "triton")
    report = doctor.examine(answering({**GOOD, "mode": "reference", "triton": None}))
    triton = finding(report, "triton")
    assert report.ok and triton.status == "note" and "NumPy reference" in triton.detail
    assert (triton.remedy is not None) == remedied


@pytest.mark.parametrize(
    ("version", "parts"), [("2.13.0+cpu", (2, 13)), ("3.7", (3, 7)), ("2.11.0rc1", (2, 11))]
)
def test_release_numbers(version: str, parts: tuple[int, ...]) -> None:
    assert doctor._release(version) == parts


def test_no_browser_is_a_note(complete: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing() -> webbrowser.BaseBrowser:
        raise webbrowser.Error("none")

    monkeypatch.setattr(webbrowser, "get", nothing)
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    assert doctor.look_for_browser().status == "note"
    monkeypatch.setattr(doctor.shutil, "which", {"chromium": "/bin/chromium"}.get)
    assert doctor.look_for_browser() == doctor.Finding("browser", "ok", "/bin/chromium")


def test_doctor_imports_neither_torch_nor_triton() -> None:
    code = (
        "import subprocess, sys\n"
        "from pagesim.commands.findings import examine\n"
        "examine(lambda: subprocess.CompletedProcess([], 1, '', ''))\n"
        "print(sorted({'torch', 'triton', 'pagesim.kernels'} & set(sys.modules)))\n"
    )
    assert python("-c", code).stdout == "[]\n"


# --- the child: real processes that answer, crash, babble and hang ----------------------------


def child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str) -> doctor.Finding:
    package = tmp_path / "pagesim" / "kernels"
    package.mkdir(parents=True)
    (package / "backend.py").write_text(code)
    monkeypatch.setattr(doctor, "ROOT", tmp_path)
    found, _ = doctor.try_kernels(doctor.start_probe)
    return found


def test_a_child_that_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code = f"print('a library says hello')\nprint({json.dumps(json.dumps(GOOD))})\n"
    assert child(monkeypatch, tmp_path, code).status == "ok"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import os; os.abort()", "ended with"),
        ("raise RuntimeError('driver too old')", "RuntimeError: driver too old"),
        ("print('[1, 2] {garbage')", "no answer"),
        ("print('[1, 2]')", "no answer"),
        ("", "no answer"),
    ],
)
def test_a_child_that_dies_or_babbles(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str, words: str
) -> None:
    found = child(monkeypatch, tmp_path, code)
    assert found.status == "missing" and words in found.detail and "\n" not in found.detail
    assert found.remedy == 'pip install "pagesim[kernels]"'


def test_a_child_that_hangs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor, "PROBE_TIMEOUT_S", 1.0)
    found = child(monkeypatch, tmp_path, "import time; time.sleep(600)")
    assert found.status == "missing" and "no answer within 1 s" in found.detail


def test_a_child_that_cannot_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "absent"))
    found, answer = doctor.try_kernels(doctor.start_probe)
    assert found.status == "missing" and "did not start" in found.detail and answer is None


def test_a_failed_test_kernel_is_missing_and_says_why() -> None:
    answer = {**GOOD, "probe": "gave 3, expected 4", "ok": False}
    found, kept = doctor.try_kernels(answering(answer))
    assert found.status == "missing" and "gave 3, expected 4" in found.detail and kept == answer


def test_ok_must_be_true_not_merely_there() -> None:
    found, _ = doctor.try_kernels(answering({**GOOD, "ok": "false"}))
    assert found.status == "missing"
