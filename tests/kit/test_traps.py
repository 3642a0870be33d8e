"""The kit's traps: vLLM's answers, ours, those of a second simulator, and those of shortcuts."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit import check
from pagesim.replay import replay_file
from tests.kit.engine import answers
from tests.kit.shortcuts import SHORTCUTS
from tests.replay.recordings import DATA

pytestmark = [pytest.mark.ch09, pytest.mark.ch10]

KIT = Path(check.__file__).parent
TRAPS = sorted((KIT / "traps").iterdir())
WORDS = (KIT / "TRAPS.md").read_text(encoding="utf-8")
NODE = shutil.which("node")

ROW = re.compile(r"\| (traps|recordings)/(\S+) \| (\d+) \| `(\S+)` \| `(\S+)` \|")
ROWS = [
    (shortcut, DATA / place if folder == "recordings" else KIT / folder / place, int(line), *told)
    for shortcut, section in zip(SHORTCUTS, WORDS.split("\n## ")[1:], strict=True)
    for folder, place, line, *told in ROW.findall(section)
]
PART = "tokens,preempted,waiting,running,tables,free"
LONGER = ["plain_bs4-131", "cached_bs4-132", "cached_tight_bs2-133"]
LONGER += ["nochunk_bs4-134", "threshold_partial_bs4-135"]


def compared(path: Path, names: list[str]) -> str | None:
    """The first difference between a recording and pagesim as a program."""
    lines, got = check.recorded(path), []
    try:
        for answer in answers(check.calls(lines).splitlines()):
            got.append(answer)
    except Exception as error:
        return check.compare(lines, got, names, repr(error))
    return check.compare(lines, got, names, "the answers end")


@pytest.mark.parametrize("path", TRAPS, ids=lambda path: path.stem)
def test_our_engine_answers_a_trap_as_the_release_did(path: Path) -> None:
    result = replay_file(path)
    assert (result.mismatch, result.operations > 5) == (None, True)
    assert compared(path, ["all"]) is None
    header = check.recorded(path)[0]
    assert (header["reference"], header["name"]) == ("vLLM 0.33.0", path.stem)
    assert len(check.recorded(path)) < 15, "a trap is tiny"


def test_every_trap_has_a_section_with_a_longer_recording() -> None:
    assert [path.name for _, path, *_ in ROWS[::2]] == [path.name for path in TRAPS]
    assert all(path.parent == DATA / "v1" for _, path, *_ in ROWS[1::2])
    assert len(ROWS) == 2 * len(TRAPS) == 20


@pytest.mark.parametrize(
    ("shortcut", "path", "number", "vllm", "other"),
    ROWS,
    ids=[f"{shortcut.__name__}-{path.parent.name}" for shortcut, path, *_ in ROWS],
)
def test_a_shortcut_is_found_at_the_line_and_with_the_tokens_that_the_table_says(
    shortcut: Callable[[pytest.MonkeyPatch], None],
    path: Path,
    number: int,
    vllm: str,
    other: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    line = check.recorded(path)[number - 1]
    assert line["ret"]["tokens"] == json.loads(vllm)
    shortcut(monkeypatch)
    found = compared(path, ["tokens", "preempted"]) or ""
    said = f"  ret.tokens\n    expected {vllm}\n    got      {other}"
    assert found == f"line {number}, call {line['i']}: schedule {{}}\n{said}"


def run(*arguments: object, stdin: str = "") -> Any:
    """The checker as a program."""
    return subprocess.run(
        [sys.executable, KIT / "check.py", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        cwd=KIT,
    )


@pytest.mark.skipif(NODE is None, reason="node, which runs the kit's example, is not installed")
def test_the_example_in_javascript_falls_into_none() -> None:
    done = run("traps", "--", NODE, "example/simulator.mjs")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "10 of 10 files are equal"


@pytest.mark.skipif(NODE is None, reason="node, which runs the kit's example, is not installed")
def test_the_example_in_javascript_repeats_longer_recordings() -> None:
    paths = [DATA / f"v1/scheduler-{name}.jsonl.gz" for name in LONGER]
    done = run("--only", PART, *paths, "--", NODE, "example/simulator.mjs")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"({PART.replace(',', ', ')})" in done.stdout
