"""Request files: three formats read, and every bad row named by file, line, column and value."""

import gzip
import json
from pathlib import Path

import pytest

from pagesim.errors import UsageError
from pagesim.studies.prefix_hits import ids_seen_before
from pagesim.workload import ChatTurn, Workload, WorkloadError, files, load, mooncake_conversation
from pagesim.workload import stream as read_one_by_one

EXTRACT = Path(__file__).parents[1] / "data" / "mooncake_conversation-first250.jsonl.gz"
TRACES = Path(__file__).parents[3] / "shared" / "waste" / "traces"
TRACE = TRACES / "mooncake_fast25_conversation_first3000_hashes.csv"

OURS = "arrival_s,prompt_tokens,output_tokens\n0,374,44\n4.315,396,109\n4.542,879,55\n"
HASHED = "arrival_s,prompt_tokens,output_tokens,hash_ids_512\n0,1100,5,0 1 2\n0.5,512,1,0\n3,7,1,\n"
# The first rows of AzureLLMInferenceTrace_conv.csv (CC-BY-4.0; Patel et al., Splitwise, ISCA '24).
AZURE = (
    "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    "2023-11-16 18:15:46.6805900,374,44\n"
    "2023-11-16 18:15:50.9951690,396,109\n"
    "2023-11-16 18:15:51.2224670,879,55\n"
)
KEYS = ("timestamp", "input_length", "output_length", "hash_ids")
MOONCAKE = "".join(
    json.dumps(dict(zip(KEYS, row, strict=True))) + "\n"
    for row in [(0, 1100, 5, [0, 1, 2]), (500, 512, 1, [0]), (3000, 7, 1, [3])]
)
BAILIAN_KEYS = (
    *("chat_id", "parent_chat_id", "timestamp", "input_length", "output_length"),
    *("type", "turn", "hash_ids"),
)
# Made up, in the format of github.com/alibaba-edu/qwen-bailian-usagetraces-anon.
BAILIAN = "".join(
    json.dumps(dict(zip(BAILIAN_KEYS, row, strict=True))) + "\n"
    for row in [
        (0, -1, 0.0, 40, 5, "text", 1, [0, 1, 2]),
        (1, -1, 1.5, 32, 3, "search", 1, [0, 3]),
        (2, 0, 60.25, 70, 9, "text", 2, [0, 1, 4, 5, 6]),
        (3, -1, 61, 16, 1, "api", 1, [1]),
    ]
)


def write(folder: Path, content: str | bytes, name: str = "x.csv") -> Path:
    raw = content.encode() if isinstance(content, str) else content
    (folder / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return folder / name


def rows(stream: Workload) -> list[tuple[float, int, int]]:
    return [(r.arrival_s, r.prompt_tokens, r.output_tokens) for r in stream]


def test_our_csv(tmp_path: Path) -> None:
    stream = load(write(tmp_path, OURS))
    assert [r.request_id for r in stream] == ["0", "1", "2"]
    assert rows(stream) == [(0, 374, 44), (4.315, 396, 109), (4.542, 879, 55)]
    assert stream.name == stream.source == "x.csv"


def test_our_csv_with_hash_ids_where_a_row_may_have_none(tmp_path: Path) -> None:
    assert [r.hash_ids for r in load(write(tmp_path, HASHED))] == [(0, 1, 2), (0,), ()]


def test_azure_s_original_counts_seconds_from_its_first_row(tmp_path: Path) -> None:
    stream = load(write(tmp_path, AZURE))
    assert [r.arrival_s for r in stream] == pytest.approx([0, 4.314579, 4.541877], abs=1e-9)
    assert [row[1:] for row in rows(stream)] == [(374, 44), (396, 109), (879, 55)]


def test_azure_s_times_are_utc_unless_they_name_an_offset(tmp_path: Path) -> None:
    rows = (
        "2024-05-10 00:00:00.009930+00:00,9,8\n"
        "2024-05-10 02:00:01.009930+02:00,9,8\n"
        "2024-05-10 00:00:02.509930,9,8\n"
    )
    stream = load(write(tmp_path, "TIMESTAMP,ContextTokens,GeneratedTokens\n" + rows))
    assert [r.arrival_s for r in stream] == [0, 1, 2.5]


def test_mooncake_s_original(tmp_path: Path) -> None:
    stream = load(write(tmp_path, MOONCAKE, "x.jsonl"))
    assert rows(stream) == [(0, 1100, 5), (0.5, 512, 1), (3, 7, 1)]
    assert [r.hash_ids for r in stream] == [(0, 1, 2), (0,), (3,)]


def test_bailian_s_original_says_which_turn_of_which_chat_a_request_is(tmp_path: Path) -> None:
    path = write(tmp_path, BAILIAN, "x.jsonl")
    stream = load(path)
    assert rows(stream) == [(0, 40, 5), (1.5, 32, 3), (60.25, 70, 9), (61, 16, 1)]
    assert [r.hash_ids for r in stream] == [(0, 1, 2), (0, 3), (0, 1, 4, 5, 6), (1,)]
    assert {r.hash_block_tokens for r in stream} == {stream.hash_block_tokens} == {16}
    assert stream[2].chat == ChatTurn(2, 0, 2, "text")
    assert stream[3].chat == ChatTurn(3, None, 1, "api")
    assert load(path, "bailian") == stream
    assert load(write(tmp_path, MOONCAKE, "y"))[0].chat is None


@pytest.mark.parametrize("content", [OURS, AZURE, MOONCAKE, BAILIAN])
def test_the_requests_one_by_one_are_those_of_the_workload(
    tmp_path: Path, content: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, content)
    whole = load(path).requests
    monkeypatch.setattr(files, "MAX_HASH_IDS", 1)
    monkeypatch.setattr(files, "MAX_REQUESTS", 2)
    assert tuple(read_one_by_one(path)) == whole
    with pytest.raises(UsageError, match="format must be one of"):
        read_one_by_one(path, "json")
    broken = write(tmp_path, content + "{\n", "y")
    requests = read_one_by_one(broken)
    assert [next(requests) for _ in whole] == list(whole)
    with pytest.raises(WorkloadError, match=rf"y:{content.count(chr(10)) + 1}: "):
        next(requests)


@pytest.mark.parametrize("content", [OURS, HASHED, AZURE, MOONCAKE, BAILIAN])
def test_gzip_windows_lines_blank_lines_and_a_byte_order_mark_change_nothing(
    tmp_path: Path, content: str
) -> None:
    expected = load(write(tmp_path, content, "plain")).requests
    assert load(write(tmp_path, content, "x.gz")).requests == expected
    assert load(write(tmp_path, content.replace("\n", "\r\n"))).requests == expected
    assert load(write(tmp_path, content.rstrip("\n"))).requests == expected
    if content not in (MOONCAKE, BAILIAN):
        assert load(write(tmp_path, content + "\n\n")).requests == expected
        assert load(write(tmp_path, b"\xef\xbb\xbf" + content.encode())).requests == expected


def test_columns_in_another_order_and_more_of_them(tmp_path: Path) -> None:
    content = 'user,"output_tokens", prompt_tokens,arrival_s\nann,44,374,0\nbob, 109 ,396,4.315\n'
    assert load(write(tmp_path, content)).requests == load(write(tmp_path, OURS)).requests[:2]


def test_the_first_rows_of_a_file_whose_rest_is_not_read(tmp_path: Path) -> None:
    path = write(tmp_path, OURS + "broken\n")
    assert load(path, first=3).requests == load(write(tmp_path, OURS, "y")).requests
    with pytest.raises(WorkloadError, match=r"x\.csv:5"):
        load(path)


@pytest.mark.parametrize("number", [1, 40])
def test_the_extract_is_the_start_of_the_mooncake_trace(number: int) -> None:
    stream = load(EXTRACT, first=number)
    assert len(stream) == number
    assert stream[0].hash_ids == tuple(range(14))
    assert stream[0].prompt_tokens == 6758


@pytest.mark.skipif(not TRACE.is_file(), reason="the original trace is not beside this clone")
def test_the_extract_and_the_trace_in_the_package_are_the_start_of_the_original() -> None:
    original = load(TRACE, first=1000).requests
    assert mooncake_conversation().requests == original
    assert load(EXTRACT).requests == original[:250]


def test_the_trace_in_the_package_is_all_there_and_names_its_source() -> None:
    trace = mooncake_conversation()
    seen = ids_seen_before(trace)
    assert (len(trace), seen.lookups, seen.hits) == (1000, 27305, 5791)
    assert trace.name == "mooncake_conversation" and "Apache-2.0" in trace.source
    assert trace is mooncake_conversation()
    assert trace.first(250).requests == load(EXTRACT).requests


ROW = "arrival_s,prompt_tokens,output_tokens\n0,374,44\n"
HASH_ROW = "arrival_s,prompt_tokens,output_tokens,hash_ids_512\n0,374,44,7\n"
AZURE_ROW = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n"
TURN = BAILIAN.splitlines(keepends=True)[0]
LINE = '{"timestamp": 5, "input_length": 7, "output_length": 1, "hash_ids": [3]}\n'

# A file, and what its error must name: the line, the column, the bound and the value.
BAD_ROWS = {
    "a missing value": (ROW + "1,374\n", ":3: column output_tokens"),
    "a missing column": ("arrival_s,output_tokens\n0,4\n", ":1: column prompt_tokens"),
    "a column twice": ("arrival_s,arrival_s,prompt_tokens,output_tokens\n", ":1: .* 2 times"),
    "a value too many": (ROW + "1,374,44,9,8\n", ":3: 5 values for 3 columns"),
    "a negative length": (ROW + "1,-5,44\n", ":3: column prompt_tokens .* 1 to 10,000,000.* -5"),
    "an empty answer": (ROW + "1,5,0\n", ":3: column output_tokens .* 1 to 10,000,000.* 0"),
    "a huge length": (ROW + "1,5,10000001\n", ":3: column output_tokens .* 10000001"),
    "an endless length": (ROW + f"1,{'9' * 5000},1\n", ":3: column prompt_tokens .* '9999"),
    "NaN tokens": (ROW + "1,nan,44\n", ":3: column prompt_tokens .* 'nan'"),
    "half a token": (ROW + "1,3.5,44\n", ":3: column prompt_tokens .* 3.5"),
    "text": (ROW + "1,5,many\n", ":3: column output_tokens .* 'many'"),
    "other digits": (ROW + "1,٣,4\n", ":3: column prompt_tokens .* '٣'"),
    "an empty cell": (ROW + "1,,4\n", ":3: column prompt_tokens .* ''"),
    "NaN arrival": (ROW + "nan,5,4\n", ":3: column arrival_s .* 'nan'"),
    "infinite arrival": (ROW + "1e999,5,4\n", ":3: column arrival_s .* 0 to 1,000,000,000.* inf"),
    "negative arrival": (ROW + "-1,5,4\n", ":3: column arrival_s .* 0 to 1,000,000,000.* -1"),
    "wrong order": (ROW + "4.5,5,4\n3.25,5,4\n", ":4: column arrival_s .*4.5 s.* 3.25"),
    "hash ids that are text": (HASH_ROW + "1,5,4,x\n", ":3: column hash_ids_512 .*'x'"),
    "a negative hash id": (HASH_ROW + "1,5,4,-2\n", r":3: column hash_ids_512 .* \[-2\]"),
    "too few hash ids": (HASH_ROW + "1,1025,4,8 9\n", r":3: .* 3 ids, .* 2\), not \[8, 9\]"),
    "a header alone": ("arrival_s,prompt_tokens,output_tokens\n", "no requests"),
    "nothing": ("", "empty"),
    "another header": ("a,b\n1,2\n", ":1: .* arrival_s"),
    "broken UTF-8": (ROW.encode() + b"1,5,\xff\n", r":3: .* b'\\xff"),
    "an open quote": (ROW + '1,5,"4\n', ":3: not CSV"),
    "a text for a time": (AZURE_ROW + "now,5,4\n", ":3: column TIMESTAMP .* 'now'"),
    "a 13th month": (AZURE_ROW + "2023-13-16 18:15:46.68,5,4\n", ":3: .* '2023-13-16 18:15:46.68'"),
    "an earlier time": (AZURE_ROW + "2023-11-16 18:15:46.6,5,4\n", ":3: column TIMESTAMP .*0.0 s"),
    "a far century": (AZURE_ROW + "9999-01-01 00:00:00,5,4\n", ":3: .* 1,000,000,000 s"),
    "negative context": (AZURE_ROW + "2023-11-16 18:15:47,-5,4\n", ":3: column ContextT.* -5"),
    "a line that is no JSON": (LINE + "{\n", ":2: not JSON"),
    "a line that is a list": (LINE + "[]\n", ":2: .* JSON object"),
    "a key missing": (LINE + '{"timestamp": 6}\n', ":2: column input_length"),
    "a length in quotes": (LINE.replace(": 7", ': "7"'), ":1: column input_length .* '7'"),
    "true": (LINE.replace(": 1", ": true"), ":1: column output_length .* True"),
    "NaN milliseconds": (LINE.replace(": 5", ": NaN"), ":1: column timestamp .* nan"),
    "400 digits": (LINE.replace(": 5", ": 1" + "0" * 400), ":1: column timestamp .* 0 to"),
    "an earlier line": (LINE + LINE.replace(": 5", ": 4"), ":2: column timestamp .*0.005 s.* 4"),
    "ids that are none": (LINE.replace("[3]", "3"), ":1: column hash_ids .* 3"),
    "a turn without its type": (TURN.replace('"type"', '"kind"'), ":1: column type is missing"),
    "a type that is a number": (TURN.replace('"text"', "7"), ":1: column type .* 7"),
    "a type that is a novel": (TURN.replace("text", "x" * 101), ":1: column type .* 100 .*'xx"),
    "a chat below 0": (TURN.replace('chat_id": 0', 'chat_id": -1'), ":1: column chat_id .* -1"),
    "a parent below -1": (TURN.replace("-1", "-2"), ":1: column parent_chat_id .* -1 up, not -2"),
    "a parent in quotes": (TURN.replace("-1", '"-1"'), ":1: column parent_chat_id .* '-1'"),
    "turn 0": (TURN.replace('turn": 1', 'turn": 0'), ":1: column turn .* 1 up, not 0"),
    "half a turn": (TURN.replace('turn": 1', 'turn": 1.5'), ":1: column turn .* 1.5"),
    "an earlier turn": (BAILIAN + TURN, ":5: column timestamp .*61.0 s.* 0.0"),
    "too few ids of 16": (TURN.replace(", 2]", "]"), r":1: .* 3 ids, one per 16 of 40 .* 2\)"),
    "a pointer of LFS": ("version https://git-lfs.github.com/spec/v1\n", ":1: .* `git lfs pull`"),
    "an id too many": (LINE.replace("[3]", "[3, 4]"), r":1: .* 1 ids, .* of 7 .* \[3, 4\]"),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_a_bad_row_is_named_by_file_line_column_and_value(tmp_path: Path, case: str) -> None:
    content, message = BAD_ROWS[case]
    path = write(tmp_path, content)
    with pytest.raises(WorkloadError, match=message) as caught:
        load(path)
    assert str(caught.value).startswith(str(path))
    assert len(str(caught.value)) < len(str(path)) + 250


@pytest.mark.parametrize(
    "raw",
    [gzip.compress(OURS.encode())[:-9], OURS.encode()],
    ids=["cut short", "not packed"],  # packed bytes hold the time, and workers must agree on names
)
def test_a_damaged_archive_and_none_at_all(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "x.csv.gz").write_bytes(raw)
    with pytest.raises(WorkloadError, match=r"x\.csv\.gz:\d: the compressed file is damaged"):
        load(tmp_path / "x.csv.gz")


def test_a_format_that_is_named_but_not_there(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="column TIMESTAMP must occur once, not 0 times"):
        load(write(tmp_path, OURS), "azure")
    with pytest.raises(
        UsageError, match="format must be one of csv, jsonl, azure, mooncake, bailian or None"
    ):
        load(write(tmp_path, OURS), "json")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "x.csv")


def test_what_is_kept_of_a_file_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_REQUESTS", 3)
    header = "arrival_s,prompt_tokens,output_tokens\n"
    assert len(load(write(tmp_path, header + "0,1,1\n" * 3))) == 3
    endless = write(tmp_path, header + "0,1,1\n" * 4)
    with pytest.raises(WorkloadError, match=r"x\.csv:5: more than 3 requests .* first=n"):
        load(endless)
    assert len(load(endless, first=2)) == 2
    with pytest.raises(WorkloadError, match=r"x\.csv:7: more than 6 lines"):
        load(write(tmp_path, header + "\n" * 50))
    monkeypatch.setattr(files, "MAX_HASH_IDS", 4)
    with pytest.raises(WorkloadError, match=r"x\.csv:3: more than 3 requests or 4 hash ids"):
        load(write(tmp_path, LINE * 2 + LINE.replace(": 7", ": 1025").replace("[3]", "[3, 4, 5]")))
