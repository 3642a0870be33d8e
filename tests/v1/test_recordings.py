"""Whatever differs from a recording of the real vLLM 0.33.0 is told, where it does."""

import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pagesim.replay import TraceError, replay_file
from tests.commands.runs import Shell, run
from tests.replay.recordings import DATA_V1 as DATA
from tests.replay.recordings import V1 as RECORDINGS
from tests.replay.recordings import V1_GROUPS, V1_OBSERVED, lines_of, write

LONG = "PAGESIM_V1_EXAMPLES" in os.environ  # make nightly


def changed(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, list):
        return [*value[:-1], changed(value[-1])] if value else [7]
    return {**value, "more": 7} if isinstance(value, dict) else 7


@pytest.mark.parametrize(
    "path",
    [*RECORDINGS[1 :: 2 if LONG else 4], *V1_GROUPS[::4], *V1_OBSERVED],
    ids=lambda path: path.name.split(".")[0],
)
def test_each_kind_of_change_is_told(path: Path, tmp_path: Path) -> None:
    """One part of the answer or of the state is changed: told at its line, as it is there."""
    lines = lines_of(path)[:120]
    parts = {
        (key, part) for line in lines[1:] for key in ("ret", "state") for part in keys(line, key)
    }
    assert len(parts) >= 3
    for key, part in sorted(parts):
        at = min(n for n, line in enumerate(lines) if part in keys(line, key))
        line = lines[at]
        new = changed(line[key][part] if part else line[key])
        bent = line | {key: line[key] | {part: new} if part else new}
        result = replay_file(write(tmp_path / "x.jsonl", [*lines[:at], bent, lines[at + 1]]))
        assert result.operations == at - 1, (key, part)
        assert f"x.jsonl:{at + 1} op#{line['i']} {line['op']}.{key}" in (result.mismatch or "")


def keys(line: dict[str, Any], key: str) -> set[str]:
    """The parts of an answer or of a state; "" for an answer without parts."""
    value = line.get(key)
    if line.get("op") == "reset" or value is None:
        return set()
    return set(value) if isinstance(value, dict) else {""}


def test_an_error_is_compared_and_so_is_what_it_leaves(tmp_path: Path) -> None:
    lines = lines_of(DATA / "free_queue-queue-101.jsonl.gz")
    errors = {line["error"]: n for n, line in enumerate(lines) if "error" in line}
    assert set(errors) == {"AssertionError", "RuntimeError", "ValueError"}
    for error, at in errors.items():
        damaged = [*lines[:at], lines[at] | {"error": "KeyError"}, *lines[at + 1 :]]
        result = replay_file(write(tmp_path / "x.jsonl", damaged))
        assert f"expected 'KeyError', got '{error}'" in (result.mismatch or "")
        state = {"free": [1], "num": 1}
        left = [*lines[:at], lines[at] | {"state": state}, *lines[at + 1 :]]
        assert ".state.free" in (replay_file(write(tmp_path / "x.jsonl", left)).mismatch or "")


@cache
def header(kind: str) -> dict[str, Any]:
    """The first line of a recording of this kind."""
    return lines_of(
        next(path for path in [*RECORDINGS, *V1_GROUPS] if path.name.startswith(f"{kind}-"))
    )[0]


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("free_queue", {"format": "pagesim-trace/1"}, "kind must be one of"),
        ("free_queue", {"format": "pagesim-v2-trace/1"}, "format must be one of"),
        ("free_queue", {"config": {"num_blocks": 10**9}}, "num_blocks is 1000000000, more than"),
        ("free_queue", {"config": {"num_blocks": "many"}}, "no simulator can be made"),
        ("block_pool", {"config": {"num_gpu_blocks": 4}}, "no simulator can be made"),
        ("kv_cache_manager", {"config": {"num_gpu_blocks": 4}}, "no simulator can be made"),
        ("kv_cache_manager", {"config": None}, "no simulator can be made"),
        ("scheduler", {"config": {"cache": {"num_gpu_blocks": 4}}}, "no simulator can be made"),
        ("scheduler", {"config": {"cache": 3}}, "no simulator can be made"),
        ("coordinator", {"config": {"groups": [{"kind": "ring"}]}}, "no simulator can be made"),
        ("coordinator", {"config": {"groups": [5]}}, "no simulator can be made"),
    ],
)
def test_a_file_that_cannot_be_replayed(
    tmp_path: Path, kind: str, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(TraceError, match=f"x.jsonl:1: .*{message}"):
        replay_file(write(tmp_path / "x.jsonl", [header(kind) | change]))


def test_a_hybrid_model_is_refused_by_name(tmp_path: Path) -> None:
    plain = header("kv_cache_manager")
    config = plain["config"] | {"sliding_window": [None, 4]}
    with pytest.raises(TraceError, match="a hybrid model has several KV cache groups"):
        replay_file(write(tmp_path / "x.jsonl", [plain | {"config": config}]))


def test_the_command_takes_them(capsys: pytest.CaptureFixture[str]) -> None:
    answer = Shell(capsys).answer("replay", *RECORDINGS[::7], *V1_GROUPS)
    assert (answer["ok"], len(answer["files"]), len(V1_GROUPS)) == (True, 23, 20)


def test_the_command_plays_a_run_of_pages_and_no_queue_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run.html"
    pages, queue = DATA / "scheduler-async_bs4-138.jsonl.gz", DATA / "free_queue-queue-101.jsonl.gz"
    assert "part 1 of 1" in Shell(capsys)("replay", pages, "-o", out)
    assert "scheduler-async_bs4-138.jsonl.gz, part 1 of 1" in out.read_text()
    assert run("replay", queue, "-o", out) == 2
    for path in V1_GROUPS[:: 5 if LONG else 10]:
        Shell(capsys)("replay", path, "-o", out)
        assert path.name in out.read_text()
