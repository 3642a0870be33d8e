"""The gallery's pictures: what each one shows, and from which data.

The paper's figures are simulated anew every time; what takes a GPU, kernels or a trace that is not
in this repository is read from figures/data.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from figures import alt_text
from figures.batch_size import batch_size, batch_size_alt_text
from figures.block_layout import block_layout
from figures.block_size_sweep import block_size_sweep, block_size_sweep_alt_text
from figures.kv_size import kv_size, kv_size_alt_text
from figures.memory_waste import memory_waste, memory_waste_alt_text
from figures.occupancy_timeline import occupancy_timeline, occupancy_timeline_alt_text
from figures.prefix_hits import prefix_hits, prefix_hits_alt_text
from figures.roofline import roofline, roofline_alt_text
from figures.scenes import NAMES, forked_and_swapped
from figures.sharing import sharing, sharing_alt_text
from figures.snapshot import read_snapshot
from figures.thread_map import thread_map, thread_map_alt
from pagesim.simulation import PAPER_POOL, simulate
from pagesim.sizing import PRESETS
from pagesim.studies import paper

DATA = Path(__file__).parent / "data"
PUBLISHED = f"Published: {paper.SOURCE}."
SHAREGPT_LENGTHS = (
    "Lengths are gamma-distributed with the paper's means for ShareGPT. How they spread it does "
    f"not say: the outputs' CV ({paper.output_cv():.2f}) is derived from Figure 2, the prompts' "
    f"({paper.PROMPT_CV['sharegpt']}) is assumed."
)

Picture = tuple[Figure, str]
"""A figure and its alt text."""


def _data(name: str) -> Any:
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


def _block_layout() -> Picture:
    snapshot = read_snapshot(forked_and_swapped(), names=NAMES)
    title = "One cache: B was forked from A, C was swapped to the CPU"
    return block_layout(snapshot, title=title), alt_text(snapshot)


def _thread_map() -> Picture:
    # Kernels are not for figures to import: `python -m kernels.simt --json` wrote this.
    threads = _data("thread_map")
    title = "Which thread reads what in vLLM's attention kernel"
    return thread_map(threads, title=title), thread_map_alt(threads)


def _roofline() -> Picture:
    report = _data("roofline")
    return roofline(report), roofline_alt_text(report)


def _memory_waste() -> Picture:
    found = paper.figure_2()
    notes = (found.method, found.calibration, PUBLISHED)
    title = "Where the memory goes: Figure 2 of the paper, simulated"
    figure = memory_waste(found.ours, published=found.published, title=title, notes=notes)
    return figure, memory_waste_alt_text(found.ours, found.published, notes)


def _occupancy_timeline() -> Picture:
    workload = paper.lengths("sharegpt", 400)
    runs = {
        policy: simulate(workload, policy=policy, saturated=True, progress=False)
        for policy in ("max", "paged")
    }
    notes = (
        f"{len(workload)} requests, all waiting from the start, in {PAPER_POOL.slots:,} slots. "
        "Seconds are those of pagesim.simulation.Roofline, an ideal A100 with nothing fitted.",
        SHAREGPT_LENGTHS,
        f"Means and slots: {paper.SOURCE}.",
    )
    title = "The same requests, in contiguous and in paged memory"
    figure = occupancy_timeline(runs, title=title, notes=notes)
    return figure, occupancy_timeline_alt_text(runs, notes=notes)


def _block_size_sweep() -> Picture:
    found = paper.block_sizes((1, 2, 4, 8, 16, 32, 64, 128, 256))
    rows = {int(size): row for size, row in found.ours.items()}
    published = {int(size): row["token"] for size, row in found.published.items()}
    notes = (found.method, SHAREGPT_LENGTHS, PUBLISHED)
    title = "The larger the block, the more of the last one stays empty"
    figure = block_size_sweep(rows, PAPER_POOL.slots, published=published, title=title, notes=notes)
    return figure, block_size_sweep_alt_text(rows, notes)


def _batch_size() -> Picture:
    sharegpt, alpaca = paper.figure_13a(), paper.figure_13b()
    notes = (
        f"ShareGPT: {sharegpt.method} {sharegpt.calibration}",
        f"Alpaca: {alpaca.calibration}",
        PUBLISHED,
    )
    title = "How many requests run at once: Figure 13 of the paper, simulated"
    return batch_size(sharegpt, alpaca, title=title, notes=notes), batch_size_alt_text(
        sharegpt, alpaca, notes
    )


def _sharing() -> Picture:
    found = {dataset: paper.figure_15(dataset) for dataset in ("alpaca", "sharegpt")}
    notes = (
        f"Lengths are gamma-distributed with the paper's means; the outputs' CV "
        f"({paper.output_cv():.2f}) is derived from its Figure 2, the prompts' is assumed (Alpaca "
        f"{paper.PROMPT_CV['alpaca']}, ShareGPT {paper.PROMPT_CV['sharegpt']}).",
        PUBLISHED,
    )
    title = "What sharing saves: Figure 15 of the paper, simulated"
    return sharing(found, title=title, notes=notes), sharing_alt_text(found, notes)


def _prefix_hits() -> Picture:
    measured = _data("prefix_hits")
    model = PRESETS["llama-3.1-8b"]
    return prefix_hits(measured, model=model), prefix_hits_alt_text(measured)


def _kv_size() -> Picture:
    notes = [
        "Shapes: each model's config.json on the Hugging Face Hub; OPT's from table 1 of Zhang et "
        "al., OPT, arXiv 2205.01068. `pagesim size --model NAME` computes with them."
    ]
    return kv_size(PRESETS.values(), notes=notes), kv_size_alt_text(PRESETS.values(), notes)


PICTURES: dict[str, Callable[[], Picture]] = {
    "block_layout": _block_layout,
    "thread_map": _thread_map,
    "kv_size": _kv_size,
    "memory_waste": _memory_waste,
    "occupancy_timeline": _occupancy_timeline,
    "block_size_sweep": _block_size_sweep,
    "batch_size": _batch_size,
    "sharing": _sharing,
    "prefix_hits": _prefix_hits,
    "roofline": _roofline,
}
"""By name, in the order in which they are drawn."""


def names() -> list[str]:
    """What can be drawn here: the roofline only after `make bench` on a machine with a GPU."""
    there = (DATA / "roofline.json").exists()
    return [name for name in PICTURES if there or name != "roofline"]
