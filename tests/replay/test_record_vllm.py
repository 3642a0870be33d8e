"""What record_vllm.py writes is what `pagesim replay` reads.

The recordings in tests/data/recorded are of the real 0.33.0. There is no vLLM here: what else is
tested runs against a stub of the same shape (tests/replay/stub), whose classes are pagesim's own
under vLLM's names. So that proves the file, the refusals and the path to the player.
"""

import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pagesim.replay import record_vllm, replay_file
from tests.commands.runs import Shell
from tests.kernels.children import python
from tests.replay.engine import ROOT, STUB
from tests.replay.recordings import lines_of, write

REAL = sorted((ROOT / "tests" / "data" / "recorded").glob("*.jsonl.gz"))
SCRIPT = Path(record_vllm.__file__).read_text(encoding="utf-8")
FEW = ("--requests", "24", "--blocks", "10")
"""Requests, and so few blocks that some are preempted."""


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name.split(".")[0])
def test_a_run_of_the_real_scheduler_replays(path: Path) -> None:
    lines = lines_of(path)
    result = replay_file(path)
    assert result.mismatch is None and result.ended == ""
    assert result.operations == result.total == len(lines) - 1 > 150
    assert lines[0]["reference"] == "vLLM 0.33.0"


def test_these_runs_have_seen_everything() -> None:
    lines = [line for path in REAL for line in lines_of(path)]
    assert {"add", "abort", "schedule", "update", "reset_prefix_cache", "end"} == {
        line["op"] for line in lines if "op" in line
    }
    assert any(line.get("op") == "schedule" and line["ret"]["preempted"] for line in lines)
    assert any("stops" in line.get("args", ()) for line in lines)
    assert any("salt" in line.get("args", ()) for line in lines)
    headers = [line for line in lines if "config" in line]
    assert {header["config"]["cache"]["sliding_window"] for header in headers} == {None, 48}
    calls = [call for line in lines for call in line.get("state", {}).get("pool", ())]
    assert any(call[0] == "touch" for call in calls)


@pytest.mark.parametrize("key", ["pool", "cached", "reqs", "queued"])
def test_a_change_that_differs_is_named(key: str, path: Path) -> None:
    lines = lines_of(REAL[0])
    line = next(each for each in lines if each.get("state", {}).get(key))
    line["state"][key] = [] if isinstance(line["state"][key], list) else {}
    mismatch = replay_file(write(path, lines)).mismatch
    assert f"op#{line['i']} {line['op']}.state.{key}" in str(mismatch)


def alone(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the script, copied beside nothing, in a process of its own."""
    copy = path.parent / "copied.py"
    copy.write_text(SCRIPT)
    return python(str(copy), str(path), *options, path=STUB, STUB_VLLM="0.33.0")


def here(monkeypatch: pytest.MonkeyPatch, path: Path, *options: str) -> None:
    """The same in this process."""
    monkeypatch.setattr(sys, "argv", ["record_vllm.py", str(path), *options])
    record_vllm.main()


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--async",),
        ("--no-caching", "--plain-tokens"),
        ("--window", "20", "--blocks", "14"),
        ("--window", "20", "--blocks", "16", "--async"),
    ],
)
def test_a_scheduler_alone_is_recorded_and_replays(
    options: tuple[str, ...],
    vllm: ModuleType,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if options:
        here(monkeypatch, path, *FEW, *options)
        out = capsys.readouterr().out
    else:
        out = alone(path, *FEW).stdout
    lines = lines_of(path)
    assert f"{len(lines) - 2} operations of vLLM 0.33.0" in out
    assert any(line.get("op") == "schedule" and line["ret"]["preempted"] for line in lines)
    result = replay_file(path)
    assert result.mismatch is None and result.operations == result.total == len(lines) - 1


def test_resumed_requests_are_noted_alike_for_both_model_runners(
    vllm: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = []
    for runner in ("v1", "v2"):
        monkeypatch.setenv("STUB_RUNNER", runner)
        path = tmp_path / f"{runner}.jsonl"
        here(monkeypatch, path, *FEW, "--plain-tokens")
        runs.append(path.read_text().splitlines()[1:])
    assert runs[0] == runs[1] and any(",true," in line for line in runs[0])


@pytest.mark.parametrize("version", ["0.32.1", "0.6.4.post1"])
def test_an_unknown_release_is_refused_by_name(
    version: str, vllm: ModuleType, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vllm, "__version__", version)
    with pytest.raises(SystemExit, match=rf"vLLM {version} is not known.*0\.33\."):
        here(monkeypatch, path)
    assert not path.exists()


def test_where_vllm_is_not_installed_a_line_says_so(tmp_path: Path) -> None:
    copy = tmp_path / "copied.py"
    copy.write_text(SCRIPT)
    done = python("-P", str(copy), str(tmp_path / "run.jsonl"), PYTHONPATH=None)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert "vLLM" in done.stderr and sys.executable in done.stderr
    assert not (tmp_path / "run.jsonl").exists()


def test_the_file_needs_the_standard_library_alone() -> None:
    tree = ast.parse(SCRIPT, feature_version=(3, 11))
    names = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [getattr(node, "module", None), *(each.name for each in node.names)]
        if name is not None and (isinstance(node, ast.Import) or name == node.module)
    }
    assert names <= sys.stdlib_module_names


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert Shell(capsys)("replay", "--recorder") == SCRIPT
