"""Command lines that cannot be carried out: exit code 2, and one line that says why.

They stand in tests/data/refused.txt, each with words of what is said. TRACE is a file of requests,
and BAD one with a mistake.
"""

import shlex
from pathlib import Path

import pytest

from tests.commands.runs import Shell, requests

DATA = Path(__file__).parents[1] / "data"
CHAPTERS = {"simulate": "ch01", "waste": "ch01", "size": "ch08"}
"""What relies on a command; on the others, chapter 0."""


def marked(line: str) -> pytest.MarkDecorator:
    return getattr(pytest.mark, CHAPTERS.get(line.split(maxsplit=1)[0], "ch00"))


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(line, marks=marked(line))
        for line in (DATA / "refused.txt").read_text("utf-8").splitlines()
    ],
)
def test_why_is_said_in_one_line(
    line: str, shell: Shell, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(DATA)
    command, _, words = line.partition(" =>")
    files = {"TRACE": trace, "BAD": requests(tmp_path / "bad.csv", "0,-5,1")}
    error = shell.refusal(*(files.get(word, word) for word in shlex.split(command)))
    assert words[1:] in error
