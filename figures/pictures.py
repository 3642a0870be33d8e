"""The gallery's pictures: what each one shows, and from which data.

The paper's figures are simulated every time; what takes a GPU, kernels or a trace that is not in
this repository is read from figures/data.
"""

from collections.abc import Callable
from pathlib import Path

from pagesim import figures
from pagesim.figures.scenes import NAMES, forked_and_swapped
from pagesim.figures.style import Picture
from pagesim.simulation import PAPER_POOL, Limits, Simulation, simulate
from pagesim.sizing import PRESETS, ModelSpec, size_v1
from pagesim.studies import (
    crossover,
    eviction,
    gauge,
    group_hits,
    group_waste,
    paper,
    second_tier,
    watermark,
)
from pagesim.workload import Request, mooncake_conversation

DATA = Path(__file__).parent / "data"
PUBLISHED = f"Published: {paper.SOURCE}."
SHAREGPT_LENGTHS = (
    "Lengths are gamma-distributed with the paper's means for ShareGPT. The paper does not give "
    f"their spread: the outputs' CV ({paper.output_cv():.2f}) is derived from Figure 2, the "
    f"prompts' ({paper.PROMPT_CV['sharegpt']}) is assumed."
)


def _occupancy_timeline() -> Picture:
    workload = paper.lengths("sharegpt", 400)
    notes = (
        f"{len(workload)} requests, all waiting from the start, in {PAPER_POOL.slots:,} slots. "
        "Seconds are those of pagesim.simulation.Roofline, an ideal A100 with nothing fitted.",
        SHAREGPT_LENGTHS,
        f"Means and slots: {paper.SOURCE}.",
    )
    runs = {
        policy: simulate(workload, policy=policy, saturated=True, progress=False)
        for policy in ("max", "paged")
    }
    title = "The same requests, in contiguous and in paged memory"
    return figures.occupancy_timeline(runs, title=title, notes=notes)


def race_runs() -> dict[str, Simulation]:
    """Ten made-up requests on the same memory in regions and in pages, recorded: a small race."""
    requests = [
        Request(f"r{i}", 0.05 * i, 160 + 37 * i % 140, 60 + 53 * i % 150) for i in range(10)
    ]
    limits = Limits(max_model_len=512)
    found = (
        simulate(requests, policy=policy, pool=2_048, limits=limits, record=True, progress=False)
        for policy in ("max", "paged")
    )
    return {run.title: run for run in found}


def _race() -> Picture:
    notes = [
        "Ten made-up requests, 0.05 s apart, with at most 512 tokens each; blocks of 16 tokens. "
        "Seconds are those of pagesim.simulation.Roofline, an ideal A100 with nothing fitted.",
    ]
    title = "The same memory: more requests run at once where nothing is held empty"
    return figures.race(race_runs(), at=0.8, title=title, notes=notes)


def _block_size_sweep() -> Picture:
    found = paper.block_sizes((1, 2, 4, 8, 16, 32, 64, 128, 256))
    notes = (found.method, SHAREGPT_LENGTHS, PUBLISHED)
    title = "The larger the block, the more of the last one stays empty"
    return figures.block_size_sweep(found, title=title, notes=notes)


def _batch_size() -> Picture:
    sharegpt, alpaca = paper.figure_13a(), paper.figure_13b()
    notes = (
        f"ShareGPT: {sharegpt.method} {sharegpt.calibration}",
        f"Alpaca: {alpaca.calibration}",
        PUBLISHED,
    )
    title = "How many requests run at once: Figure 13 of the paper, simulated"
    found = {"sharegpt": sharegpt, "alpaca": alpaca}
    return figures.batch_size(found, title=title, notes=notes)


def _sharing() -> Picture:
    notes = (
        f"Lengths are gamma-distributed with the paper's means; the outputs' CV "
        f"({paper.output_cv():.2f}) is derived from its Figure 2, the prompts' is assumed (Alpaca "
        f"{paper.PROMPT_CV['alpaca']}, ShareGPT {paper.PROMPT_CV['sharegpt']}).",
        PUBLISHED,
    )
    title = "What sharing saves: Figure 15 of the paper, simulated"
    found = {dataset: paper.figure_15(dataset) for dataset in ("alpaca", "sharegpt")}
    return figures.sharing(found, title=title, notes=notes)


def _kv_size() -> Picture:
    notes = [
        "Shapes: each model's config.json on the Hugging Face Hub; OPT's from table 1 of Zhang et "
        "al., OPT, arXiv 2205.01068. `pagesim size --model NAME` computes with them."
    ]
    return figures.kv_size(PRESETS.values(), notes=notes)


def _kv_groups() -> Picture:
    size = size_v1(ModelSpec.preset("gemma-3-27b"), "20GiB", max_model_len=32_768)
    notes = [
        "By the rules of vLLM 0.33.0, for 2,048 tokens a step and two steps in flight: `pagesim "
        "size --model gemma-3-27b --memory 20GiB --max-model-len 32768 -o groups.svg`."
    ]
    return figures.kv_groups(size, notes=notes)


def _group_hits() -> Picture:
    rates = {
        name: {blocks: hits.rate for blocks, hits in by_memory.items()}
        for name, by_memory in group_hits.table().items()
    }
    notes = [
        "Full attention alone, and with one or five groups whose window is "
        f"{group_hits.WINDOW} tokens, in equal memory: {group_hits.CONVERSATIONS} conversations in "
        f"turn, {group_hits.TURNS} turns. Dense: every block is cached. Default: those before a "
        "prompt's last token. A block has 16 tokens in all layers.",
    ]
    title = "Windows keep more conversations in memory, and find less of each"
    return figures.hit_rates(rates, title=title, unit="blocks", notes=notes)


def _group_waste() -> Picture:
    title = "Windows beside full attention: what uniform pages waste, and what is found again"
    return figures.beside([group_waste.figure(), group_hits.figure()], title=title)


def _load_or_compute() -> Picture:
    links = [crossover.table(link) for link in ("pcie4", "pcie5")]
    found = {models[0].model: models for models in zip(*links, strict=True)}
    speeds = " and ".join(f"{1e-9 * each[0].link.in_bytes_per_second:g}" for each in links)
    notes = [
        f"H100s that use {crossover.SHARE:.0%} of their operations per second; 4 of them for "
        f"llama-3.1-70b. {speeds} GB/s per GPU. A load waits for a step of "
        f"{1e3 * crossover.WAIT:g} ms, of {2e3 * crossover.WAIT:g} ms on 4 GPUs. `python -m "
        "pagesim.studies.crossover` has the numbers."
    ]
    title = "Load or compute? The model decides more than the link"
    return figures.load_or_compute(found, title=title, notes=notes)


def _copies() -> Picture:
    tier = {"cpu_blocks": second_tier.CPU_BLOCKS}
    once, twice = second_tier.requests(), second_tier.twice()
    found = {
        "V0 swaps, 600 blocks": second_tier.play_v0(600),
        "V1 with a tier, 600 blocks": second_tier.play_v1(600, once, **tier),
        "V1 with a tier, 1,000 blocks": second_tier.play_v1(1_000, once, **tier),
        "V1 with a tier, 600 blocks, all requests twice": second_tier.play_v1(600, twice, **tier),
    }
    notes = [
        "96 requests at once, with 8 different beginnings. A line above the CPU: how long a "
        "request was swapped out. Copies end in the step that begins them. `python -m "
        "pagesim.studies.second_tier` has the counts."
    ]
    title = "V0 moves victims and brings them back; V1 copies prompts and loads what is asked for"
    return figures.copies(found, title=title, notes=notes)


def _eviction() -> Picture:
    trace = mooncake_conversation()
    rates = {
        policy.upper(): {size: 100 * hits.rate for size, hits in by_size.items()}
        for policy, by_size in eviction.table(trace, eviction.SIZES).items()
    }
    notes = [
        f"The first {len(trace):,} requests of Mooncake's conversations, shown to the tier one "
        "after another, without a GPU's cache before it. A chunk has 512 tokens. `python -m "
        "pagesim.studies.eviction FILE` does the same for the whole trace."
    ]
    title = "In a small tier, ARC finds a little more than LRU"
    return figures.hit_rates(rates, title=title, unit="chunks", notes=notes)


def _watermark() -> Picture:
    title = "A watermark saves preemptions: vLLM's own sweep, simulated"
    return figures.spread(watermark.figure(), title=title)


def _gauge() -> Picture:
    lengths = (gauge.SHORT, gauge.LONG)
    found = {f"Prompts of {tokens} tokens": gauge.steady(tokens) for tokens in lengths}
    notes = [
        f"{gauge.A_STEP} requests arrive before each step, with {gauge.OUTPUT} output tokens each "
        f"(assumed). The pool is full while a step runs, and measured after it. Published: "
        f"{gauge.PUBLISHED['usage']} % of the blocks and {gauge.PUBLISHED['slots']} % of the slots "
        f"with short prompts, and at most {gauge.PUBLISHED['apart']} points apart with long ones "
        f"({gauge.SOURCE}).",
    ]
    title = "A gauge that counts blocks does not say how full they are"
    return figures.engine_metrics(found, title=title, notes=notes)


PICTURES: dict[str, Callable[[], Picture]] = {
    "block_layout": lambda: figures.block_layout(
        forked_and_swapped(),
        names=NAMES,
        title="One cache: B was forked from A, C was swapped to the CPU",
    ),
    # Figures do not import kernels: `python -m pagesim.kernels.simt --json` wrote this.
    "thread_map": lambda: figures.thread_map(
        DATA / "thread_map.json", title="Which thread reads what in vLLM's attention kernel"
    ),
    "kv_size": _kv_size,
    "kv_groups": _kv_groups,
    "memory_waste": lambda: figures.memory_waste(
        paper.figure_2(), title="Where the memory goes: Figure 2 of the paper, simulated"
    ),
    "occupancy_timeline": _occupancy_timeline,
    "race": _race,
    "block_size_sweep": _block_size_sweep,
    "batch_size": _batch_size,
    "sharing": _sharing,
    "prefix_hits": lambda: figures.prefix_hits(DATA / "prefix_hits.json", model="llama-3.1-8b"),
    "roofline": lambda: figures.roofline(DATA / "roofline.json"),
    "group_hits": _group_hits,
    "group_waste": _group_waste,
    "load_or_compute": _load_or_compute,
    "copies": _copies,
    "eviction": _eviction,
    "watermark": _watermark,
    "gauge": _gauge,
}
"""By name, in the order in which they are drawn."""


def names() -> list[str]:
    """What can be drawn here; the roofline needs a `make bench` on a machine with a GPU first."""
    there = (DATA / "roofline.json").exists()
    return [name for name in PICTURES if there or name != "roofline"]
