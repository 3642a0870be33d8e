"""What record_vllm.py writes is what `pagesim replay` reads.

There is no vLLM here: the tests run against a stub of the same shape (tests/replay/stub), whose
classes are pagesim's own under vLLM's names. So they prove the file, the refusals and the path to
the player. That real releases have this shape was tried by hand; README.md says with what result.
"""

from __future__ import annotations

import ast
import gzip
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from pagesim import cli
from pagesim.replay import replay_file
from pagesim.replay.recorder import run, script
from pagesim.replay.recorder.common import NotServedError
from pagesim.replay.recorder.run import recording

pytestmark = pytest.mark.ch11

ROOT = Path(__file__).resolve().parents[2]
STUB = Path(__file__).parent / "stub"
FEW = ("--requests", "14", "--blocks", "10")
"""Requests, and so few blocks that some are preempted."""


def alone(path: Path, version: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the script, copied beside nothing, in a process of its own."""
    copy = path.parent / "copied.py"
    copy.write_text(script())
    where = os.pathsep.join([str(STUB), str(ROOT)])
    return subprocess.run(
        [sys.executable, str(copy), str(path), *options],
        env={**os.environ, "PYTHONPATH": where, "STUB_VLLM": version},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("version", "options", "format"),
    [
        ("0.6.4.post1", (), "pagesim-trace/1"),
        ("0.6.4.post1", ("--kind", "block_manager"), "pagesim-trace/1"),
        ("0.6.4.post1", ("--max-num-batched-tokens", "48"), "pagesim-trace/1"),
        ("0.33.0", (), "pagesim-v1-trace/1"),
        ("0.33.0", ("--kind", "kv_cache_manager"), "pagesim-v1-trace/1"),
        ("0.33.0", ("--async",), "pagesim-v1-trace/1"),
    ],
)
def test_a_scheduler_alone_is_recorded_and_replays(
    version: str, options: tuple[str, ...], format: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl.gz"
    done = alone(path, version, *FEW, *options)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert f"{len(lines) - 1} operations of vLLM {version}" in done.stdout
    assert lines[0]["format"] == format and lines[0]["reference"] == f"vLLM {version}"
    assert lines[0]["num_ops"] == len(lines) - 1 > 100
    assert any(line["op"] == "preempt" or _preempts(line.get("ret")) for line in lines[1:])
    result = replay_file(path)
    assert result.mismatch is None and result.operations == result.total == len(lines) - 1


def _preempts(ret: Any) -> bool:
    return isinstance(ret, dict) and bool(ret.get("preempted"))


def test_a_manager_of_another_engine_is_refused_by_name(tmp_path: Path) -> None:
    done = alone(tmp_path / "run.jsonl", "0.33.0", "--kind", "block_manager")
    assert done.returncode == 1 and os.listdir(tmp_path) == ["copied.py"]
    assert "vLLM 0.33.0 has no 'block_manager', only scheduler, kv_cache_manager" in done.stderr


def test_resumed_requests_are_noted_alike_for_both_model_runners(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = []
    for runner in ("v1", "v2"):
        monkeypatch.setenv("STUB_RUNNER", runner)
        alone(tmp_path / f"{runner}.jsonl", "0.33.0", *FEW).check_returncode()
        runs.append((tmp_path / f"{runner}.jsonl").read_text().splitlines()[1:])
    assert runs[0] == runs[1] and any(",true," in line for line in runs[0])


def test_an_unknown_release_is_refused_by_name(tmp_path: Path) -> None:
    done = alone(tmp_path / "run.jsonl", "0.11.0")
    assert done.returncode == 1 and done.stdout == ""
    assert "vLLM 0.11.0 is not known" in done.stderr and "0.6.x" in done.stderr
    assert "vllm.v1.core.sched.scheduler.Scheduler" in done.stderr
    assert not (tmp_path / "run.jsonl").exists()


def test_the_file_needs_the_standard_library_alone_and_python_3_9() -> None:
    tree = ast.parse(script(), feature_version=(3, 9))
    names = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [getattr(node, "module", None), *(each.name for each in node.names)]
        if name is not None and (isinstance(node, ast.Import) or name == node.module)
    }
    assert names <= sys.stdlib_module_names
    strict = [
        node for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "strict"
    ]
    assert not strict  # zip(strict=…) is Python 3.10's


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        cli.main(["replay", "--recorder"])
    assert left.value.code == 0 and capsys.readouterr().out == script()


# -- around an engine, in this process -------------------------------------------------------------


@pytest.fixture(params=["0.6.4.post1", "0.33.0"])
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def vllm(version: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.setenv("STUB_VLLM", version)
    monkeypatch.syspath_prepend(str(STUB))
    yield importlib.import_module("vllm")
    for name in [name for name in sys.modules if name.split(".")[0] == "vllm"]:
        del sys.modules[name]


class Engine:
    """An LLM as far as the recorder looks: the scheduler is where each engine has it."""

    def __init__(self, version: str, **options: Any) -> None:
        values = {"requests": 12, "seed": 1, "blocks": 20, "block_size": 4, "max_num_seqs": 4}
        limits = {"max_num_batched_tokens": 64, "max_model_len": 64, "caching": True}
        chosen = SimpleNamespace(**values, **limits, asynchronous=False, **options)
        make = run.alone_v0 if version.startswith("0.6.") else run.alone_v1
        self.scheduler, self.generate = make(chosen)
        self.llm_engine = SimpleNamespace(scheduler=[self.scheduler])
        if version.startswith("0.33."):
            core = SimpleNamespace(scheduler=self.scheduler)
            self.llm_engine = SimpleNamespace(engine_core=SimpleNamespace(engine_core=core))

    def add(self, **features: Any) -> None:
        """One request; ``features`` are attributes that it has."""
        if hasattr(self.scheduler, "block_manager"):
            sequence = importlib.import_module("vllm.sequence")
            seq = sequence.Sequence(7, {"type": "token", "prompt_token_ids": [1, 2]}, 4)
            request = sequence.SequenceGroup("7", [seq], 0.0)
            call = self.scheduler.add_seq_group
        else:
            made = importlib.import_module("vllm.v1.request").Request
            params = importlib.import_module("vllm.sampling_params").SamplingParams(3, True)
            request = made("7", [1, 2], params, None, block_hasher=4)
            call = self.scheduler.add_request
        for name, value in features.items():
            setattr(request, name, value)
        call(request)


def test_the_run_of_an_engine_is_recorded_from_its_first_request_and_plays(
    vllm: ModuleType, version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    llm, path = Engine(version), tmp_path / "run.jsonl"
    with recording(llm, path):
        llm.generate()
        llm.add()
        ids = ["7"]
        if version.startswith("0.6."):
            llm.scheduler.abort_seq_group(ids)
            for _ in range(2):  # empty steps, after which the engine does not ask who is finished
                llm.scheduler.schedule()
        else:
            aborted = importlib.import_module("pagesim.v1").RequestStatus.FINISHED_ABORTED
            llm.scheduler.finish_requests(ids, aborted)
            assert llm.scheduler.reset_prefix_cache(reset_running_requests=True)
    assert "schedule" not in vars(llm.scheduler)  # it is as it was
    ops = [json.loads(line)["op"] for line in path.read_text().splitlines()[1:]]
    assert "abort" in ops and (version.startswith("0.6.") or ops[-1] == "reset_prefix_cache")
    assert os.listdir(tmp_path) == ["run.jsonl"]
    page = tmp_path / "run.html"
    with pytest.raises(SystemExit) as left:
        cli.main(["replay", str(path), "-o", str(page)])
    assert left.value.code == 0 and page.stat().st_size > 10_000
    assert f"{len(ops)} of {len(ops)} operations compared" in capsys.readouterr().out
    assert len(ops) > 40


def test_a_used_engine_is_refused(vllm: ModuleType, version: str, tmp_path: Path) -> None:
    llm = Engine(version)
    llm.generate()
    with (
        pytest.raises(NotServedError, match="from before the recording"),
        recording(llm, tmp_path / "run.jsonl"),
    ):
        pass


def test_a_run_that_fails_leaves_no_file_and_the_old_one_alone(
    vllm: ModuleType, version: str, tmp_path: Path
) -> None:
    llm, path = Engine(version), tmp_path / "run.jsonl"
    path.write_text("older")
    with pytest.raises(ZeroDivisionError), recording(llm, path):
        llm.generate()
        _ = 1 / 0
    assert path.read_text() == "older" and os.listdir(tmp_path) == ["run.jsonl"]


def test_a_failed_call_that_the_run_survives_leaves_no_file(
    vllm: ModuleType, version: str, tmp_path: Path
) -> None:
    llm, path = Engine(version), tmp_path / "run.jsonl"
    with pytest.raises(NotServedError, match="the run failed"), recording(llm, path):
        with pytest.raises(NotServedError, match="LoRA"):
            llm.add(lora_request="adapter")
        llm.generate()
    assert not path.exists()


FEATURES = {
    "0.6.4.post1": [
        ("lora_config", "LoRA"),
        ("use_async_output_proc", "disable_async_output_proc=True"),
    ],
    "0.33.0": [
        ("lora_config", "LoRA"),
        ("vllm_config.speculative_config", "speculative decoding"),
        ("connector", "a KV connector"),
        ("ec_connector", "an encoder cache connector"),
        ("is_encoder_decoder", "encoder inputs"),
        ("kv_cache_config.kv_cache_groups", r"0 KV cache groups \(a hybrid model\)"),
    ],
}


def test_an_engine_with_what_the_format_has_not_is_refused_by_name(
    vllm: ModuleType, version: str, tmp_path: Path
) -> None:
    for path, name in FEATURES[version]:
        llm = Engine(version)
        owner, _, attribute = path.rpartition(".")
        holder = getattr(llm.scheduler, owner) if owner else llm.scheduler
        setattr(holder, attribute, [] if "groups" in path else "configured")
        with pytest.raises(NotServedError, match=name), recording(llm, tmp_path / "run.jsonl"):
            llm.generate()
    if version.startswith("0.6."):
        llm = Engine(version)
        llm.llm_engine.speculative_config = "a draft model"
        with (
            pytest.raises(NotServedError, match="speculative"),
            recording(llm, tmp_path / "run.jsonl"),
        ):
            llm.generate()
    assert os.listdir(tmp_path) == []


REQUESTS = {
    "0.6.4.post1": {"lora_request": "LoRA", "is_encoder_decoder": "encoder inputs"},
    "0.33.0": {"lora_request": "LoRA", "mm_features": "encoder inputs"},
}


def test_a_request_with_what_the_format_has_not_is_refused_by_name(
    vllm: ModuleType, version: str, tmp_path: Path
) -> None:
    for feature, name in REQUESTS[version].items():
        llm = Engine(version)
        value: Any = (lambda: True) if feature.startswith("is_") else ["one"]
        with (
            pytest.raises(NotServedError, match=f"request 7 with {name}"),
            recording(llm, tmp_path / "run.jsonl"),
        ):
            llm.add(**{feature: value})
    assert os.listdir(tmp_path) == []


def test_an_engine_in_another_process_is_told_how_to_be_reached(
    vllm: ModuleType, version: str, tmp_path: Path
) -> None:
    remote = SimpleNamespace(llm_engine=SimpleNamespace(engine_core=object()))
    with (
        pytest.raises(NotServedError, match="VLLM_ENABLE_V1_MULTIPROCESSING=0"),
        recording(remote, tmp_path / "run.jsonl"),
    ):
        pass


def test_the_name_of_the_file_says_its_format(
    vllm: ModuleType, version: str, tmp_path: Path
) -> None:
    with (
        pytest.raises(NotServedError, match=r"\.jsonl or \.jsonl\.gz"),
        recording(Engine(version), tmp_path / "run.html"),
    ):
        pass
