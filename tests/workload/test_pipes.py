"""What can be read only once is read once: pipes, /dev/stdin, what a shell puts in <( )."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pagesim import workload
from tests.workload.test_files import rows

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes as POSIX has them")

FILES = {
    "csv": "arrival_s,prompt_tokens,output_tokens\n0,5,6\n1.5,7,8\n",
    "azure": "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    "2023-11-16 18:15:46,5,6\n2023-11-16 18:15:47.5,7,8\n",
    "mooncake": '{"timestamp": 0, "input_length": 5, "output_length": 6, "hash_ids": [1]}\n'
    '{"timestamp": 1500, "input_length": 7, "output_length": 8, "hash_ids": [2]}\n',
    "bailian": '{"chat_id": 0, "parent_chat_id": -1, "timestamp": 0, "input_length": 5, '
    '"output_length": 6, "type": "text", "turn": 1, "hash_ids": [1]}\n'
    '{"chat_id": 1, "parent_chat_id": -1, "timestamp": 1.5, "input_length": 7, '
    '"output_length": 8, "type": "text", "turn": 1, "hash_ids": [2]}\n',
}


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("form", FILES)
def test_a_pipe_is_read_as_a_file_is(form: str, named: bool, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    feeder = threading.Thread(target=lambda: pipe.write_text(FILES[form]), daemon=True)
    feeder.start()
    read = workload.load(pipe, form if named else None)
    feeder.join(10)
    assert rows(read) == [(0.0, 5, 6), (1.5, 7, 8)]


def test_the_command_reads_its_standard_input() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pagesim", "simulate", "/dev/stdin", "--slots", "160"],
        input=FILES["csv"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 of 2 requests served" in done.stdout
