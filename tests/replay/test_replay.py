"""Every recording of the real vLLM, 0.6.4.post1 and 0.33.0, replays without a difference."""

import gzip
from collections import Counter
from pathlib import Path

import pytest

from pagesim import errors
from pagesim.files import jsonl
from pagesim.replay import TraceError, replay_file
from tests.replay.recordings import DATA, V0, V1, V1_OBSERVED, V1_OFFLOAD, lines_of, write

SHARED = Path(__file__).parents[3] / "shared"
EDGE = DATA / "block_table-edge-106.jsonl.gz"


def test_all_recordings_are_here() -> None:
    v0, v1, tier = (
        Counter(path.name.split("-")[0] for path in paths) for paths in (V0, V1, V1_OFFLOAD)
    )
    assert v0 == {"block_manager": 6, "block_table": 6, "scheduler": 12}
    assert len(V1_OBSERVED) == 4
    assert tier == {"offload_manager": 8, "offload_scheduler": 10}
    assert v1 == {"block_pool": 2, "free_queue": 1, "kv_cache_manager": 7, "scheduler": 10}


ALL = [*V0, *V1, *V1_OBSERVED, *V1_OFFLOAD]


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name.split(".")[0])
def test_recording(path: Path) -> None:
    result = replay_file(path)
    assert result.mismatch is None, result.mismatch
    assert result.operations == result.total == len(lines_of(path)) - 1 > 75


@pytest.mark.skipif(not SHARED.is_dir(), reason="the original recordings are not beside this clone")
@pytest.mark.parametrize(
    ("paths", "pattern"),
    [
        (V0, "vllm/traces*/*"),
        (V1, "vllm_v1/traces/*"),
        ([*V1_OBSERVED, *V1_OFFLOAD], "vllm_v1_offload/traces/*"),
    ],
)
def test_the_data_are_the_original_recordings(paths: list[Path], pattern: str) -> None:
    originals = {path.name.removesuffix(".gz"): path for path in SHARED.glob(pattern)}
    for path in paths:
        original = originals[path.name.removesuffix(".gz")]
        content = original.read_bytes()
        content = gzip.decompress(content) if original.suffix == ".gz" else content
        assert gzip.decompress(path.read_bytes()) == content, path.name


@pytest.mark.parametrize("key", ["ret", "state"])
def test_a_difference_names_file_line_operation_expected_and_got(tmp_path: Path, key: str) -> None:
    lines = lines_of(EDGE)
    at = next(i for i, line in enumerate(lines) if i > 5 and key in line and line["op"] != "reset")
    lines[at][key] = [-7] if key == "ret" else lines[at]["state"] | {"free": [-7, 0]}
    path = write(tmp_path / "changed.jsonl", lines)
    result = replay_file(path)
    assert not result.ok
    assert result.operations == at - 1
    assert result.total == len(lines) - 1
    assert f"changed.jsonl:{at + 1} op#{lines[at]['i']} {lines[at]['op']}" in result.mismatch
    assert "expected" in result.mismatch
    assert "-7" in result.mismatch
    assert "got" in result.mismatch


@pytest.mark.parametrize("part", ["loads", "stores", "flush", "chunks", "holding", "events"])
def test_every_part_of_a_second_tier_is_compared(tmp_path: Path, part: str) -> None:
    path = next(path for path in V1_OFFLOAD if "scheduler-events" in path.name)
    lines = lines_of(path)
    for at, line in enumerate(lines):
        for place in (line.get("ret"), line.get("state")):
            if isinstance(place, dict) and place.get(part):
                place[part] = type(place[part])()
                result = replay_file(write(tmp_path / "changed.jsonl", lines[: at + 1]))
                assert part in str(result.mismatch) and result.operations == at - 1
                return
    raise AssertionError(f"no line has {part}")


def test_a_tier_that_is_too_large_is_refused(tmp_path: Path) -> None:
    for path in (V1_OFFLOAD[0], V1_OFFLOAD[-1]):
        header = lines_of(path)[0]
        header["config"].get("offload", header["config"])["num_chunks"] = 10**9
        with pytest.raises(TraceError, match="num_chunks is 1000000000, more than"):
            replay_file(write(tmp_path / "x.jsonl", [header]))


def test_a_manager_of_chunks_has_no_pages(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no pages"):
        replay_file(V1_OFFLOAD[0], record_runs=True)


def test_an_error_that_was_not_recorded_is_a_difference_with_its_message(tmp_path: Path) -> None:
    lines = lines_of(EDGE)
    at = next(i for i, line in enumerate(lines) if line.get("error") == "NoFreeBlocksError")
    del lines[at]["error"]
    lines[at]["state"] = {}
    result = replay_file(write(tmp_path / "x.jsonl", lines))
    assert result.mismatch is not None
    assert "no free block" in result.mismatch


HEADER = lines_of(EDGE)[0]
OP = {"i": 0, "op": "allocate", "args": {"table": "a", "tokens": [1], "device": "GPU"}, "state": {}}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "x.jsonl:1: format must be"),
        ([HEADER | {"format": "other/1"}], "x.jsonl:1: format must be"),
        ([HEADER | {"kind": "nonsense"}], "x.jsonl:1: kind must be one of"),
        ([HEADER | {"kind": ["block_table"]}], "x.jsonl:1: kind must be one of"),
        ([HEADER | {"kind": None}], "x.jsonl:1: kind must be one of .* not None"),
        ([HEADER | {"config": {}}], "x.jsonl:1: no simulator can be made"),
        ([HEADER | {"kind": "scheduler"}], "x.jsonl:1: no simulator can be made"),
        ([HEADER, {"op": "reset", "args": [1]}], "x.jsonl:2: the args of 'reset' must be an obj"),
        ([HEADER, {"op": "reset", "args": "config"}], "an object, not 'config'"),
        ([HEADER, {"op": "reset", "args": 0}], "x.jsonl:2: the args of 'reset' .* not 0"),
        ([HEADER | {"config": [1]}], "x.jsonl:1: no simulator can be made"),
        ([HEADER | {"config": {"cache": 3}}], "x.jsonl:1: no simulator can be made"),
        ([HEADER | {"config": None}], "x.jsonl:1: no simulator can be made"),
        ([HEADER | {"config": HEADER["config"] | {"num_gpu_blocks": 10**15}}], "more than"),
        ([HEADER | {"config": HEADER["config"] | {"block_size": -1}}], "block_size"),
        ([HEADER, OP | {"op": "start"}], "this kind of recording has no operation 'start'"),
        ([HEADER, OP | {"op": None}], "x.jsonl:2: this kind of recording has no operation None"),
        ([HEADER, OP | {"args": {"table": "a"}}], "x.jsonl:2: the args of 'allocate'"),
        ([HEADER, OP | {"args": [1]}], "x.jsonl:2: the args of 'allocate'"),
        ([HEADER, OP | {"op": "free", "args": {"table": "b"}}], "unknown name 'b'"),
    ],
)
def test_a_file_that_is_no_recording(tmp_path: Path, lines: list[dict], message: str) -> None:
    with pytest.raises(TraceError, match=message):
        replay_file(write(tmp_path / "x.jsonl", lines))


LONG = "a" * 100_000


@pytest.mark.parametrize(
    "lines",
    [
        [HEADER | {"kind": LONG}],
        [HEADER | {"config": {LONG: LONG}}],
        [HEADER, OP | {"op": LONG}],
        [HEADER, OP | {"args": {LONG: 1}}],
        [HEADER, OP | {"op": "free", "args": {"table": LONG}}],
        [HEADER, OP | {LONG: 1}],
        [HEADER, OP | {"state": LONG}],
        [HEADER, {"error": LONG} | OP],
    ],
)
def test_a_message_is_short_whatever_the_file_holds(tmp_path: Path, lines: list[dict]) -> None:
    try:
        sentence = str(replay_file(write(tmp_path / "x.jsonl", lines)).mismatch)
    except TraceError as error:
        sentence = str(error)
    assert "x.jsonl:" in sentence and len(sentence) <= errors.MOST


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "x.jsonl:1: not JSON"),
        (b"\xff\xfe", "x.jsonl:1: not JSON"),
        (b"[1]\n", "x.jsonl:1: must be a JSON object"),
        (b"[" * 100_000, "x.jsonl:1: not JSON"),
    ],
)
def test_a_damaged_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=message):
        replay_file(path)


def test_a_truncated_or_damaged_archive(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    for damaged in (EDGE.read_bytes()[:-500], b"no archive", EDGE.read_bytes()[:99] + b"\0" * 99):
        path.write_bytes(damaged)
        with pytest.raises(TraceError, match=r"x\.jsonl\.gz:\d+: (the compressed file|not JSON)"):
            replay_file(path)


def test_one_endless_line_does_not_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "MAX_LINE", 2**20)
    path = tmp_path / "x.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(2):
            file.write(b" " * 2**20)
    with pytest.raises(TraceError, match=r"x\.jsonl\.gz:1: longer than"):
        replay_file(path)
