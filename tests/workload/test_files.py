"""Request files: three formats read, and every bad row named by file, line, column and value."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from pagesim.errors import UsageError
from pagesim.workload import WorkloadError, files, load

EXTRACT = Path(__file__).parents[1] / "data" / "mooncake_conversation-first250.jsonl.gz"
TRACES = Path(__file__).parents[3] / "shared" / "waste" / "traces"

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


def write(folder: Path, content: str | bytes, name: str = "x.csv") -> Path:
    raw = content.encode() if isinstance(content, str) else content
    (folder / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return folder / name


def test_our_csv(tmp_path: Path) -> None:
    stream = load(write(tmp_path, OURS))
    assert [(r.request_id, r.arrival_s, r.prompt_tokens, r.output_tokens) for r in stream] == [
        ("0", 0, 374, 44),
        ("1", 4.315, 396, 109),
        ("2", 4.542, 879, 55),
    ]
    assert stream.name == stream.source == "x.csv"


def test_our_csv_with_hash_ids_where_a_row_may_have_none(tmp_path: Path) -> None:
    assert [r.hash_ids for r in load(write(tmp_path, HASHED))] == [(0, 1, 2), (0,), ()]


def test_azure_s_original_counts_seconds_from_its_first_row(tmp_path: Path) -> None:
    stream = load(write(tmp_path, AZURE))
    assert [r.arrival_s for r in stream] == pytest.approx([0, 4.314579, 4.541877], abs=1e-9)
    assert [(r.prompt_tokens, r.output_tokens) for r in stream] == [
        (374, 44),
        (396, 109),
        (879, 55),
    ]


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
    assert [(r.arrival_s, r.prompt_tokens, r.output_tokens, r.hash_ids) for r in stream] == [
        (0, 1100, 5, (0, 1, 2)),
        (0.5, 512, 1, (0,)),
        (3, 7, 1, (3,)),
    ]


@pytest.mark.parametrize("content", [OURS, HASHED, AZURE, MOONCAKE])
def test_gzip_windows_lines_blank_lines_and_a_byte_order_mark_change_nothing(
    tmp_path: Path, content: str
) -> None:
    expected = load(write(tmp_path, content, "plain")).requests
    assert load(write(tmp_path, content, "x.gz")).requests == expected
    assert load(write(tmp_path, content.replace("\n", "\r\n"))).requests == expected
    assert load(write(tmp_path, content.rstrip("\n"))).requests == expected
    if content is not MOONCAKE:
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


@pytest.mark.skipif(not TRACES.is_dir(), reason="the original traces are not beside this clone")
def test_the_extract_is_the_start_of_the_original() -> None:
    original = load(TRACES / "mooncake_fast25_conversation_first3000_hashes.csv", first=250)
    assert load(EXTRACT).requests == original.requests


ROW = "arrival_s,prompt_tokens,output_tokens\n0,374,44\n"
HASH_ROW = "arrival_s,prompt_tokens,output_tokens,hash_ids_512\n0,374,44,7\n"
AZURE_ROW = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n"
LINE = '{"timestamp": 5, "input_length": 7, "output_length": 1, "hash_ids": [3]}\n'
TOKENS = "must be a whole number from 1 to 10,000,000, not"
SECONDS = "must be a number from 0 to 1,000,000,000, not"

BAD_ROWS = {
    "a missing value": (ROW + "1,374\n", ":3: column output_tokens is missing"),
    "a missing column": (
        "arrival_s,output_tokens\n0,4\n",
        ":1: column prompt_tokens must occur",
    ),
    "a column twice": ("arrival_s,arrival_s,prompt_tokens,output_tokens\n", "once, not 2 times"),
    "a value too many": (
        ROW + "1,374,44,9,8\n",
        ":3: 5 values for 3 columns, the first extra",
    ),
    "a negative length": (ROW + "1,-5,44\n", f":3: column prompt_tokens {TOKENS} -5"),
    "an empty answer": (ROW + "1,5,0\n", f":3: column output_tokens {TOKENS} 0"),
    "a huge length": (ROW + "1,5,10000001\n", f":3: column output_tokens {TOKENS} 10000001"),
    "an endless length": (ROW + f"1,{'9' * 5000},1\n", f"prompt_tokens {TOKENS} '9999"),
    "NaN tokens": (ROW + "1,nan,44\n", f":3: column prompt_tokens {TOKENS} 'nan'"),
    "half a token": (ROW + "1,3.5,44\n", f":3: column prompt_tokens {TOKENS} 3.5"),
    "text": (ROW + "1,5,many\n", f":3: column output_tokens {TOKENS} 'many'"),
    "other digits": (ROW + "1,٣,4\n", f":3: column prompt_tokens {TOKENS} '٣'"),
    "an empty cell": (ROW + "1,,4\n", f":3: column prompt_tokens {TOKENS} ''"),
    "NaN arrival": (ROW + "nan,5,4\n", f":3: column arrival_s {SECONDS} 'nan'"),
    "infinite arrival": (ROW + "1e999,5,4\n", f":3: column arrival_s {SECONDS} inf"),
    "negative arrival": (ROW + "-1,5,4\n", f":3: column arrival_s {SECONDS} -1"),
    "wrong order": (
        ROW + "4.5,5,4\n3.25,5,4\n",
        ":4: column arrival_s must be no earlier than the row above (4.5 s from the start), "
        "not 3.25",
    ),
    "hash ids that are text": (
        HASH_ROW + "1,5,4,x\n",
        ":3: column hash_ids_512 must be ids from 0",
    ),
    "a negative hash id": (HASH_ROW + "1,5,4,-2\n", "must be ids from 0 up, not [-2]"),
    "too few hash ids": (
        HASH_ROW + "1,1025,4,8 9\n",
        ":3: column hash_ids_512 must be 3 ids, one per 512 of 1025 tokens (there are 2), "
        "not [8, 9]",
    ),
    "a header alone": ("arrival_s,prompt_tokens,output_tokens\n", "the file has no requests"),
    "nothing": ("", "the file is empty"),
    "another header": ("a,b\n1,2\n", ":1: the first line must name the columns arrival_s"),
    "broken UTF-8": (ROW.encode() + b"1,5,\xff\n", ":3: not UTF-8 text: b'\\xff"),
    "an open quote": (ROW + '1,5,"4\n', ":3: not CSV: unexpected end of data"),
    "a text for a time": (AZURE_ROW + "now,5,4\n", ":3: column TIMESTAMP must be a time like"),
    "a 13th month": (AZURE_ROW + "2023-13-16 18:15:46.68,5,4\n", "not '2023-13-16 18:15:46.68'"),
    "an earlier time": (
        AZURE_ROW + "2023-11-16 18:15:46.6,5,4\n",
        ":3: column TIMESTAMP must be no earlier than the row above (0.0 s from the start), "
        "not '2023-11-16 18:15:46.6'",
    ),
    "a far century": (
        AZURE_ROW + "9999-01-01 00:00:00,5,4\n",
        "within 1,000,000,000 s of the first",
    ),
    "negative context": (
        AZURE_ROW + "2023-11-16 18:15:47,-5,4\n",
        f":3: column ContextTokens {TOKENS} -5",
    ),
    "a line that is no JSON": (LINE + "{\n", ":2: not JSON"),
    "a line that is a list": (LINE + "[]\n", ":2: must be a JSON object"),
    "a key missing": (LINE + '{"timestamp": 6}\n', ":2: column input_length is missing"),
    "a length in quotes": (LINE.replace(": 7", ': "7"'), f":1: column input_length {TOKENS} '7'"),
    "true": (LINE.replace(": 1", ": true"), f":1: column output_length {TOKENS} True"),
    "NaN milliseconds": (
        LINE.replace(": 5", ": NaN"),
        ":1: column timestamp must be a number from",
    ),
    "400 digits": (LINE.replace(": 5", ": 1" + "0" * 400), ":1: column timestamp must be a number"),
    "an earlier line": (
        LINE + LINE.replace(": 5", ": 4"),
        ":2: column timestamp must be no earlier than the row above (0.005 s from the start), "
        "not 4",
    ),
    "ids that are none": (LINE.replace("[3]", "3"), ":1: column hash_ids must be ids from 0 up"),
    "an id too many": (
        LINE.replace("[3]", "[3, 4]"),
        "must be 1 ids, one per 512 of 7 tokens",
    ),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_a_bad_row_is_named_by_file_line_column_and_value(tmp_path: Path, case: str) -> None:
    content, message = BAD_ROWS[case]
    path = write(tmp_path, content)
    with pytest.raises(WorkloadError) as caught:
        load(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)
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
        UsageError, match="format must be one of csv, jsonl, azure, mooncake or None"
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
