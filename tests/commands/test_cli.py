"""The command line: help, exit codes, one object on stdout, one line on stderr."""

import gzip
import json
from pathlib import Path

import click
import pytest

from pagesim import errors
from pagesim.commands import cli
from pagesim.commands import findings as doctor
from tests.commands.runs import Shell
from tests.timeline.scenes import told

pytestmark = pytest.mark.ch00


GOOD = Path(__file__).parents[1] / "data" / "block_table-edge-106.jsonl.gz"


@pytest.fixture
def differing(tmp_path: Path) -> Path:
    """A trace whose third operation expects another number of free blocks."""
    lines = gzip.decompress(GOOD.read_bytes()).decode().splitlines()
    operation = json.loads(lines[3])
    operation["state"] = {}
    changed = tmp_path / "differs.jsonl"
    changed.write_text("\n".join([*lines[:3], json.dumps(operation), *lines[4:]]))
    return changed


@pytest.mark.parametrize(
    "command",
    [
        [],
        *([name] for name in ("doctor", "replay", "play", "size", "simulate", "waste")),
        *([name] for name in ("fit", "lab", "offload")),
        *(["exercises", name] for name in ("list", "release", "solutions")),
    ],
    ids=" ".join,
)
def test_help_has_an_example(command: list[str], shell: Shell) -> None:
    shown = shell(*command, "--help")
    assert "Example:\n" in shown and f"    pagesim {' '.join(command)}".rstrip() in shown


@pytest.mark.parametrize("group", [cli.cli, cli.cli.commands["exercises"]], ids=["", "exercises"])
def test_the_list_of_commands_fits_a_terminal(group: click.Command) -> None:
    """click cuts a summary that is too long for its line with an ellipsis."""
    assert isinstance(group, click.Group)
    limit = 80 - 2 - 6 - max(map(len, group.commands))
    for name, command in group.commands.items():
        summary = command.get_short_help_str(limit)
        assert summary.endswith(".") and not summary.endswith("..."), (name, summary)


def test_every_command_has_json() -> None:
    groups = [command for command in cli.cli.commands.values() if isinstance(command, click.Group)]
    for name, command in [item for group in (cli.cli, *groups) for item in group.commands.items()]:
        if command not in groups:
            assert any("--json" in parameter.opts for parameter in command.params), name


def test_no_command_shows_the_help(shell: Shell) -> None:
    assert "Commands:" in shell()


@pytest.mark.parametrize("ok", [True, False])
def test_doctor_prints_findings_and_remedies(
    ok: bool, monkeypatch: pytest.MonkeyPatch, shell: Shell
) -> None:
    finding = doctor.Finding("torch", "ok" if ok else "missing", "a word", None if ok else "mend")
    report = doctor.Report((finding,), None)
    monkeypatch.setattr(doctor, "examine", lambda: report)

    lines = shell("doctor", code=0 if ok else 1).splitlines()
    assert lines[0].split(maxsplit=2) == [finding.status, "torch", "a word"]
    assert lines[1:-1] == ([] if ok else [f"{'':<20}-> mend"])
    assert lines[-1] == ("The course can run." if ok else "The course cannot run yet: torch.")
    assert shell.answer("doctor", code=0 if ok else 1) == report.as_dict()


def test_replay_of_equal_traces_is_0(shell: Shell) -> None:
    lines = shell("replay", GOOD, GOOD).splitlines()
    assert lines == [f"ok      {GOOD}: block_table, 192 of 192 operations compared"] * 2


def test_replay_of_a_difference_is_1_and_names_it(differing: Path, shell: Shell) -> None:
    assert "differs.jsonl:4 op#2" in shell("replay", GOOD, differing, code=1)
    value = shell.answer("replay", GOOD, differing, code=1)
    assert value["ok"] is False
    assert [file["mismatch"] is None for file in value["files"]] == [True, False]
    whole = {"path": str(GOOD), "kind": "block_table", "operations": 192, "total": 192}
    assert value["files"][0] == whole | {"mismatch": None, "ended": ""}


def test_replay_plays_the_longest_part_or_the_one_asked_for(tmp_path: Path, shell: Shell) -> None:
    out = tmp_path / "run.html"
    longest = shell.answer("replay", GOOD, "-o", out)["files"][0]
    assert (longest["part"], longest["parts"], longest["out"]) == (4, 22, str(out))
    assert "<title>block_table-edge-106.jsonl.gz, part" in out.read_text()
    assert "part 2 of 22" in shell("replay", GOOD, "-o", out, "--part", "2")
    assert "part 2 of 22" in out.read_text()


def bad_file(folder: Path, name: str) -> Path:
    if name != "absent.jsonl":
        (folder / name).write_bytes(b"no archive" if name.endswith(".gz") else b'{"a":\n')
    return folder / name


BAD = [("bad.jsonl", "bad.jsonl:1: not JSON"), ("absent.jsonl", "does not exist")]
BAD += [("bad.jsonl.gz", "bad.jsonl.gz:1: the compressed file is damaged")]


@pytest.mark.parametrize("command", ["replay", "play"])
@pytest.mark.parametrize(("name", "words"), BAD)
def test_a_bad_file_is_2_and_one_line(
    command: str, tmp_path: Path, name: str, words: str, shell: Shell
) -> None:
    out_file = tmp_path / "run.html"
    assert words in shell.refusal(command, "--json", bad_file(tmp_path, name), "-o", out_file)
    assert not out_file.exists()


def test_play_writes_one_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: Shell
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    file, page = tmp_path / "run.jsonl.gz", tmp_path / "run.html"
    told([1, 2, 3, 4, 5]).save(file)
    assert "1 steps" in shell("play", file, "-o", page, "--title", "A <short> run")
    assert "<title>A &lt;short&gt; run</title>" in page.read_text()
    assert opened == []
    assert shell.answer("play", file, "-o", page, "--open")["opened"] is True
    assert opened == [page.resolve().as_uri()]


@pytest.fixture
def long_run(tmp_path: Path) -> Path:
    """Ten steps in a file."""
    told(*[[1, 2, 3]] * 5, leave=True).save(tmp_path / "long.jsonl.gz")
    return tmp_path / "long.jsonl.gz"


@pytest.mark.parametrize(
    ("steps", "count"), [(None, 10), ("2:5", 3), ("7:", 3), (":4", 4), (":", 10), ("8:99", 2)]
)
def test_play_shows_the_steps_asked_for(
    long_run: Path, shell: Shell, steps: str | None, count: int
) -> None:
    page = long_run.with_suffix(".html")
    chosen = () if steps is None else ("--steps", steps)
    value = shell.answer("play", long_run, "-o", page, *chosen)
    assert (value["steps"], value["of"]) == (count, 10)
    assert f"A recorded run of {count} steps" in page.read_text()


def test_play_says_when_a_run_is_too_long_for_a_page(
    long_run: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pagesim.timeline.display.MAX_EVENTS", 6)
    page = long_run.with_suffix(".html")
    shown = shell("play", long_run, "-o", page)
    assert "the first 6 of 10 steps; --steps A:B selects others" in shown
    error = shell.refusal("play", long_run, "-o", page, "--steps", "2-4")
    assert "--steps must be A:B, like 20000:40000, not '2-4'" in error


def test_a_message_is_short_whatever_was_given(shell: Shell) -> None:
    err = shell.refusal("replay", "--" + "x" * 100_000)
    assert len(err) <= len("pagesim: \n") + errors.MOST
    whole = "x" * errors.MOST
    assert errors.shortened(whole) == whole and len(errors.shortened(whole + "x")) < errors.MOST
