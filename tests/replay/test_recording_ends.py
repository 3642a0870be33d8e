"""What ends a recording, and what it leaves: a kill, an error, a full disk, a feature."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from pagesim.replay import record_vllm, replay_file
from pagesim.replay.record_vllm import NotServedError, recording
from tests.replay.engine import ROOT, STUB, Engine
from tests.replay.recordings import lines_of

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
def test_a_run_that_is_killed_leaves_every_line(path: Path) -> None:
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


def test_a_file_that_exists_is_not_replaced(llm: Engine, path: Path) -> None:
    path.write_text("the last run")
    with pytest.raises(NotServedError, match="exists"), recording(llm, path):
        pass
    assert path.read_text() == "the last run" and "schedule" not in vars(llm.scheduler)


def test_a_used_engine_is_refused(llm: Engine, path: Path) -> None:
    llm.generate()
    with pytest.raises(NotServedError, match="from before the recording"), recording(llm, path):
        pass
    assert os.listdir(path.parent) == []


def test_a_program_that_raises_leaves_what_came_before(llm: Engine, path: Path) -> None:
    with pytest.raises(ZeroDivisionError), recording(llm, path):
        llm.generate()
        _ = 1 / 0
    result = replay_file(path)
    assert result.mismatch is None and result.operations > 40
    assert "ZeroDivisionError" in result.ended


def test_a_scheduler_that_raises_ends_the_recording_with_its_error(
    llm: Engine, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

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
    llm: Engine, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
    llm: Engine, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    ("kv_cache_config.kv_cache_groups", "no KV cache groups"),
]


@pytest.mark.parametrize(("feature", "name"), FEATURES)
def test_an_engine_with_what_the_format_has_not_is_refused_by_name(
    feature: str, name: str, llm: Engine, path: Path
) -> None:
    owner, _, attribute = feature.rpartition(".")
    holder = getattr(llm.scheduler, owner) if owner else llm.scheduler
    setattr(holder, attribute, [] if "groups" in feature else "configured")
    with pytest.raises(NotServedError, match=name), recording(llm, path):
        llm.generate()
    assert os.listdir(path.parent) == []


def test_an_engine_in_another_process_is_told_how_to_be_reached(
    vllm: ModuleType, path: Path
) -> None:
    remote = SimpleNamespace(llm_engine=SimpleNamespace(engine_core=object()))
    with (
        pytest.raises(NotServedError, match=r"VLLM_ENABLE_V1_MULTIPROCESSING=0.*--scheduler-cls"),
        recording(remote, path),
    ):
        pass


def test_the_name_of_the_file_says_its_format(llm: Engine, tmp_path: Path) -> None:
    with pytest.raises(NotServedError, match=r"\.jsonl"), recording(llm, tmp_path / "a.html"):
        pass
