"""How much faster do pages make a language model, and compared with what?

    python -m pagesim.kernels.bench --llm                     on a CPU about a minute
    python -m pagesim.kernels.bench --llm --size 0.08M,3M,19M the three models measured before
    python -m pagesim.kernels.bench --llm --check             exit code 1 below `BOUNDS`

Two ratios are often mixed up:

* paged ÷ naive is what serving gains: continuous batching on pages, against requests answered one
  by one, each with a contiguous cache;
* paged ÷ copy is what a kernel gains: both rows serve the same batches from the same pages, and one
  of them copies these together with a loop in Python before it attends. The 4.0x (in total) and
  6.0x (decode alone) of rosellm, a small engine that this benchmark repeats, are this ratio, on a
  GPU.

The rules that make the figures meaningful: every row must give the same tokens as the naive one;
rows run in turn, so that all meet the same neighbours; a ratio is the median of the rounds' ratios;
on a CPU the time is that of one thread of this process, after a warm-up.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from pagesim.kernels.bench import llm_report
from pagesim.kernels.bench.llm_graph import Graphed
from pagesim.kernels.bench.llm_meter import Clock, Meter
from pagesim.kernels.bench.llm_rows import Copied, Row, gathering, naive, no_cache, pages, static
from pagesim.kernels.bench.llm_serving import Limits
from pagesim.kernels.bench.llm_work import (
    SIZES,
    Work,
    one_prompt,
    poisson,
    random_model,
    requests,
    shortened,
)
from pagesim.kernels.runtime import mode
from pagesim.kernels.tiny_llm.model import Model
from pagesim.kernels.tiny_llm.paged_attend import Fused, Torch, Triton

NO_CACHE, STATIC = "no cache (4 requests)", "static batches of 16, padded"
NAIVE, COPY = "naive: one by one, contiguous", "pages, copied block by block"
PAGED = "pages, gathered + SDPA"


class WrongAnswerError(Exception):
    """A row did not answer what the naive row answers."""


def main(arguments: Sequence[str]) -> int:
    """Measure and print; 0 = done, 1 = a row answers wrongly, or is too slow for --check."""
    parser = argparse.ArgumentParser(
        prog="python -m pagesim.kernels.bench --llm", description=__doc__
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    gpu = mode.decide().mode == "compiled"
    sizes = "110M" if gpu else "3M"
    parser.add_argument("--size", default=sizes, help=f"of {', '.join(SIZES)}; default {sizes}")
    dtypes = ("float32", "float16", "bfloat16")
    parser.add_argument("--dtype", choices=dtypes, default="bfloat16" if gpu else "float32")
    parser.add_argument("--requests", type=int, default=32, help="how many; 32 run at once")
    parser.add_argument("--rounds", type=int, default=3, help="how often each row runs")
    parser.add_argument("--check", action="store_true", help="fail below the bounds")
    parser.add_argument("--out", type=Path, help="write the figures to this JSON file")
    parser.add_argument("--dry-run", action="store_true", help="tiny; measures nothing")
    options = parser.parse_args(arguments)
    names = options.size.split(",")
    if unknown := [name for name in names if name not in SIZES]:
        parser.error(f"--size {unknown[0]}: the sizes are {', '.join(SIZES)}")
    for name in ("requests", "rounds"):
        if (number := getattr(options, name)) < 1:
            parser.error(f"--{name} {number}: it must be at least 1")
    if options.out and options.out.is_dir():
        parser.error(f"--out {options.out}: it is a folder: name a file")
    torch.set_num_threads(1)
    reports = []
    for name in ["0.08M"] if options.dry_run else names:
        model = random_model(name, getattr(torch, options.dtype), mode.device())
        try:
            with torch.inference_mode():
                sizes = options.rounds, options.dry_run, options.requests
                reports.append(measure(name, model, *sizes))
        except WrongAnswerError as error:
            print(f"pagesim.kernels.bench: {error}")
            return 1
        print(*llm_report.lines(reports[-1]), sep="\n")
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(reports, indent=1) + "\n")
    missed = [line for report in reports for line in llm_report.missed(report)]
    if options.check:
        print(*(missed or ["check: passed"]), sep="\n")
    return int(options.check and bool(missed))


def rows(graphs: bool, kernels: bool) -> dict[str, Row]:
    """The rows of a CPU, and those of a GPU if ``kernels`` are timed; with ``graphs``, of both."""
    found = {NAIVE: naive, STATIC: static(16), COPY: pages(Copied), PAGED: pages(Torch)}
    if kernels:
        found |= {"pages, v2 kernel": pages(Triton), "pages, fused kernel": pages(Fused)}
    if graphs:
        for name, backend in ((PAGED, Torch), ("pages, v2 kernel", Triton)):
            found[f"{name}, CUDA graph"] = pages(backend, engine=Graphed)
        found["pages, fused kernel, CUDA graph"] = pages(Fused, engine=Graphed)
    return found


def measure(
    name: str, model: Model, rounds: int, dry_run: bool = False, number: int = 32
) -> dict[str, Any]:
    """All rows of one model, as plain data."""
    gpu = mode.decide().mode == "compiled"
    work = requests(number, model.config.vocab_size)
    few = shortened(work[:4], 24, 3)
    work, rounds = (few, 1) if dry_run else (work, rounds)
    table = rows(graphs=gpu or dry_run, kernels=gpu or dry_run)
    for row in table.values():
        run(model, row, work if gpu else few)  # a GPU's kernels are compiled for each shape
    meters: dict[str, list[Meter]] = {each: [] for each in table}
    for _ in range(rounds):
        for each, row in table.items():
            meters[each].append(run(model, row, work))
    right = meters[NAIVE][0].answers
    equal = {each: sum(map(list.__eq__, of[0].answers, right)) for each, of in meters.items()}
    if model.head.dtype == torch.float32:
        for each, number in equal.items():
            if number < len(work):
                raise WrongAnswerError(f"{each}: {len(work) - number} of {len(work)} are wrong")
    alone = run(model, no_cache, work[:4])
    if alone.answers != right[:4] and model.head.dtype == torch.float32:
        raise WrongAnswerError(f"{NO_CACHE}: the answers are others")
    watched = run(model, gathering, work)
    report = {
        "size": name,
        "dry_run": dry_run,
        **llm_report.machine(model),
        "requests": [len(work), sum(len(w.prompt) for w in work), sum(w.max_tokens for w in work)],
        "rows": [
            llm_report.row(NO_CACHE, [alone], 4, model),
            *(llm_report.row(each, of, equal[each], model) for each, of in meters.items()),
        ],
        "ratios": {
            f"{one} ÷ {other}": llm_report.ratios(meters[one], meters[other])
            for one in table
            if one not in (NAIVE, STATIC, COPY)
            for other in (NAIVE, COPY)
        },
        "gather": watched.gather / watched.decoded[0],
        "adjacent": meters[PAGED][0].adjacent,
        "online": online(model, work, meters[NAIVE][0].total),
        "one_prompt": shared(model, rounds, dry_run),
    }
    return report


def run(model: Model, row: Row, work: Sequence[Work], arrivals: Sequence[float] = ()) -> Meter:
    """A row once."""
    meter = Meter(len(work), Clock(model.head.device.type), arrivals)
    row(model, work, meter)
    return meter


def online(model: Model, work: Sequence[Work], capacity: float) -> list[dict[str, Any]]:
    """Poisson arrivals at 0.8, 2 and 4 times what the naive row can serve, 16 at once."""
    answer = sum(one.max_tokens for one in work) / len(work)
    found = []
    for load in (0.8, 2.0, 4.0):
        arrivals = poisson(len(work), load * capacity / answer)
        meter = run(model, pages(Torch, Limits(max_num_seqs=16)), work, arrivals)
        found.append({"load": load, "ttft_ms": meter.ttft_ms, "tpot_ms": meter.tpot_ms})
    return found


def shared(model: Model, rounds: int, dry_run: bool) -> dict[str, float]:
    """rosellm's workload: one prompt for all, 16 tokens each, 8 at once; tokens a second."""
    work = one_prompt(vocabulary=model.config.vocab_size)
    work = shortened(work[:3], 24, 3) if dry_run else work
    limits = {cached: Limits(8, prefix_caching=cached) for cached in (False, True)}
    table = {
        NAIVE: naive,
        COPY: pages(Copied, limits[False]),
        PAGED: pages(Torch, limits[False]),
        f"{PAGED}, prefix cache": pages(Torch, limits[True]),
    }
    found: dict[str, list[float]] = {each: [] for each in table}
    for _ in range(rounds):
        for each, row in table.items():
            found[each].append(run(model, row, work).total)
    return {each: llm_report.median(of) for each, of in found.items()}
