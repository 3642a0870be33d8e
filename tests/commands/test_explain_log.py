"""`pagesim explain server.log`: the report first says what is wrong and what to change."""

import gzip
import json
from pathlib import Path

import pytest

from tests.commands.runs import Shell
from tests.explain.logs import tokens, v1

pytestmark = pytest.mark.ch10


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "server.log"
    stuck = [v1(at, 0, 3, 0.0, hits=0.0) for at in range(0, 40, 10)]
    path.write_text("\n".join([*tokens(76_640, 262_144), "INFO: GET /health 200", *stuck, ""]))
    return path


def test_the_first_lines(shell: Shell, log: Path) -> None:
    first = shell("explain", log).splitlines()[:3]
    assert first[0].startswith("1. Nothing runs, and 3 wait")
    assert "change:" in first[1] and "--max-model-len 76624" in " ".join(first)
    value = shell.answer("explain", log)
    assert value["path"] == str(log) and (value["lines"], value["known"]) == (7, 6)
    assert [one["quirk"] for one in value["findings"]] == ["w08"]
    assert value["findings"][0]["steps"] == [4]
    names = {one["name"] for one in value["meanings"]}
    assert {"size of the cache", "maximum concurrency", "KV cache usage", "no line"} <= names


def test_a_healthy_log(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "fine.log"
    path.write_text("\n".join(v1(at, 2, 0, 9.0, generation=80) for at in range(0, 40, 10)))
    assert shell("explain", path).startswith("Nothing in 4 lines")


def test_a_log_of_json(shell: Shell, log: Path) -> None:
    """vLLM can log objects of JSON; they have no format, as recorded runs do."""
    lines = [json.dumps({"level": "INFO", "message": line}) for line in log.read_text().split("\n")]
    before = shell.answer("explain", log)["findings"]
    log.write_text("\n".join(lines))
    assert shell.answer("explain", log)["findings"] == before


def test_a_compressed_log(shell: Shell, log: Path) -> None:
    packed = log.with_name("server.log.gz")
    packed.write_bytes(gzip.compress(log.read_bytes()))
    assert shell.answer("explain", packed)["findings"] == shell.answer("explain", log)["findings"]
    packed.write_bytes(packed.read_bytes()[:-20])
    assert "server.log.gz" in shell.refusal("explain", packed)


def test_what_is_no_log(shell: Shell, log: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    for data in (b"", b"hello\n", b"\0" * 1000, b"\xff\xfe\n" * 9):
        other.write_bytes(data)
        assert "log" in shell.refusal("explain", other)
    assert "--request" in shell.refusal("explain", log, "--request", "r1")
    assert "--part" in shell.refusal("explain", log, "--part", "1")
    assert "-o" in shell.refusal("explain", log, "-o", tmp_path / "page.html")
