"""The language model's benchmark: its rows answer alike, and its clock counts work alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from pagesim.kernels.bench import __main__ as bench
from pagesim.kernels.bench import llm, llm_report
from pagesim.kernels.bench.llm_graph import Graphed
from pagesim.kernels.bench.llm_meter import Clock, Meter
from pagesim.kernels.bench.llm_rows import Copied, Row, Timed, naive, no_cache, pages, static
from pagesim.kernels.bench.llm_serving import Limits
from pagesim.kernels.bench.llm_work import SIZES, Work, one_prompt, poisson, random_model, requests
from pagesim.kernels.tiny_llm.model import Model
from pagesim.kernels.tiny_llm.paged_attend import Fused, Torch, Triton

pytestmark = pytest.mark.ch12


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.inference_mode():
        yield
    torch.set_num_threads(before)


@cache
def tiny() -> Model:
    return random_model("0.08M", torch.float32, "cpu")


def work(number: int = 6) -> list[Work]:
    """Prompts of 5 to 29 tokens; answers of 3 to 11."""
    found = requests(number, 66, prompt=(5, 30))
    return [Work(one.prompt, 3 + i * 7 % 9) for i, one in enumerate(found)]


def answers(row: Row, given: list[Work] | None = None) -> list[list[int]]:
    return llm.run(tiny(), row, given or work()).answers


FEW = Limits(max_num_seqs=4, max_num_batched_tokens=64, max_model_len=64, block_size=4)


@pytest.mark.parametrize(
    "row",
    [no_cache, static(4), pages(Copied, FEW), pages(Torch, FEW), pages(Torch, FEW, Graphed)],
    ids=["no cache", "static", "copied", "gathered", "gathered as a graph"],
)
def test_rows_answer_as_naive_does(row: Row) -> None:
    right = answers(naive)
    assert [len(answer) for answer in right] == [one.max_tokens for one in work()]
    assert answers(row) == right


@pytest.mark.parametrize("engine", [Timed, Graphed])
def test_what_was_left_in_unused_slots_does_not_matter(engine: type[Timed]) -> None:
    class Poisoned(engine):  # type: ignore[misc, valid-type]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            for array in (*self.cache.gpu.keys, *self.cache.gpu.values):
                array.fill_(float("nan"))

    assert answers(pages(Torch, FEW, Poisoned)) == answers(naive)


@pytest.mark.parametrize("backend", [Triton, Fused])
def test_a_recorded_step_of_the_kernels_answers_as_naive_does(backend: Any) -> None:
    few = [Work(one.prompt[:4], 2) for one in work(2)]
    limits = Limits(max_num_seqs=2, max_num_batched_tokens=64, max_model_len=8, block_size=4)
    assert answers(pages(backend, limits, Graphed), few) == answers(naive, few)


def test_a_row_that_answers_wrongly_ends_the_benchmark(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def wrong(model: Model, given: Any, meter: Meter) -> None:
        naive(model, given, meter)
        meter.answers[1][0] += 1

    monkeypatch.setattr(llm, "rows", lambda **_: {llm.NAIVE: naive, "wrong": wrong})
    assert bench.main(["--llm", "--dry-run"]) == 1
    assert "wrong: 1 of 4 are wrong" in capsys.readouterr().out


def test_a_dry_run_names_both_ratios(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    whole = llm.rows
    monkeypatch.setattr(llm, "rows", lambda **_: whole(graphs=False, kernels=False))
    out = tmp_path / "new" / "llm.json"
    assert bench.main(["--llm", "--dry-run", "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("DRY RUN")
    for other in (llm.NAIVE, llm.COPY):
        assert f"{llm.PAGED} ÷ {other}, total: " in text
        assert f"{llm.PAGED} ÷ {other}, decode: " in text
    assert "are paged ÷ copied, on a GPU" in text
    (report,) = json.loads(out.read_text())
    assert [row["equal"] for row in report["rows"]] == [4] * 5
    assert all(row["total"] > 0 for row in report["rows"])
    assert report["parameters"] < SIZES["3M"][1] * 1000


def test_what_check_asks() -> None:
    def report(total: float, decode: float) -> dict[str, Any]:
        return {"ratios": {"a ÷ b": {"total": [total, 0, 9], "decode": [decode, 0, 9]}}}

    assert llm_report.missed(report(1.5, 2.5)) == []
    (line,) = llm_report.missed(report(1.49, 2.5))
    assert line == "check: a ÷ b, total: 1.49x is less than 1.5x"
    assert len(llm_report.missed(report(1.0, 2.49))) == 2


def test_an_unknown_size_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        bench.main(["--llm", "--size", "3M,7B"])
    assert "--size 7B: the sizes are 0.08M, 3M" in capsys.readouterr().err


class Hands(Clock):
    """A clock that a test sets."""

    time = 100.0

    def _read(self) -> float:
        return self.time


def test_times_of_tokens_by_hand() -> None:
    clock = Hands()
    meter = Meter(2, clock, arrivals=[0.0, 1.0])
    clock.time += 5  # preparing
    meter.begin()
    assert meter.has_arrived(0) and not meter.has_arrived(1)
    for seconds, tokens, decode in ((0.5, {0: 7}, False), (0.25, {0: 8}, True)):
        clock.time += seconds
        meter.step(tokens, decode)
    meter.skip_to(1)
    assert meter.has_arrived(1), "the clock was set forward"
    for seconds, tokens, decode in ((0.5, {1: 9}, False), (0.25, {0: 1, 1: 2}, True)):
        clock.time += seconds
        meter.step(tokens, decode)
    assert meter.answers == [[7, 8, 1], [9, 2]]
    assert meter.seconds == 1.5, "idle time was counted"
    assert meter.total == 5 / 1.5
    assert meter.decode == 3 / 0.5
    assert meter.ttft_ms == (500, 500)
    later = [(1.75 - 0.5) / 2, 0.25]
    assert meter.tpot_ms[0] == pytest.approx(1e3 * sum(later) / 2)


def test_an_idle_engine_is_not_waited_for() -> None:
    meter = llm.run(tiny(), pages(Torch, FEW), work(3), arrivals=[0.0, 1000.0, 5000.0])
    assert meter.answers == answers(naive, work(3))
    assert meter.clock.now() > 5000
    assert meter.seconds < 60
    assert max(meter.ttft_ms) < 60e3


def test_the_work_is_that_of_the_measurements_before() -> None:
    given = requests()
    assert len(given) == 32
    assert all(64 <= len(one.prompt) < 256 and 8 <= one.max_tokens <= 160 for one in given)
    assert requests() == given
    assert len({tuple(one.prompt) for one in one_prompt()}) == 1
    times = poisson(4000, 20.0)
    assert times == sorted(times)
    assert times[-1] == pytest.approx(4000 / 20.0, rel=0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--requests", "0"), "--requests 0: it must be at least 1"),
        (("--rounds", "-1"), "--rounds -1: it must be at least 1"),
        (("--out", "."), "--out .: it is a folder: name a file"),
        (("--size", "3m"), "--size 3m: the sizes are 0.08M"),
    ],
)
def test_bad_options_are_named_before_any_work(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        llm.main(["--dry-run", *arguments])
    assert left.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", ["kernels.bench --llm", "kernels.tiny_llm.train --out x"])
def test_without_torch_the_extra_is_named(command: str, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('not here')")
    module, *options = command.split()
    told = subprocess.run(
        [sys.executable, "-m", module, *options],
        env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{Path(__file__).parents[3]}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert told.returncode == 1
    last = (told.stdout or told.stderr).splitlines()[-1]
    assert "torch" in last and 'pip install "pagesim[kernels]"' in last
    assert not (tmp_path / "x").exists()
