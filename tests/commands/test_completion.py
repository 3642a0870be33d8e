"""What bash proposes after <Tab>, once the line of docs/cli.md is in ~/.bashrc."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pagesim.commands import cli

pytestmark = pytest.mark.ch00

ROOT = Path(__file__).parents[2]
ASK = "{line}\nCOMP_WORDS=(pagesim {words}) COMP_CWORD={at}\n_pagesim_completion pagesim\n"


@pytest.mark.skipif(os.name != "posix" or not shutil.which("bash"), reason="bash is not here")
@pytest.mark.parametrize(
    ("words", "proposed"),
    [("", sorted(cli.COMMANDS)), ("wha", ["whatif"]), ("lab --no", ["--no-open"])],
)
def test_bash_completes(words: str, proposed: list[str], tmp_path: Path) -> None:
    (line,) = re.findall(r"^eval .*bash_source.*$", (ROOT / "docs/cli.md").read_text(), re.M)
    program = tmp_path / "pagesim"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pagesim "$@"\n')
    program.chmod(0o755)
    script = ASK.format(line=line, words=words or "''", at=max(1, len(words.split())))
    done = subprocess.run(
        ["bash", "-c", script + 'printf "%s\\n" "${COMPREPLY[@]}"'],
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (sorted(done.stdout.split()), done.stderr) == (proposed, "")
