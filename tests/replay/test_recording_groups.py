"""A recording of an engine of the stub with several KV cache groups."""

import importlib
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from pagesim.replay import record_vllm, replay_file
from pagesim.replay.record_vllm import NotServedError, recording
from tests.replay.engine import Engine
from tests.replay.recordings import lines_of, write

STATE = {
    "mamba_cache_mode": "align",
    "num_prefill_checkpoint_blocks": 1,
    "prefill_checkpoint_alignment": 1,
}


def engine(monkeypatch: pytest.MonkeyPatch, *more: tuple[str, dict[str, Any]]) -> Engine:
    """An engine whose layers are of these kinds beside full attention."""
    interface = importlib.import_module("vllm.v1.kv_cache_interface")
    original = interface.KVCacheConfig

    def with_groups(blocks: int, tensors: list[Any], groups: list[Any]) -> Any:
        specs = [getattr(interface, name)(**fields) for name, fields in more]
        made = [interface.KVCacheGroupSpec([str(i)], spec) for i, spec in enumerate(specs)]
        return original(blocks, tensors, groups + made)

    monkeypatch.setattr(interface, "KVCacheConfig", with_groups)
    return Engine(60)


@pytest.mark.parametrize(
    "more",
    [
        [("SlidingWindowSpec", {"block_size": 4, "sliding_window": 9})] * 2,
        [("SlidingWindowSpec", {"block_size": 8, "sliding_window": 12})],
        [("MambaSpec", {"block_size": 4, **STATE})],
        [
            ("MambaSpec", {"block_size": 4, "mamba_cache_mode": "align"}),
            ("SlidingWindowSpec", {"block_size": 8, "sliding_window": 12}),
        ],
    ],
)
def test_each_kind_of_groups_is_recorded_and_replays(
    more: list[tuple[str, dict[str, Any]]],
    vllm: ModuleType,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    llm = engine(monkeypatch, *more)
    with recording(llm, path):
        llm.add("a", tuple(range(19)))
        llm.step()
        llm.step(a=1)
        llm.add("b", tuple(range(19)))
        llm.generate()
    header, *lines = lines_of(path)
    assert len(header["config"]["cache"]["groups"]) == 1 + len(more)
    assert header["config"]["cache"]["hash_block_size"] == 4
    left = lines[-1]["state"]["tables"].values()
    assert all(len(tables) == 1 + len(more) for tables in left)
    (first,) = next(line for line in lines if line["op"] == "schedule")["ret"]["new"]
    assert [len(first[1]), first[0]] == [1 + len(more), "a"]
    result = replay_file(path, record_runs=True)
    assert result.mismatch is None and result.operations == result.total > 30
    assert len(result.runs[0].at(0).groups) == 1 + len(more)


def test_a_table_that_differs_in_one_group_is_named(
    vllm: ModuleType, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm = engine(monkeypatch, ("SlidingWindowSpec", {"block_size": 4, "sliding_window": 9}))
    with recording(llm, path):
        llm.add("a", tuple(range(9)))
        llm.step(a=1)
    lines = lines_of(path)
    step = next(line for line in lines if line.get("op") == "schedule")
    step["ret"]["new"][0][1][1][0] += 1
    mismatch = replay_file(write(path, lines)).mismatch
    assert f"op#{step['i']} schedule.ret.new" in str(mismatch)


def test_what_is_still_refused(
    vllm: ModuleType, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm = engine(monkeypatch, ("MambaSpec", {"block_size": 8, **STATE}))
    with pytest.raises(NotServedError, match="hashes of other blocks"), recording(llm, path):
        pass
    groups = llm.scheduler.kv_cache_config.kv_cache_groups
    groups[1].kv_cache_spec = SimpleNamespace(block_size=4)
    with pytest.raises(NotServedError, match="a SimpleNamespace"), recording(llm, path):
        pass
    groups[:1] = []
    groups[0].kv_cache_spec = importlib.import_module("vllm.v1.kv_cache_interface").MambaSpec(
        block_size=4, **STATE
    )
    with pytest.raises(NotServedError, match="states alone"), recording(llm, path):
        pass
    assert not path.exists()


def test_the_file_is_no_longer_than_it_may_be() -> None:
    assert len(Path(record_vllm.__file__).read_text().splitlines()) <= 700
