"""Results that `pagesim simulate` wrote, read again: a summary, or a row for every request."""

import csv
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from pagesim.errors import UsageError
from pagesim.files.jsonl import BOM, MAX_LINE, JsonObject, numbered_lines
from pagesim.simulation.outcomes import COLUMNS, LOADED, LOST
from pagesim.simulation.report import measures

RUN, SUMMARY, REQUESTS = "a recorded run", "the summary of a run", "the requests of a run"
"""What `pagesim compare` takes, two of the first, or two of the others."""

FORMATS = {
    "pagesim-timeline/": RUN,
    "pagesim sweep": "the output of pagesim sweep",
    "pagesim-trace/": "a recording of vLLM, for pagesim replay",
    "pagesim-v1-trace/": "a recording of vLLM, for pagesim replay",
    "pagesim-kv-events/": "what a router hears",
}
"""By how the format in the first line begins."""

KEYS = {
    SUMMARY: {"policy", "finished", "latency"},
    "the output of pagesim size": {"num_gpu_blocks", "block_bytes"},
    "the answer of pagesim sweep": {"cells", "done", "failed"},
    "the answer of pagesim waste": {"policies", "source"},
}
"""By the keys of a JSON object."""

TRACES = ({"arrival_s", "output_tokens"}, {"ContextTokens"}, {"timestamp", "input_length"})
"""The columns or keys of requests that are still to be served."""

DAMAGES = (csv.Error, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What reading a result that is not whole may raise."""

LINE = 10_000
"""How much of a line is looked at for the names of columns."""

LATENCIES = {
    "time_to_first_token": "ttft_s",
    "time_per_output_token": "tpot_s",
    "end_to_end": "end_to_end_s",
}
"""The latencies of a run that its requests have, and their columns."""


def what_is(path: Path) -> str:
    """What a file is, in words: `RUN`, `SUMMARY`, `REQUESTS` or another; "" if it is not known.

    OSError if it cannot be opened; UsageError for a damaged archive.
    """
    first, value = _read(path)
    columns = set(first.split(","))
    if columns >= set(COLUMNS):
        return REQUESTS
    if first.startswith("<"):
        return "a page"
    form = str(value.get("format", ""))
    for start, words in FORMATS.items():
        if form.startswith(start):
            return words
    for words, keys in KEYS.items():
        if value.keys() >= keys:
            return words
    is_trace = any(columns >= keys or value.keys() >= keys for keys in TRACES)
    return "a trace of requests, for pagesim simulate" if is_trace else ""


def measures_of(path: Path) -> dict[str, float | None]:
    """The measures of a saved summary, or those that the requests of a run give.

    UsageError if it is neither, or a value in it is missing or no number.
    """
    kind = what_is(path)
    try:
        if kind == SUMMARY:
            return measures(_read(path)[1])
        if kind == REQUESTS:
            with path.open(newline="", encoding="utf-8-sig") as opened:
                return measures(_summary(list(csv.DictReader(opened))))
    except DAMAGES as error:
        raise UsageError(f"{path} holds {kind}, but is damaged: {error}") from error
    raise UsageError(f"{path} holds {kind or 'no result of a run'}")


def _summary(rows: list[dict[str, str]]) -> JsonObject:
    done = [row for row in rows if row["state"] == "finished"]
    states = {name: sum(row["state"] == name for row in rows) for name in ("ignored", "stuck")}
    seconds = max((float(row["arrival_s"]) + float(row["end_to_end_s"]) for row in done), default=0)
    tokens = sum(int(row["output_tokens"]) for row in done)
    counts = ["preemptions", "hit_tokens", "refound_tokens"]
    counts += [name for name in (LOST, LOADED[0]) if rows and name in rows[0]]
    return {
        "requests": len(rows),
        "finished": len(done),
        **states,
        **{name: sum(int(row[name]) for row in rows) for name in counts},
        "output_tokens_per_s": tokens / seconds if seconds else 0.0,
        "latency": {
            name: _percentiles([float(row[column]) for row in done if row[column]])
            for name, column in LATENCIES.items()
        },
    }


def _percentiles(values: list[float]) -> Mapping[str, float | None]:
    names = ("p50", "p99")
    if not values:
        return dict.fromkeys(names)
    return dict(zip(names, np.percentile(values, (50, 99)).tolist(), strict=True))


def _read(path: Path) -> tuple[str, JsonObject]:
    """The first line, and the JSON object that is in it, or in the file if that is short."""
    lines = (raw for _, raw in numbered_lines(str(path), UsageError))
    text = next(lines, b"").removeprefix(BOM)
    first = text[:LINE].decode(errors="replace").strip()
    value = _object(text)
    while not value and first == "{" and len(text) < MAX_LINE and (raw := next(lines, b"")):
        text += raw
        if raw.startswith(b"}"):
            value = _object(text)
    return first, value


def _object(text: bytes) -> JsonObject:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
