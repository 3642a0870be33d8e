"""`pagesim whatif`: its answer is that of `what_if`, and its exit code says whether it runs."""

from pathlib import Path

import pytest

import pagesim
from tests.commands.runs import Shell


@pytest.fixture
def whatif(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys, "whatif")


STATE = ["--blocks", "14", "--block-size", "4", "--running", "a=5 blocks", "--running", "c=10"]


def test_the_answer_is_that_of_the_function(whatif: Shell) -> None:
    value = whatif.answer(*STATE, "--waiting", "d=30,priority=2", "--watermark", "0.1", code=1)
    same = pagesim.what_if(
        14,
        block_size=4,
        running={"a": "5 blocks", "c": 10},
        waiting={"d": "30,priority=2"},
        watermark=0.1,
    )
    assert value == same.summary() and value["checks"][-1]["watermark"] == 1
    assert whatif.answer(*STATE, "--waiting", "d=5")["verdict"] == "is admitted"


@pytest.mark.parametrize("suffix", ["svg", "html"])
def test_a_picture_or_a_page_is_written(suffix: str, whatif: Shell, tmp_path: Path) -> None:
    out = tmp_path / f"it.{suffix}"
    assert str(out) in whatif(*STATE, "--waiting", "d=5", "-o", out)
    assert "d is admitted" in out.read_text("utf-8")
