"""`pagesim offload`: the crossover of a model on a link, its exit code and its picture."""

from pathlib import Path

import pytest

from pagesim.studies.crossover import LoadOrCompute
from tests.commands.runs import Shell


@pytest.fixture
def offload(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys, "offload")


def test_the_answer_is_that_of_the_study(offload: Shell) -> None:
    one = LoadOrCompute.of("llama-3.1-70b", "h200", "50GB", 4, share=0.5, wait_seconds=0.03)
    arguments = ["--gpu", "h200", "--link", "50GB", "--tp", "4", "--share", "0.5"]
    value = offload.answer("--model", "llama-3.1-70b", *arguments, "--wait-ms", "30")
    assert value["crossover"] == one.crossover()
    assert value["rows"][1] == {
        "tokens": 1_024,
        "load_ms": 1e3 * one.load(1_024),
        "compute_ms": 1e3 * one.compute(1_024),
    }
    assert f"{one.crossover():,.0f} tokens" in offload(
        "--model", "llama-3.1-70b", *arguments, "--wait-ms", "30"
    )


def test_it_is_a_no_beyond_the_longest_sequence(offload: Shell) -> None:
    value = offload.answer("--model", "llama-2-7b", "--link", "pcie3", code=1)
    assert value["crossover"] > 4_096 == value["rows"][-1]["tokens"]


def test_a_picture_is_written(offload: Shell, tmp_path: Path) -> None:
    out = tmp_path / "it.svg"
    assert str(out) in offload("--model", "llama-3.1-8b", "-o", out)
    assert "llama-3.1-8b" in out.read_text("utf-8")
