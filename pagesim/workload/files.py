"""Reads request streams from files: CSV, JSON lines, and the originals of published traces."""

import csv
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.files.jsonl import BOM, Lines, numbered_lines, objects
from pagesim.workload.request import Request, Workload
from pagesim.workload.rows import MAX_ARRIVAL_S, Row, WorkloadError, number

MAX_REQUESTS, MAX_HASH_IDS = 1_000_000, 20_000_000
"""The most that is kept of a file, less than 1 GB: a small gzipped file may hold many rows."""

BAILIAN_BLOCK_TOKENS = 16
"""Tokens per hash id in the Bailian traces."""
POINTER = b"version https://git-lfs"
"""What a clone has in place of a large file that Git LFS did not fetch."""


def load(
    path: str | os.PathLike[str], format: str | None = None, *, first: int | None = None
) -> Workload:
    """Read the requests of a file, or the ``first`` ones; ``.gz`` files are unpacked.

    ======== =================================================================== ==================
    format   columns                                                             arrival
    ======== =================================================================== ==================
    csv      ``arrival_s,prompt_tokens,output_tokens[,hash_ids_512][,token_ids]`` seconds
    jsonl    JSON lines: ``arrival_s, output_tokens, prompt_tokens or token_ids`` seconds
    azure    ``TIMESTAMP,ContextTokens,GeneratedTokens``                         date and time
    mooncake JSON lines: ``timestamp, input_length, output_length, hash_ids``    milliseconds
    bailian  the same and ``chat_id, parent_chat_id, turn, type``                seconds
    ======== =================================================================== ==================

    If ``format`` is None, the first line decides. Ids in ``hash_ids_512`` and ``token_ids`` are
    separated by spaces, or form a list in JSON. Mooncake's hash ids stand for 512 tokens each, and
    Bailian's for 16. With one of these columns, prompts that begin alike share blocks when prefix
    caching is on. Other columns are ignored. Requests are numbered from 0. WorkloadError names the
    file, line, column and value of the first error; OSError if the file cannot be opened.
    """
    name = os.fspath(path)
    limit = MAX_REQUESTS + 1
    if first is not None:
        limit = min(limit, check_int("first", first, minimum=1))
    requests = _kept(islice(_rows_of(name, format), limit))
    if not requests:
        raise WorkloadError(f"{name}: the file has no requests")
    title = Path(name).name.encode(errors="replace").decode()  # a file's name may not be text
    return Workload(title, title, tuple(requests))


def stream(path: str | os.PathLike[str], format: str | None = None) -> Iterator[Request]:
    """Read the requests of a file one after another, however many there are: see `load`.

    For what needs each request only once, such as counting. Nothing is kept in memory.
    """
    return (request for _, request in _rows_of(os.fspath(path), format))


def _rows_of(name: str, format: str | None) -> Iterator[tuple[Row, Request]]:
    if format is not None and format not in FORMATS:
        raise UsageError(f"format must be one of {', '.join(FORMATS)} or None, not {format!r}")
    lines = numbered_lines(name, WorkloadError)
    if format is None:
        format, lines = _format_of(name, lines)
    return FORMATS[format](name, lines)


def _kept(rows: Iterable[tuple[Row, Request]]) -> list[Request]:
    requests: list[Request] = []
    ids = 0
    for row, request in rows:
        ids += len(request.hash_ids) + len(request.token_ids)
        if len(requests) == MAX_REQUESTS or ids > MAX_HASH_IDS:
            raise WorkloadError(
                f"{row.place}: more than {MAX_REQUESTS:,} requests or {MAX_HASH_IDS:,} hash ids "
                "or token ids: read fewer with load(path, first=n)"
            )
        requests.append(request)
    return requests


def _csv(name: str, lines: Lines) -> Iterator[tuple[Row, Request]]:
    before = 0.0
    for i, row in enumerate(_rows(name, lines, ("arrival_s", "prompt_tokens", "output_tokens"))):
        before = arrival = _arrival(row, "arrival_s", row.seconds("arrival_s"), before)
        prompt = row.tokens("prompt_tokens")
        listed = Row(
            row.place,
            {
                column: [number(word) for word in text.split()]
                for column in ("hash_ids_512", "token_ids")
                if (text := str(row.columns.get(column, "")))
            },
        )
        hashes, tokens = _ids(listed, prompt)
        yield row, Request(str(i), arrival, prompt, row.tokens("output_tokens"), hashes, tokens)


def _jsonl(name: str, lines: Lines) -> Iterator[tuple[Row, Request]]:
    before = 0.0
    for i, (line, columns) in enumerate(objects(lines, name, WorkloadError)):
        row = Row(f"{name}:{line}", columns)
        before = arrival = _arrival(row, "arrival_s", row.seconds("arrival_s"), before)
        prompt = None
        if "prompt_tokens" in columns or "token_ids" not in columns:
            prompt = row.tokens("prompt_tokens")
        hashes, tokens = _ids(row, prompt)
        prompt = prompt or len(tokens)
        yield row, Request(str(i), arrival, prompt, row.tokens("output_tokens"), hashes, tokens)


def _ids(row: Row, prompt: int | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The hash ids or the token ids of a row's prompt; a row may have neither."""
    hashed, named = "hash_ids_512" in row.columns, "token_ids" in row.columns
    if hashed and named:
        raise row.wrong("token_ids", "empty where hash_ids_512 is not", row.value("token_ids"))
    if named:
        return (), row.token_ids("token_ids", prompt)
    return row.hash_ids("hash_ids_512", prompt) if hashed and prompt else (), ()


def _azure(name: str, lines: Lines) -> Iterator[tuple[Row, Request]]:
    start = None
    before = 0.0
    for i, row in enumerate(_rows(name, lines, ("TIMESTAMP", "ContextTokens", "GeneratedTokens"))):
        moment = row.timestamp("TIMESTAMP")
        start = start or moment
        since = (moment - start).total_seconds()
        before = arrival = _arrival(row, "TIMESTAMP", since, before)
        prompt = row.tokens("ContextTokens")
        yield row, Request(str(i), arrival, prompt, row.tokens("GeneratedTokens"))


def _mooncake(name: str, lines: Lines) -> Iterator[tuple[Row, Request]]:
    before = 0.0
    for i, (line, columns) in enumerate(objects(lines, name, WorkloadError)):
        row = Row(f"{name}:{line}", columns)
        since = row.seconds("timestamp", per_second=1000)
        before = arrival = _arrival(row, "timestamp", since, before)
        prompt = row.tokens("input_length")
        ids = row.hash_ids("hash_ids", prompt)
        yield row, Request(str(i), arrival, prompt, row.tokens("output_length"), ids)


def _bailian(name: str, lines: Lines) -> Iterator[tuple[Row, Request]]:
    before, size = 0.0, BAILIAN_BLOCK_TOKENS
    for i, (line, columns) in enumerate(objects(lines, name, WorkloadError)):
        row = Row(f"{name}:{line}", columns)
        before = arrival = _arrival(row, "timestamp", row.seconds("timestamp"), before)
        prompt = row.tokens("input_length")
        ids, output = row.hash_ids("hash_ids", prompt, size), row.tokens("output_length")
        yield row, Request(str(i), arrival, prompt, output, ids, (), size, row.chat())


FORMATS: dict[str, Callable[[str, Lines], Iterator[tuple[Row, Request]]]] = {
    "csv": _csv,
    "jsonl": _jsonl,
    "azure": _azure,
    "mooncake": _mooncake,
    "bailian": _bailian,
}


def _arrival(row: Row, column: str, arrival: float, before: float) -> float:
    if arrival < before:
        expected = f"no earlier than the row above ({before} s from the start)"
        raise row.wrong(column, expected, row.value(column))
    if arrival > MAX_ARRIVAL_S:
        expected = f"within {MAX_ARRIVAL_S:,.0f} s of the first row"
        raise row.wrong(column, expected, row.value(column))
    return arrival


def _format_of(name: str, lines: Lines) -> tuple[str, Lines]:
    """The format according to the first line, and all lines: a pipe can be read only once."""
    for line, raw in lines:
        whole = chain([(line, raw)], lines)
        head = raw.removeprefix(BOM).strip()
        if head.startswith(b"{"):
            if b'"arrival_s"' in head:
                return "jsonl", whole
            return "bailian" if b'"chat_id"' in head else "mooncake", whole
        if head.startswith(POINTER):
            raise WorkloadError(
                f"{name}:{line}: this is a pointer of Git LFS and not the file: fetch it with "
                "`git lfs pull`"
            )
        columns = {column.strip(b' "') for column in head.split(b",")}
        if b"TIMESTAMP" in columns:
            return "azure", whole
        if b"arrival_s" in columns:
            return "csv", whole
        raise WorkloadError(
            f"{name}:{line}: the first line must name the columns arrival_s,prompt_tokens,"
            "output_tokens or TIMESTAMP,ContextTokens,GeneratedTokens, or be a JSON object, "
            f"not {raw[:60]!r}"
        )
    raise WorkloadError(f"{name}: the file is empty")


def _rows(name: str, lines: Lines, needed: tuple[str, ...]) -> Iterator[Row]:
    """The rows of a CSV file below its header, with numbers converted; blank lines are skipped."""
    reader = csv.reader(_text(name, lines), strict=True)
    try:
        header = [column.strip() for column in next(reader, [])]
        for column in needed:
            if header.count(column) != 1:
                raise WorkloadError(
                    f"{name}:1: column {column} must occur once, not {header.count(column)} times"
                )
        for cells in reader:
            if reader.line_num > 2 * MAX_REQUESTS:
                raise WorkloadError(
                    f"{name}:{reader.line_num}: more than {2 * MAX_REQUESTS:,} lines"
                )
            place = f"{name}:{reader.line_num}"
            if len(cells) > len(header):
                raise WorkloadError(
                    f"{place}: {len(cells)} values for {len(header)} columns, "
                    f"the first extra value is {cells[len(header)][:40]!r}"
                )
            if cells:
                yield Row(place, dict(zip(header, map(number, cells), strict=False)))
    except csv.Error as problem:
        raise WorkloadError(f"{name}:{reader.line_num}: not CSV: {problem}") from problem


def _text(name: str, lines: Lines) -> Iterator[str]:
    for line, raw in lines:
        try:
            yield (raw.removeprefix(BOM) if line == 1 else raw).decode()
        except UnicodeDecodeError as problem:
            raise WorkloadError(
                f"{name}:{line}: not UTF-8 text: {problem.object[problem.start :][:8]!r}"
            ) from problem
