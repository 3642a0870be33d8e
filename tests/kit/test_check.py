"""The kit's checker finds whatever is wrong, says where, and never crashes."""

import ast
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kit import check
from tests.kit.engine import answers
from tests.kit.test_traps import KIT, TRAPS, compared, run
from tests.replay.recordings import V0, V1, V1_GROUPS, V1_OBSERVED, V1_OFFLOAD

pytestmark = [pytest.mark.ch09, pytest.mark.ch10]

TRAP = TRAPS[1]
LONG = "PAGESIM_V1_EXAMPLES" in os.environ  # make nightly
ECHO = "import sys; print(open(sys.argv[1]).read(), end='')"


def right() -> list[str]:
    """The right answers to a trap."""
    return list(answers(check.calls(check.recorded(TRAP)).splitlines()))


def header_of(path: Path) -> Any:
    with gzip.open(path, "rb") as file:
        return json.loads(file.readline())


def differs(lines: list[str], names: str = "all") -> str:
    found = check.compare(check.recorded(TRAP), lines, names.split(","), "they end")
    return found or ""


@pytest.mark.parametrize(
    "paths", [V0[::3], V1[::3], V1_GROUPS[::5], V1_OBSERVED, V1_OFFLOAD[::5]], ids=len
)
def test_pagesim_as_a_program_gives_the_recorded_answers(paths: list[Path]) -> None:
    assert [compared(path, ["all"]) for path in paths] == [None] * len(paths)


@pytest.mark.parametrize("place", range(8))
def test_a_planted_answer_is_found_at_its_line(place: int) -> None:
    lines = right()
    answer = json.loads(lines[place])
    answer["state"]["free"] = [*answer["state"].get("free", []), 99]
    lines[place] = json.dumps(answer)
    found = differs(lines)
    assert found.startswith(f"line {place + 2}, call {place}: ") and "\n  state.free\n" in found
    assert differs(lines, "tokens,preempted") == ""


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        ("", "not a JSON object"),
        ("[1]", "not a JSON object"),
        ("{", "not a JSON object"),
        ("[" * 100_000, "not a JSON object"),
        ("{}", 'expected {"tokens":[["a",6],["b",3]],"preempted":[]}\n    got      (nothing)'),
        ('{"ret":[]}', "expected {"),
        ('{"ret":{"tokens":[["a",6],["b",3]],"preempted":[]},"error":"ValueError"}', "  error\n"),
        ('{"ret":{"tokens":[["a",6]],"preempted":[]}}', 'got      [["a",6]]'),
        ('{"ret":{"tokens":[["a",6],["b",true]],"preempted":[]}}', '["b",true]]'),
        ('{"ret":{"tokens":[["b",3],["a",6]],"preempted":[]}}', '[["b",3],["a",6]]'),
        ('{"ret":{"tokens":[["a",6],["b",1e999]],"preempted":[]}}', "Infinity"),
        ('{"ret":{"tokens":[["a",6],["b",NaN]],"preempted":[]}}', "NaN"),
        (f'{{"ret":{{"tokens":[["a",6],["b",{"9" * 400}]]}}}}', "999..."),
    ],
)
def test_each_kind_of_wrong_answer_is_told(planted: str, said: str) -> None:
    lines = right()
    lines[2] = planted
    found = differs(lines, "tokens,preempted")
    assert found.startswith("line 4, call 2: schedule {}\n") and said in found


def test_too_few_and_too_many_answers_are_told() -> None:
    assert "line 5, call 3: update" in differs(right()[:3])
    assert "they end" in differs(right()[:3])
    assert "9 answers to 8 calls" in differs([*right(), "{}"])


def test_what_is_empty_or_null_may_be_absent_from_a_state_and_nowhere_else() -> None:
    lines = [json.loads(line) for line in right()]
    assert lines[2]["state"]["free"] == []
    del lines[2]["state"]["free"]
    lines[0] |= {"ret": None, "error": None}
    lines[3]["state"]["cached"] = {}
    assert differs([json.dumps(line) for line in lines]) == ""
    del lines[2]["ret"]["preempted"]
    assert "ret.preempted" in differs([json.dumps(line) for line in lines])


@pytest.mark.parametrize(
    ("a", "b", "is_equal"),
    [
        (1, 1.0, True),
        (0.1, 0.1 + 1e-10, True),
        (0.1, 0.11, False),
        (1, True, False),
        (0, None, False),
    ],
)
def test_numbers_are_equal_to_nine_digits(a: Any, b: Any, is_equal: bool) -> None:
    assert (check.first_difference([a], [b]) is None) == is_equal


def test_nothing_is_said_of_the_state_that_an_error_of_v0_leaves() -> None:
    lines = [{"kind": "x"}, {"i": 0, "op": "y", "args": {}, "error": "E", "state_after_error": 1}]
    assert check.compare(lines, ['{"error":"E","state":{"free":[1]}}'], ["all"], "") is None
    assert "state_after_error" not in check.calls(lines)


def test_the_exit_codes_and_both_ways_to_answer(tmp_path: Path) -> None:
    file = tmp_path / "answers"
    file.write_text("\n".join(right()))
    assert run(TRAP, stdin=file.read_text()).returncode == 0
    assert run(TRAP, "--", sys.executable, "-c", ECHO, file).returncode == 0
    file.write_text("\n".join(right()[:4]))
    done = run(TRAP, "--", sys.executable, "-c", ECHO + "; sys.exit(3)", file)
    assert done.returncode == 1
    assert "line 6, call 4" in done.stdout and "exit code 3" in done.stdout
    slow = run("--seconds", "0.1", TRAP, "--", sys.executable, "-c", "import time; time.sleep(9)")
    assert slow.returncode == 1 and "0.1 seconds" in slow.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.jsonl"], "nowhere.jsonl"),
        (["README.md"], "README.md"),
        (["traps"], "add -- PROGRAM"),
        (["example"], "no recording"),
        ([TRAP, "--", "./no-such-program"], "cannot be started"),
        (["--only", "token", TRAP], "'token'"),
        (["--no-such-option", TRAP], "--no-such-option"),
        ([], "FILE_OR_FOLDER"),
    ],
)
def test_a_wrong_command_is_refused_in_words(arguments: list[object], said: str) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("raw", [b"\x1f\x8b broken", b"\xff", b"[]\n", b"{}\n", b"", b"[" * 99_999])
def test_a_damaged_recording_is_refused(raw: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(raw)
    with pytest.raises(check.BadInputError, match="not a recording"):
        check.recorded(path)


def test_only_a_newline_ends_an_answer() -> None:
    lines = right()
    lines[0] = '{"note":"\u2028 \x85", "state":' + lines[0].partition('"state":')[2]
    assert differs(check.split("\n".join(lines) + "\n")) == ""
    assert differs(check.split("\r\n".join(lines) + "\r\n")) == ""


@pytest.mark.parametrize("names", [5, "tokens", [["tokens"]], ["nothing"]])
def test_a_header_that_names_no_part_is_refused(names: Any) -> None:
    lines = check.recorded(TRAP)
    with pytest.raises(check.BadInputError):
        check.chosen([lines[0] | {"check": names}, *lines[1:]], None, TRAP)


def test_a_program_that_reads_nothing_and_a_reader_that_reads_on_no_more(tmp_path: Path) -> None:
    long = tmp_path / "long.jsonl"
    header, *rest = TRAP.read_text(encoding="utf-8").splitlines(keepends=True)
    long.write_text(header + 400 * "".join(rest), encoding="utf-8")
    done = run(long, "--", sys.executable, "-c", "print('\\xff')")
    assert done.returncode == 1 and "line 2, call 0" in done.stdout and done.stderr == ""
    command = [sys.executable, KIT / "check.py", "--give", long]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as given:
        assert given.stdout is not None and given.stderr is not None
        given.stdout.readline()
        given.stdout.close()
        assert given.stderr.read() == b""


def test_the_checker_needs_the_standard_library_alone() -> None:
    tree = ast.parse((KIT / "check.py").read_text(encoding="utf-8"))
    names = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module] if isinstance(node, ast.ImportFrom) else [x.name for x in node.names]
        )
    }
    assert {str(name).partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_the_format_names_everything_that_the_recordings_have() -> None:
    words = set(re.findall(r"`([\w.]+)`", (KIT / "FORMAT.md").read_text(encoding="utf-8")))
    every = [*V0, *V1, *V1_GROUPS, *V1_OBSERVED, *V1_OFFLOAD]
    for path in [*every[:: 1 if LONG else 3], *TRAPS]:
        _, *lines = check.recorded(path)
        for line in lines:
            inside = [line.get(key) for key in ("args", "ret", "state")]
            names = set(line) | {n for each in inside if isinstance(each, dict) for n in each}
            assert {line["op"], *names} <= words, path
    headers = {header_of(path)["format"] for path in every}
    text = (KIT / "FORMAT.md").read_text(encoding="utf-8")
    assert len(headers) == 4 and all(f"`{name}`" in text for name in headers)


def test_the_readme_begins_with_a_command_and_is_short() -> None:
    lines = (KIT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 60 and lines[3].startswith("python3 check.py")


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_kit_lays_out_a_folder_that_needs_nothing_of_pagesim(tmp_path: Path) -> None:
    folder = tmp_path / "kit"
    command = ["make", "--no-print-directory", "-C", KIT.parent, "kit", f"KIT={folder}"]
    subprocess.run(command, check=True, capture_output=True)
    recordings = sorted((folder / "recordings").rglob("*.jsonl.gz"))
    assert len(recordings) == len([*V0, *V1, *V1_GROUPS, *V1_OBSERVED, *V1_OFFLOAD]) == 86
    assert len({header_of(path)["kind"] for path in recordings}) == 10
    for page in folder.rglob("*.md"):
        links = re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8"))
        assert [link for link in links if not (page.parent / link).exists()] == []
    done = subprocess.run(
        [sys.executable, "check.py", "--give", recordings[0]],
        cwd=folder,
        capture_output=True,
        check=True,
    )
    assert done.stdout.count(b"\n") == len(check.recorded(recordings[0]))
