"""KV events in files: what is saved is read again, and bad files are refused by name."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from pagesim.v1 import AllBlocksCleared, BlockRemoved, BlockStored
from pagesim.v1.kv_event_files import (
    KVEventBatch,
    KVEventsError,
    read_kv_events,
    save_kv_events,
)
from tests.v1.scenes import Cache, text


def some_batches() -> list[KVEventBatch]:
    cache = Cache(5, sliding_window=6, enable_kv_cache_events=True)
    cache.new("a", text(11), cache_salt="é")
    cache.admit("a")
    cache.free("a")
    cache.admit("b", text(16, 50))
    first = KVEventBatch(0.25, cache.manager.take_events())
    cache.free("b")
    assert cache.manager.reset_prefix_cache()
    short = BlockStored([1, 2], 7, [], 0, 3, "CPU", "lora")
    return [first, KVEventBatch(2, cache.manager.take_events()), KVEventBatch(3.0, [short])]


@pytest.mark.parametrize("name", ["events.jsonl", "events.jsonl.gz"])
def test_a_file_gives_back_what_was_saved(tmp_path: Path, name: str) -> None:
    batches, path = some_batches(), tmp_path / name
    save_kv_events(iter(batches), path)
    assert list(read_kv_events(path)) == batches
    kinds = {type(event) for batch in batches for event in batch.events}
    assert kinds == {BlockStored, BlockRemoved, AllBlocksCleared}
    before = path.read_bytes()
    save_kv_events(batches, path)
    assert path.read_bytes() == before
    assert (before[:2] == b"\x1f\x8b") == name.endswith(".gz")


REMOVED = {"type": "BlockRemoved", "block_hashes": ["00ff"], "medium": "GPU", "group_idx": 0}
STORED = {"type": "BlockStored", "block_hashes": [1], "parent_block_hash": None} | {
    "token_ids": [5],
    "block_size": 1,
}


def batch(*events: Any) -> dict[str, Any]:
    return {"ts": 0.5, "events": list(events)}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"events": []}, "ts must be a number, not None"),
        ({"ts": "0", "events": []}, "ts must be a number, not '0'"),
        ({"ts": float("nan"), "events": []}, "ts must be a number, not nan"),
        ({"ts": 0}, "batch.events must be a list, not None"),
        ({"ts": 0, "events": {}}, "batch.events must be a list"),
        (batch(5), r"batch.events\[0\] must be a BlockStored or .*, not 5"),
        (batch({"type": ["BlockRemoved"]}), r"batch.events\[0\] must be a BlockStored or"),
        (batch({"type": "BlockMoved"}), r"batch.events\[0\] must be a BlockStored or"),
        (batch({"type": "BlockRemoved"}), "missing .* 'block_hashes'"),
        (batch(REMOVED | {"at": 7}), "unexpected .* 'at'"),
        (batch(REMOVED | {"block_hashes": "00ff"}), "block_hashes must be a list"),
        (batch(REMOVED | {"block_hashes": ["0f1"]}), "non-hexadecimal"),
        (batch(REMOVED | {"block_hashes": [None]}), r"block_hashes\[0\] must be a bytes or an int"),
        (batch(REMOVED | {"group_idx": True}), "group_idx must be an int or None, not True"),
        (batch(REMOVED | {"medium": 3}), "medium must be a str or None, not 3"),
        (
            batch(REMOVED, STORED | {"token_ids": ["5"]}),
            r"events\[1\].token_ids\[0\] must be an int",
        ),
        (batch(STORED | {"block_size": 1.5}), "block_size must be an int, not 1.5"),
        (batch(STORED | {"extra_keys": ["salt"]}), r"extra_keys\[0\] must be a tuple or None"),
        (batch(STORED | {"token_ids": [REMOVED]}), r"token_ids\[0\] must be an int"),
    ],
)
def test_a_bad_line_is_refused_by_name(tmp_path: Path, line: Any, message: str) -> None:
    path = tmp_path / "x.jsonl"
    save_kv_events(some_batches(), path)
    path.write_text(path.read_text() + json.dumps(line))
    read = read_kv_events(path)
    assert len([next(read) for _ in some_batches()]) == 3
    with pytest.raises(KVEventsError, match=f"x.jsonl:5: .*{message}"):
        next(read)


def test_a_path_that_is_none_is_named() -> None:
    with pytest.raises(TypeError, match="path must be a str or a PathLike, not 5"):
        save_kv_events([], 5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"[]",
        b'{"ts": 0}',
        b'{"format": ["pagesim-kv-events/1"]}',
        gzip.compress(b"{}", mtime=0),  # workers must agree on the name
    ],
)
def test_another_file_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(KVEventsError, match=r"x.jsonl:1: "):
        list(read_kv_events(path))


def test_a_line_as_deep_as_json_allows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    save_kv_events([], path)
    for depth in (900, 2_000, 100_000):
        deep = "[" * depth + "]" * depth
        path.write_text(f'{{"format": "pagesim-kv-events/1"}}\n{{"ts": 0, "events": {deep}}}')
        with pytest.raises(KVEventsError, match=r"x.jsonl:2: "):
            list(read_kv_events(path))
