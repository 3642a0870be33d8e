"""Whatever bytes a file has: a workload comes out, or a WorkloadError that names the file."""

import gzip
import os
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pagesim.workload import Workload, WorkloadError, load
from tests.commands.runs import requests
from tests.workload.test_files import BAILIAN
from tests.workload.test_files import rows as rows_of

EXAMPLES = int(os.environ.get("PAGESIM_HOSTILE", "40"))
GOOD = (
    b"arrival_s,prompt_tokens,output_tokens\n0,374,44\n4.315,396,109\n",
    b"arrival_s,prompt_tokens,output_tokens,hash_ids_512\n0,1100,5,0 1 2\n0.5,512,1,0\n",
    b"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n"
    b"2023-11-16 18:15:50.9951690,396,109\n",
    b'{"timestamp": 0, "input_length": 1100, "output_length": 5, "hash_ids": [0, 1, 2]}\n'
    b'{"timestamp": 500, "input_length": 512, "output_length": 1, "hash_ids": [0]}\n',
    BAILIAN.encode(),
)
PIECES = st.one_of(
    st.integers(-2, 2000).map(lambda value: str(value).encode()),
    st.sampled_from(
        [
            *(b"nan", b"NaN", b"inf", b"-", b"1e308", b"1e400", b"_", b'"', b"'", b"\0", b"\r"),
            *(b"null", b"true", b"[]", b"{}", b"[" * 9000, b"1" * 4400, b",", b"\n", b" ", b"\n\n"),
            *(b"2023-02-30 00:00:00", b"0001-01-01 00:00:00+23:59", b"9999-12-31 23:59:59-23:59"),
        ]
    ),
    st.binary(max_size=6),
)
EDITS = st.lists(st.tuples(st.integers(0, 500), st.integers(0, 8), PIECES), max_size=3)


def edited(content: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    """``content`` with the given lengths at the given places replaced."""
    for place, length, piece in edits:
        at = place % (len(content) + 1)
        content = content[:at] + piece + content[at + length :]
    return content


CONTENTS = st.one_of(st.binary(max_size=80), st.builds(edited, st.sampled_from(GOOD), EDITS))


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    content=CONTENTS,
    format=st.sampled_from([None, None, "csv", "azure", "mooncake", "bailian"]),
    packed=st.booleans(),
    cut=st.integers(0, 30),
)
def test_any_bytes(content: bytes, format: str | None, packed: bool, cut: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("x.gz" if packed else "x")
        raw = gzip.compress(content) if packed else content
        path.write_bytes(raw[: len(raw) - max(0, cut - 20)])
        try:
            stream = load(path, format)
        except WorkloadError as error:
            assert str(error).startswith(str(path))
        else:
            assert isinstance(stream, Workload)
            assert len(stream) <= content.count(b"\n") + 1


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.floats(0, 1e6), st.integers(1, 10_000_000), st.integers(1, 10_000_000)),
        min_size=1,
        max_size=8,
    )
)
def test_a_good_file_gives_back_what_was_written(rows: list[tuple[float, int, int]]) -> None:
    rows.sort(key=lambda row: row[0])
    with tempfile.TemporaryDirectory() as folder:
        lines = [f"{arrival!r},{prompt},{output}" for arrival, prompt, output in rows]
        stream = load(requests(Path(folder) / "x.csv", *lines))
    assert rows_of(stream) == rows
