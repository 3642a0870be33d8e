"""The map that figures draw: right, plain, and the committed one is the one that is made."""

import json
from pathlib import Path

import pytest

from pagesim.kernels.simt import Config, thread_map
from pagesim.kernels.simt.__main__ import main
from tests.kernels.children import ROOT

COMMITTED = ROOT / "figures" / "data" / "thread_map.json"


def test_the_worked_case() -> None:
    made = thread_map(Config(128, 16), num_blocks=6)
    assert made["warp_of_block"] == [0, 1, 2, 3, 0, 1]
    assert made["offset_of_vec"] == [0, 1] * 16
    assert len(made["k"]) == 16
    assert made["k"][2]["vec"] == [4, 5] * 16
    assert made["k"][2]["token"] == [lane // 2 for lane in range(32)]
    assert [load["row"][0] for load in made["v"]] == [0, 16, 32, 48, 64, 80, 96, 112]
    assert made["v"][1]["row"][30:] == [31, 31]
    assert made["v"][1]["token"] == [0, 8] * 16


def test_what_the_first_load_touches() -> None:
    touched = thread_map(Config(128, 16))["footprints"]
    assert touched["k"] == [{"line": line, "bytes": [32] * 4} for line in (0, 1)]
    assert touched["v"] == [{"line": line, "bytes": [32] * 4} for line in range(4)]
    # Tokens are 256 bytes apart: each has a line of its own, of which 16 bytes are read.
    assert touched["k_token_major"] == [
        {"line": 2 * token, "bytes": [16, 0, 0, 0]} for token in range(16)
    ]


def test_blocks_of_more_than_32_tokens_are_met_in_steps() -> None:
    made = thread_map(Config(64, 64, 64))
    assert len(made["k"]) == 2 * 8
    assert made["k"][0]["token"] == list(range(32))
    assert made["k"][8]["token"] == list(range(32, 64))


def test_rows_past_the_head_belong_to_nobody() -> None:
    made = thread_map(Config(80, 8, element_bytes=2))
    assert made["v"][2]["row"] == [*range(64, 80), *[None] * 16]


def test_the_map_is_plain_data() -> None:
    made = thread_map(Config(80, 8))
    assert json.loads(json.dumps(made)) == made


def test_the_committed_map_is_the_one_that_is_made(tmp_path: Path) -> None:
    target = tmp_path / "map.json"
    assert main(["--json", str(target)]) == 0
    assert target.read_text() == COMMITTED.read_text(), (
        "python -m pagesim.kernels.simt --json figures/data/thread_map.json"
    )


def test_the_command_explains(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--head-size", "64", "--block-size", "8"]) == 0
    assert capsys.readouterr().out.startswith("head_size 64, block_size 8, 128 threads")
    assert main(["--head-size", "100"]) == 2
    assert "head_size = 100: it must be a multiple of 8" in capsys.readouterr().err
