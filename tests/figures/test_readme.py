"""The Python of docs/ is run as it stands, on a trace and a run of a reader's own."""

import re
from pathlib import Path
from typing import Any

import pytest

import pagesim
from pagesim.workload import Request

pytestmark = pytest.mark.ch01

DOCS = Path(__file__).parents[2] / "docs"


def blocks_of(page: str) -> list[str]:
    text = (DOCS / f"{page}.md").read_text("utf-8")
    return re.findall(r"```py\n(.*?)```", text, flags=re.DOTALL)


def test_two_lines_draw_a_trace_and_three_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    *simulating, sweeping, own, taken, raced = blocks_of("simulating")
    assert len([line for line in own.splitlines() if line]) == 2
    assert "memory_waste" in own and "occupancy_timeline" in taken
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i / 4},{40 + 13 * i % 90},{20 + 7 * i % 60}\n" for i in range(60))
    Path("trace.csv").write_text(f"arrival_s,prompt_tokens,output_tokens\n{rows}")
    requests = [Request(str(i), 0.0, 20, 9) for i in range(4)]
    run = pagesim.simulate(requests, pool=256, record=True, progress=False).timeline
    run.save("run.jsonl.gz")
    served: dict[str, Any] = {}
    run_of: dict[str, Any] = {}
    assert "run.compare(" in "".join(simulating) and "pagesim.sweep(" in sweeping
    for block, space in (*((block, served) for block in simulating), (own, {}), (taken, run_of)):
        exec(compile(block, "docs", "exec"), space)
    exec(compile(raced, "docs", "exec"), run_of)
    assert 'class="pagesim-pair"' in Path("race.html").read_text("utf-8")
    text = " ".join((DOCS / "simulating.md").read_text("utf-8").split())
    mean = served["run"].waste.mean()
    assert f"{mean['token']:.0f} % of the slots hold a token and {mean['free']:.0f} %" in text
    assert f"only {served['before'].waste.mean()['token']:.0f} % of the slots hold a token" in text
    assert len(Path("requests.csv").read_text("utf-8").splitlines()) == 501
    assert Path("waste.pdf").read_bytes().startswith(b"%PDF")
    assert Path("step-12.png").read_bytes().startswith(b"\x89PNG")


def test_the_language_model_answers(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    for block in blocks_of("generation"):
        exec(compile(block, "docs", "exec"), {})
        assert "kc." in capsys.readouterr().out
        assert "kc." in block
