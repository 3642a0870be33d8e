"""`pagesim waste`: shares as JSON and as pictures, of a file and of the paper's preset."""

import re
from pathlib import Path

import pytest

from tests.commands.runs import KEYS, SMALL, Shell, run

pytestmark = pytest.mark.ch01


@pytest.mark.parametrize("policy", ["max", "pow2", "oracle", "static", "token", "paged"])
def test_waste_of_a_file(shell: Shell, trace: Path, policy: str) -> None:
    value = shell.answer("waste", trace, "--policy", policy, *SMALL)
    assert list(value) == ["policies", "source"]
    assert list(value["policies"]) == [policy]
    row = value["policies"][policy]
    assert list(row) == KEYS
    assert sum(row[key] for key in KEYS[:5]) == pytest.approx(100, abs=1e-9)


def test_waste_of_the_papers_preset(shell: Shell, small_paper: None) -> None:
    value = shell.answer("waste", "--preset", "paper-figure-2")
    assert list(value["policies"]) == ["max", "pow2", "oracle", "paged"]
    assert "SOSP '23" in value["source"]
    for row in value["policies"].values():
        assert list(row) == KEYS
        assert sum(row[key] for key in KEYS[:5]) == pytest.approx(100, abs=1e-9)
    assert "calibrated" in shell("waste", "--preset", "paper-figure-2")


def test_requests_wait_from_the_start_unless_they_arrive_in_time(shell: Shell, trace: Path) -> None:
    saturated = shell.answer("waste", trace, "--policy", "oracle", *SMALL)
    in_time = shell.answer("waste", trace, "--policy", "oracle", "--in-time", *SMALL)
    assert saturated["policies"]["oracle"]["free"] == 0 < in_time["policies"]["oracle"]["free"]


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
def test_waste_draws_what_it_says(shell: Shell, trace: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"waste{suffix}"
    value = shell.answer("waste", trace, "--policy", "max", *SMALL, "--out", out)
    assert value["out"] == str(out)
    if suffix != ".svg":
        assert out.read_bytes().startswith({".png": b"\x89PNG", ".pdf": b"%PDF"}[suffix])
    else:
        share = value["policies"]["max"]["token"]
        assert "Memory waste, trace.csv" in out.read_text()
        assert f"{share:.1f}" in out.read_text()


def test_the_calibration_is_in_the_picture_of_the_preset(small_paper: None, tmp_path: Path) -> None:
    out = tmp_path / "waste.svg"
    assert run("waste", "--preset", "paper-figure-2", "--out", out) == 0
    words = " ".join(re.sub("<[^>]*>", " ", out.read_text()).split())
    assert "calibrated" in words
    assert "96.3" in words  # the published share of vLLM
