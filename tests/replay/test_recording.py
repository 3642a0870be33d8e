"""A recording around an engine of the stub, in this process: what its lines hold."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pagesim.replay import replay_file
from pagesim.replay.record_vllm import recording
from tests.commands.runs import Shell
from tests.replay.engine import ABORTED, Engine
from tests.replay.recordings import lines_of


def test_the_run_of_an_engine_is_recorded_from_its_first_request_and_plays(
    llm: Engine, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with recording(llm, path):
        llm.generate()
        llm.add()
        llm.scheduler.finish_requests(["7"], ABORTED)
        assert llm.scheduler.reset_prefix_cache(reset_running_requests=True)
    pool = llm.scheduler.kv_cache_manager.block_pool
    assert "schedule" not in vars(llm.scheduler) and "touch" not in vars(pool)  # they are as before
    ops = [line.get("op") for line in lines_of(path)[1:]]
    assert ops[-3:] == ["abort", "reset_prefix_cache", "end"] and len(ops) > 40
    page = path.with_suffix(".html")
    out = Shell(capsys)("replay", path, "-o", page)
    assert f"{len(ops)} of {len(ops)} operations compared" in out
    assert page.stat().st_size > 10_000


def test_a_hook_of_the_server_records_its_scheduler(
    vllm: ModuleType, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    llm: Engine, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        adds = [line["args"] for line in lines if line.get("op") == "add"]
        prompts = {args["request"]: args["prompt"] for args in adds}
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


def test_a_hashed_stop_token_stops_the_replay(llm: Engine, path: Path) -> None:
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
