"""The language model's benchmark: its rows answer alike, and its clock counts work alone."""

import json
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import torch

from pagesim.generation import bench
from pagesim.generation.bench import Copied, Meter, Work, naive, on_pages, requests, run
from pagesim.kernels.tiny_llm.model import Model
from tests.kernels.children import block_import, python


@cache
def tiny() -> Model:
    return bench.random_model("0.08M", torch.float32, "cpu")


def work(number: int = 6) -> list[Work]:
    """Prompts of 5 to 29 tokens; answers of 3 to 11."""
    found = requests(number, 66, prompt=(5, 30))
    return [Work(one.prompt, 3 + i * 7 % 9) for i, one in enumerate(found)]


@pytest.mark.parametrize("backend", [Copied, "torch", "numpy"])
def test_rows_answer_as_naive_does(backend: Any) -> None:
    right = run(tiny(), naive, work())
    assert [len(answer) for answer in right.answers] == [one.max_tokens for one in work()]
    found = run(tiny(), partial(on_pages, backend), work())
    assert found.answers == right.answers
    assert found.tokens["total"] == right.tokens["total"] > found.tokens["decode"] > 0
    assert right.tokens["decode"] == right.tokens["total"] - len(work())


def test_what_was_left_in_unused_slots_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    from pagesim import kernels

    whole = kernels.kv_pool

    def poisoned(*arguments: Any, **options: Any) -> Any:
        pool = whole(*arguments, **options)
        for array in (*pool[0], *pool[1]):
            array.fill_(float("nan"))
        return pool

    monkeypatch.setattr(kernels, "kv_pool", poisoned)
    for backend in (Copied, "torch"):
        found = run(tiny(), partial(on_pages, backend), work())
        assert found.answers == run(tiny(), naive, work()).answers


def test_a_row_that_answers_wrongly_ends_the_benchmark(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def wrong(backend: str, model: Model, given: Any, meter: Meter) -> None:
        on_pages(backend, model, given, meter)
        meter.answers[1][0] += 1

    monkeypatch.setattr(bench, "requests", lambda number, _: work(number))
    given = ["--size", "0.08M", "--requests", "4", "--rounds", "1"]
    assert bench.main(given) == 0
    monkeypatch.setattr(bench, "on_pages", wrong)
    assert bench.main(given) == 1
    assert "copy: pages, block by block: 1 of 4 are wrong" in capsys.readouterr().out


def test_a_run_reports_both_ratios(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(bench, "requests", lambda number, _: work(number))
    monkeypatch.setattr(bench, "BOUNDS", {"total": 1e9, "decode": 0.0})
    out = tmp_path / "new" / "llm.json"
    given = ["--size", "0.08M", "--requests", "6", "--rounds", "3", "--check", "--out", str(out)]
    assert bench.main(given) == 1
    (report,) = json.loads(out.read_text()).values()
    assert list(report) == list(bench.measure(tiny(), work(), 1, "torch"))
    assert [row["equal"] for row in report.values()] == [6] * 3
    assert all(row["total"] > 0 and row["decode"] > 0 for row in report.values())
    *_, pages = report.values()
    assert pages["pages_by"] == {"total": 1.0, "decode": 1.0}
    text = capsys.readouterr().out
    assert all(name in text for name in report)
    (missed,) = [line for line in text.splitlines() if line.startswith("check: ")]
    assert "total" in missed


def test_times_of_tokens_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([105.0, 105.5, 105.75, 106.25, 106.5])
    monkeypatch.setattr(Meter, "now", lambda _: next(times))
    meter = Meter([[], []], gpu=False)
    meter.start()
    for tokens, decode in (({0: 7}, False), ({0: 8}, True), ({1: 9}, False), ({0: 1, 1: 2}, True)):
        meter.step(tokens, decode)
    assert meter.answers == [[7, 8, 1], [9, 2]]
    assert meter.speed("total") == 5 / 1.5
    assert meter.speed("decode") == 3 / 0.5


def test_the_work_is_the_same_each_time() -> None:
    given = requests(32, 512)
    assert len(given) == 32
    assert all(64 <= len(one.prompt) < 256 and 8 <= one.max_tokens <= 160 for one in given)
    assert requests(32, 512) == given


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--requests", "0"), "--requests 0: it must be at least 1"),
        (("--rounds", "-1"), "--rounds -1: it must be at least 1"),
        (("--out", "."), "--out .: it is a folder: name a file"),
        (("--size", "3M,7B"), "--size 7B: the sizes are 0.08M, 3M"),
    ],
)
def test_bad_options_are_named_before_any_work(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        bench.main(arguments)
    assert message in capsys.readouterr().err


def test_without_torch_the_extra_is_named(tmp_path: Path) -> None:
    done = python("-m", "pagesim.generation.bench", path=block_import(tmp_path, "torch"))
    assert done.returncode == 1
    assert 'pip install "pagesim[kernels]"' in done.stderr.splitlines()[-1]
