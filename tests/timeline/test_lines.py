"""Lines and files that a reader of JSON lines must not swallow."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from pagesim import TimelineError, load
from pagesim.files import jsonl


def test_a_number_of_many_digits(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"format": ' + "9" * 5000 + "}")
    with pytest.raises(TimelineError, match=r"x\.jsonl:1: not JSON: Exceeds the limit"):
        load(tmp_path / "x.jsonl")


def test_a_file_without_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "MAX_BYTES", 1000)
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(b'{"a": 1}\n' * 200))
    with pytest.raises(TimelineError, match=r"x\.jsonl\.gz:112: the file has more than 1000 bytes"):
        for _ in jsonl.numbered_objects(str(tmp_path / "x.jsonl.gz"), TimelineError):
            pass
