"""What record_vllm.py writes is what `pagesim replay` reads.

The recordings in tests/data/recorded are of the real 0.33.0. There is no vLLM here: what else is
tested runs against a stub of the same shape (tests/replay/stub), whose classes are pagesim's own
under vLLM's names. So that proves the file, the refusals and the path to the player.
"""

from __future__ import annotations

import ast
import gzip
import importlib
import json
import os
import signal
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from pagesim import cli
from pagesim.replay import record_vllm, replay_file
from pagesim.replay.record_vllm import NotServedError, recording
from pagesim.v1 import RequestStatus

pytestmark = pytest.mark.ch11

ROOT = Path(__file__).resolve().parents[2]
STUB = Path(__file__).parent / "stub"
REAL = sorted((ROOT / "tests" / "data" / "recorded").glob("*.jsonl.gz"))
SCRIPT = Path(record_vllm.__file__).read_text(encoding="utf-8")
FEW = ("--requests", "24", "--blocks", "10")
"""Requests, and so few blocks that some are preempted."""
ABORTED = RequestStatus.FINISHED_ABORTED


def lines_of(path: Path) -> list[dict[str, Any]]:
    raw = path.read_bytes()
    lines = (gzip.decompress(raw) if path.suffix == ".gz" else raw).splitlines()
    return [json.loads(line) for line in lines]


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
    assert {line["config"]["cache"]["sliding_window"] for line in lines if "config" in line} == {
        None,
        48,
    }
    assert any(
        call[0] == "touch" for line in lines for call in line.get("state", {}).get("pool", ())
    )


@pytest.mark.parametrize("key", ["pool", "cached", "reqs", "queued"])
def test_a_change_that_differs_is_named(key: str, tmp_path: Path) -> None:
    lines = lines_of(REAL[0])
    line = next(each for each in lines if each.get("state", {}).get(key))
    line["state"][key] = [] if isinstance(line["state"][key], list) else {}
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    assert f"op#{line['i']} {line['op']}.state.{key}" in str(replay_file(path).mismatch)


def alone(path: Path, *options: str, version: str = "0.33.0") -> subprocess.CompletedProcess[str]:
    """Run the script, copied beside nothing, in a process of its own."""
    copy = path.parent / "copied.py"
    copy.write_text(SCRIPT)
    where = os.pathsep.join([str(STUB), str(ROOT)])
    return subprocess.run(
        [sys.executable, str(copy), str(path), *options],
        env={**os.environ, "PYTHONPATH": where, "STUB_VLLM": version},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("options", [(), ("--async",), ("--no-caching", "--plain-tokens")])
def test_a_scheduler_alone_is_recorded_and_replays(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    done = alone(path, *FEW, *options)
    assert done.returncode == 0, done.stderr
    lines = lines_of(path)
    assert f"{len(lines) - 2} operations of vLLM 0.33.0" in done.stdout
    assert any(line.get("op") == "schedule" and line["ret"]["preempted"] for line in lines)
    result = replay_file(path)
    assert result.mismatch is None and result.operations == result.total == len(lines) - 1


def test_resumed_requests_are_noted_alike_for_both_model_runners(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = []
    for runner in ("v1", "v2"):
        monkeypatch.setenv("STUB_RUNNER", runner)
        path = tmp_path / f"{runner}.jsonl"
        alone(path, *FEW, "--plain-tokens").check_returncode()
        runs.append(path.read_text().splitlines()[1:])
    assert runs[0] == runs[1] and any(",true," in line for line in runs[0])


@pytest.mark.parametrize("version", ["0.32.1", "0.6.4.post1"])
def test_an_unknown_release_is_refused_by_name(version: str, tmp_path: Path) -> None:
    done = alone(tmp_path / "run.jsonl", version=version)
    assert done.returncode == 1 and done.stdout == ""
    assert f"vLLM {version} is not known" in done.stderr and "0.33." in done.stderr
    assert not (tmp_path / "run.jsonl").exists()


def test_where_vllm_is_not_installed_a_line_says_so(tmp_path: Path) -> None:
    copy = tmp_path / "copied.py"
    copy.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-P", str(copy), str(tmp_path / "run.jsonl")],
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=False,
    )
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
    with pytest.raises(SystemExit) as left:
        cli.main(["replay", "--recorder"])
    assert left.value.code == 0 and capsys.readouterr().out == SCRIPT


# -- around an engine, in this process -------------------------------------------------------------


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.setenv("STUB_VLLM", "0.33.0")
    monkeypatch.syspath_prepend(str(STUB))
    yield importlib.import_module("vllm")
    for name in [name for name in sys.modules if name.split(".")[0] == "vllm"]:
        del sys.modules[name]


class Engine:
    """An LLM as far as the recorder looks."""

    def __init__(self, blocks: int = 20, asynchronous: bool = False) -> None:
        values = {"requests": 12, "seed": 1, "blocks": blocks, "block_size": 4, "max_num_seqs": 4}
        limits = {"max_num_batched_tokens": 64, "max_model_len": 64, "caching": True}
        self.options = Namespace(**values, **limits, asynchronous=asynchronous)
        self.scheduler = record_vllm.scheduler_alone(self.options)
        core = SimpleNamespace(engine_core=SimpleNamespace(scheduler=self.scheduler))
        self.llm_engine = SimpleNamespace(engine_core=core)

    def generate(self) -> None:
        record_vllm.serve(self.scheduler, self.options)

    def add(
        self,
        name: str = "7",
        prompt: tuple[int, ...] = (1, 2),
        stop: tuple[int, ...] = (),
        salt: str | None = None,
        **more: Any,
    ) -> Any:
        """One request; ``more`` are attributes that it has."""
        made = importlib.import_module("vllm.v1.request").Request
        params = importlib.import_module("vllm.sampling_params").SamplingParams(9, True, stop)
        request = made(name, list(prompt), params, None, block_hasher=4, cache_salt=salt)
        for attribute, value in more.items():
            setattr(request, attribute, value)
        self.scheduler.add_request(request)
        return request

    def step(self, **tokens: int) -> None:
        """One step in which these requests sample these tokens."""
        output = self.scheduler.schedule()
        names = list(output.num_scheduled_tokens)
        made = importlib.import_module("vllm.v1.outputs").ModelRunnerOutput
        index = {name: place for place, name in enumerate(names)}
        sampled = [[tokens[name]] if name in tokens else [] for name in names]
        self.scheduler.update_from_output(output, made(names, index, sampled))


def test_the_run_of_an_engine_is_recorded_from_its_first_request_and_plays(
    vllm: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    llm, path = Engine(), tmp_path / "run.jsonl"
    with recording(llm, path):
        llm.generate()
        llm.add()
        llm.scheduler.finish_requests(["7"], ABORTED)
        assert llm.scheduler.reset_prefix_cache(reset_running_requests=True)
    pool = llm.scheduler.kv_cache_manager.block_pool
    assert "schedule" not in vars(llm.scheduler) and "touch" not in vars(pool)  # they are as before
    ops = [line.get("op") for line in lines_of(path)[1:]]
    assert ops[-3:] == ["abort", "reset_prefix_cache", "end"] and len(ops) > 40
    page = tmp_path / "run.html"
    with pytest.raises(SystemExit) as left:
        cli.main(["replay", str(path), "-o", str(page)])
    assert left.value.code == 0 and page.stat().st_size > 10_000
    assert f"{len(ops)} of {len(ops)} operations compared" in capsys.readouterr().out


def test_a_hook_of_the_server_records_its_scheduler(
    vllm: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.jsonl"
    monkeypatch.setenv("RECORD_VLLM", str(path))
    llm = Engine(asynchronous=True)
    monkeypatch.delenv("RECORD_VLLM")
    llm.generate()
    assert lines_of(path)[0]["config"]["scheduler"]["async_scheduling"] is True
    result = replay_file(path)
    assert result.mismatch is None and result.operations > 40 and "cut off" in result.ended
    llm.scheduler.recorder.end()
    assert replay_file(path).ended == ""


def test_what_a_call_does_inside_is_a_part_of_it(
    vllm: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm, path = Engine(), tmp_path / "run.jsonl"
    original = type(llm.scheduler).schedule

    def schedule(self: Any) -> Any:
        self.finish_requests(["7"], ABORTED)
        return original(self)

    monkeypatch.setattr(type(llm.scheduler), "schedule", schedule)
    with recording(llm, path) as recorder:
        llm.add()
        llm.scheduler.schedule()
        assert not recorder._tokens._prefixes, "nothing is kept of what has ended"
    assert [line.get("op") for line in lines_of(path)[1:]] == ["add", "schedule", "end"]


def test_tokens_are_hashed_and_equal_prefixes_stay_equal(vllm: ModuleType, tmp_path: Path) -> None:
    secret, other = (5, 6, 7, 8, 5), (5, 6, 9, 8, 5)
    written = []
    for name, plain in (("hashed", False), ("again", False), ("plain", True)):
        llm, path = Engine(), tmp_path / f"{name}.jsonl"
        with recording(llm, path, plain_tokens=plain):
            llm.add("a", secret, salt="who")
            llm.step(a=11)
            llm.add("b", (*secret, 11, 12), salt="who")
            llm.add("c", other)
            llm.step(a=12, b=13, c=14)
        lines = lines_of(path)
        prompts = {
            line["args"]["request"]: line["args"]["prompt"]
            for line in lines
            if line.get("op") == "add"
        }
        sampled = [line["args"]["tokens"]["a"][0] for line in lines if line.get("op") == "update"]
        written.append([prompts["a"], prompts["b"], prompts["c"], sampled])
        assert replay_file(path).mismatch is None
        assert ("who" in path.read_text()) is plain
    for a, b, c, sampled in written[:2]:
        assert b == [*a, *sampled]
        assert c[:2] == a[:2] and not set(c[2:]) & set(a)
        assert len({*a, *c}) == 8, "a token that returns is another number"
        assert max(*a, *c) > 2**40, "so many that none meet by chance"
    assert written[0] != written[1], "a key for each file"
    assert written[2] == [list(secret), [*secret, 11, 12], list(other), [11, 12]]


def test_a_hashed_stop_token_stops_the_replay(vllm: ModuleType, tmp_path: Path) -> None:
    llm, path = Engine(), tmp_path / "run.jsonl"
    with recording(llm, path):
        llm.add("a", (1, 2, 3), stop=(9,))
        llm.add("b", (1, 2, 3))
        for token in (4, 5, 9):
            llm.step(a=token, b=token)
        llm.add("c", (1, 2, 3, 4, 5, 9, 1))  # a second turn finds the first one's answer
        llm.step(b=1, c=2)
    stops = [line["args"].get("stops") for line in lines_of(path) if line.get("op") == "update"]
    assert [set(names or ()) for names in stops] == [set(), set(), {"a"}, set()]
    result = replay_file(path)
    assert result.mismatch is None and result.operations > 8
    text = path.read_text()
    path.write_text(text.replace('"stops"', '"stop"'))
    with pytest.raises(ValueError, match="stop"):
        replay_file(path)


def test_the_cost_of_a_line_does_not_depend_on_the_pool(vllm: ModuleType, tmp_path: Path) -> None:
    sizes = []
    for blocks in (200, 20_000):
        llm, path = Engine(blocks), tmp_path / f"{blocks}.jsonl"
        with recording(llm, path):
            llm.generate()
        lines = path.read_text().splitlines()
        sizes.append(max(len(line) for line in lines[1:-1]))
        assert replay_file(path).mismatch is None
    assert sizes[1] < 1.5 * sizes[0] < 3_000


KILLED = """
import record_vllm, sys, time
from argparse import Namespace
o = Namespace(requests=12, seed=1, blocks=20, block_size=4, max_num_seqs=4, caching=True,
              max_num_batched_tokens=64, max_model_len=64, asynchronous=False)
scheduler = record_vllm.scheduler_alone(o)
with record_vllm.recording(scheduler, sys.argv[1]) as recorder:
    record_vllm.serve(scheduler, o)
    print(recorder.num_ops, flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_run_that_is_killed_leaves_every_line(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    where = os.pathsep.join(map(str, [STUB, ROOT, Path(record_vllm.__file__).parent]))
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)],
        env={**os.environ, "PYTHONPATH": where},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        num_ops = int(process.stdout.readline())
        process.kill()
    lines = lines_of(path)
    assert len(lines) - 1 == num_ops > 40 and lines[-1]["op"] != "end"
    with path.open("a") as file:
        file.write('{"i": 900, "op": "sch')  # as a machine that loses its power leaves it
    result = replay_file(path)
    assert result.mismatch is None and result.operations == result.total == len(lines) - 1
    assert "cut off" in result.ended


def test_a_file_that_exists_is_not_replaced(vllm: ModuleType, tmp_path: Path) -> None:
    llm, path = Engine(), tmp_path / "run.jsonl"
    path.write_text("the last run")
    with pytest.raises(NotServedError, match="exists"), recording(llm, path):
        pass
    assert path.read_text() == "the last run" and "schedule" not in vars(llm.scheduler)


def test_a_used_engine_is_refused(vllm: ModuleType, tmp_path: Path) -> None:
    llm = Engine()
    llm.generate()
    with (
        pytest.raises(NotServedError, match="from before the recording"),
        recording(llm, tmp_path / "run.jsonl"),
    ):
        pass
    assert os.listdir(tmp_path) == []


def test_a_program_that_raises_leaves_what_came_before(vllm: ModuleType, tmp_path: Path) -> None:
    llm, path = Engine(), tmp_path / "run.jsonl"
    with pytest.raises(ZeroDivisionError), recording(llm, path):
        llm.generate()
        _ = 1 / 0
    result = replay_file(path)
    assert (
        result.mismatch is None and result.operations > 40 and "ZeroDivisionError" in result.ended
    )


def test_a_scheduler_that_raises_ends_the_recording_with_its_error(
    vllm: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm, path = Engine(), tmp_path / "run.jsonl"

    def broken(*args: Any) -> Any:
        raise AssertionError("a block is lost")

    with pytest.raises(AssertionError, match="lost"), recording(llm, path):
        llm.add()
        llm.step(**{"7": 3})
        for method in ("allocate_slots", "get_block_ids"):  # its state cannot be read either
            monkeypatch.setattr(llm.scheduler.kv_cache_manager, method, broken)
        llm.step(**{"7": 4})
    assert lines_of(path)[-1]["args"]["why"] == "schedule raised AssertionError: a block is lost"
    result = replay_file(path)
    assert result.mismatch is None and "a block is lost" in result.ended


def test_what_the_file_has_no_place_for_ends_the_recording_and_not_the_server(
    vllm: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    llm, path = Engine(), tmp_path / "run.jsonl"
    with pytest.raises(NotServedError, match="request 7 with LoRA"), recording(llm, path):
        llm.add("6")
        llm.add(lora_request="adapter")
        llm.step()
        assert set(llm.scheduler.requests) == {"6", "7"}
    assert "request 7 with LoRA" in capsys.readouterr().err
    result = replay_file(path)
    assert result.mismatch is None and result.operations == 2 and "LoRA" in result.ended


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_ends_the_recording_and_not_the_server(
    vllm: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm, path = Engine(), tmp_path / "run.jsonl"
    with (
        open("/dev/full", "wb", buffering=0) as full,
        pytest.raises(NotServedError, match="cannot be written"),
        recording(llm, path) as recorder,
    ):
        recorder._file.close()
        monkeypatch.setattr(recorder, "_file", full)
        llm.generate()
    assert not llm.scheduler.requests


FEATURES = [
    ("lora_config", "LoRA"),
    ("vllm_config.speculative_config", "speculative decoding"),
    ("connector", "a KV connector"),
    ("ec_connector", "an encoder cache connector"),
    ("is_encoder_decoder", "encoder inputs"),
    ("kv_cache_config.kv_cache_groups", r"0 KV cache groups \(a hybrid model\)"),
]


@pytest.mark.parametrize(("path", "name"), FEATURES)
def test_an_engine_with_what_the_format_has_not_is_refused_by_name(
    path: str, name: str, vllm: ModuleType, tmp_path: Path
) -> None:
    llm = Engine()
    owner, _, attribute = path.rpartition(".")
    holder = getattr(llm.scheduler, owner) if owner else llm.scheduler
    setattr(holder, attribute, [] if "groups" in path else "configured")
    with pytest.raises(NotServedError, match=name), recording(llm, tmp_path / "run.jsonl"):
        llm.generate()
    assert os.listdir(tmp_path) == []


def test_an_engine_in_another_process_is_told_how_to_be_reached(
    vllm: ModuleType, tmp_path: Path
) -> None:
    remote = SimpleNamespace(llm_engine=SimpleNamespace(engine_core=object()))
    with (
        pytest.raises(NotServedError, match=r"VLLM_ENABLE_V1_MULTIPROCESSING=0.*--scheduler-cls"),
        recording(remote, tmp_path / "run.jsonl"),
    ):
        pass


def test_the_name_of_the_file_says_its_format(vllm: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(NotServedError, match=r"\.jsonl"), recording(Engine(), tmp_path / "a.html"):
        pass
