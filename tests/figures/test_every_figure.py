"""What every figure owes its readers: words apart, the same bytes, its numbers in its alt text."""

import os
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from pagesim import figures
from pagesim.decision import Decision, what_if
from pagesim.errors import UsageError
from pagesim.figures import alt_text, style
from pagesim.figures.display import image_bytes
from pagesim.figures.scenes import NAMES, forked_and_swapped
from pagesim.figures.style import Picture
from pagesim.simulation import Simulation, simulate
from pagesim.sizing import PRESETS
from pagesim.studies import gauge
from pagesim.workload import sharegpt_like
from tests.figures import test_access_map as access
from tests.figures import test_beside as besides
from tests.figures import test_block_size_sweep as sizes
from tests.figures import test_compare as compared
from tests.figures import test_copies as moved
from tests.figures import test_kv_groups as groups
from tests.figures import test_load_or_compute as loads
from tests.figures import test_memory_waste as waste
from tests.figures import test_occupancy_timeline as occupancy
from tests.figures import test_prefix_hits as hits
from tests.figures import test_race as races
from tests.figures import test_roofline as roofline
from tests.figures import test_spread as spreads
from tests.figures import test_thread_map as threads
from tests.figures.charts import overlapping, shown


def decided() -> Decision:
    """A victim that is swapped out, and another that waits."""
    running = {"a": "5 blocks", "a request with a long name": "5 blocks", "c": 10}
    swap = {"preemption_mode": "swap", "num_cpu_blocks": 8}
    return what_if(14, running=running, waiting={"d": 30}, engine="v0", block_size=4, **swap)


@cache
def measured() -> dict[str, Simulation]:
    """A run of each engine with everything that is drawn: swapping, and a hit rate."""
    stream = sharegpt_like(40, seed=0)
    alike = [replace(one, token_ids=tuple(range(one.prompt_tokens))) for one in stream]
    swap = {"preemption_mode": "swap", "num_cpu_blocks": 500, "pool": 3_000, "saturated": True}
    return {
        "V0": simulate(stream, policy="paged", metrics=True, progress=False, **swap),
        "V1": simulate(alike, policy="v1", metrics=True, progress=False, pool=3_000),
    }


NOTES = {"notes": ["Made up. " * 20]}
FIGURES: dict[str, Callable[[], Picture]] = {
    "block_layout": lambda: figures.block_layout(
        forked_and_swapped(), names=NAMES, title="A title"
    ),
    "memory_waste": lambda: figures.memory_waste(
        {"max": waste.MAX, "a policy with a very long name": waste.PAGED, "paged": waste.PAGED},
        published=waste.PUBLISHED_ROWS,
        title=f"Memory waste of {'a_long_file_name' * 6}.csv",
        **NOTES,
    ),
    "occupancy_timeline": lambda: figures.occupancy_timeline(
        {"max": occupancy.log(300), "paged": occupancy.log(60)}, title="A title"
    ),
    "race": lambda: figures.race([races.served("max"), races.served("paged")], **NOTES),
    "batch_size": lambda: figures.batch_size(compared.BOTH),
    "beside": lambda: figures.beside([besides.WASTE, besides.WASTE], **NOTES),
    "spread": lambda: figures.spread([spreads.COUNTS, spreads.COUNTS], **NOTES),
    "sharing": lambda: figures.sharing(compared.SAVED, **NOTES),
    "block_size_sweep": lambda: figures.block_size_sweep(
        {2**power: sizes.row(98 - power, power, 34) for power in range(9)}, 15_728, **NOTES
    ),
    "hit_rates": lambda: figures.hit_rates({name: {1: 5.0, 2: 9.0} for name in "abcde"}),
    "kv_size": lambda: figures.kv_size(PRESETS.values(), title="A title"),
    "decision": lambda: figures.decision(decided()),
    "engine_metrics": lambda: figures.engine_metrics(measured(), title="A title", **NOTES),
    "kv_groups": lambda: figures.kv_groups(groups.size("gemma-3-27b"), **NOTES),
    "kv_groups, states": lambda: figures.kv_groups(groups.size("qwen3.5-9b"), title="A title"),
    "kv_groups, one": lambda: figures.kv_groups(groups.size("llama-3.1-70b")),
    "load_or_compute": lambda: figures.load_or_compute(
        {name: loads.both(name) for name in ("llama-2-7b", "llama-3.1-8b", "opt-175b")}, **NOTES
    ),
    "copies": lambda: figures.copies(
        {f"lane {i}": moved.SWAPPED if i % 2 else moved.TIERED for i in range(5)}, **NOTES
    ),
    "prefix_hits": lambda: figures.prefix_hits(hits.committed(), model=PRESETS["opt-13b"]),
    "roofline": lambda: figures.roofline(
        roofline.report(
            rows=[roofline.row(f"case {n}", name, 1 + n) for n in range(3) for name in "ab"]
        )
    ),
    "access_map": lambda: figures.access_map(access.good(), title="A title"),
    "access_map, large": lambda: figures.access_map(access.many(500, 40), title="A title"),
    "thread_map": lambda: figures.thread_map(threads.committed(), title="A title"),
    "thread_map, large": threads.wide,
}


@cache
def drawn(name: str) -> Picture:
    """A figure with much in it; tests only read it."""
    return FIGURES[name]()


USUAL = FIGURES if "PAGESIM_LONG" in os.environ else [n for n in FIGURES if "large" not in n]


@pytest.mark.parametrize("name", USUAL)
def test_no_text_covers_another_or_leaves_the_sheet(name: str) -> None:
    figure = drawn(name)
    assert overlapping(figure) == []
    assert min(text.get_fontsize() for text in figure.axes[0].texts) >= style.TEXT
    assert figure.get_figwidth() in (7, 9)


@pytest.mark.parametrize("name", ["sharing", "roofline", "kv_size"])
def test_the_same_bytes_each_time(name: str) -> None:
    """`block_layout` and `pool_map` prove the same; the gallery does it in another process."""
    assert image_bytes(drawn(name), ".svg") == image_bytes(FIGURES[name](), ".svg")


SAID: dict[str, Callable[[], Picture]] = {
    "block_layout": lambda: drawn("block_layout"),
    "memory_waste": lambda: figures.memory_waste(
        {"max": waste.MAX, "paged": waste.PAGED}, published=waste.PUBLISHED_ROWS, notes=["7 !"]
    ),
    "occupancy_timeline": lambda: figures.occupancy_timeline(
        {"max": occupancy.two_steps()}, notes=["7 !"]
    ),
    "batch_size": lambda: figures.batch_size(compared.BOTH, notes=["7 !"]),
    "beside": lambda: figures.beside(besides.WASTE, notes=["7 !"]),
    "spread": lambda: figures.spread(spreads.COUNTS, notes=["7 !"]),
    "sharing": lambda: figures.sharing(compared.SAVED, notes=["7 !"]),
    "block_size_sweep": lambda: figures.block_size_sweep(sizes.SIZES, notes=["7 !"]),
    "hit_rates": lambda: figures.hit_rates({"a": {500: 4.0, 4000: 20.0}}, notes=["7 !"]),
    "kv_size": lambda: figures.kv_size(["llama-3.1-8b", "deepseek-v3"]),
    "kv_groups": lambda: figures.kv_groups(groups.size("gpt-oss-20b"), notes=["7 !"]),
    "decision": lambda: figures.decision(what_if(5, waiting={"d": 100}, block_size=16)),
    "engine_metrics": lambda: figures.engine_metrics({"a": gauge.steady(17)}, notes=["7 !"]),
    "copies": lambda: figures.copies({"a": moved.SWAPPED, "b": moved.TIERED}, notes=["7 !"]),
    "load_or_compute": lambda: figures.load_or_compute(
        {"a": loads.both("llama-2-7b")}, notes=["7 !"]
    ),
    "prefix_hits": lambda: figures.prefix_hits(hits.committed()),
    "roofline": lambda: figures.roofline(roofline.report()),
    "access_map": lambda: drawn("access_map"),
    "thread_map": lambda: drawn("thread_map"),
}


@pytest.mark.parametrize("name", SAID)
def test_the_alt_text_has_every_number_and_no_other(name: str, snapshot: SnapshotAssertion) -> None:
    assert " ".join(re.findall(r"\d(?:[\d.,]*\d)?", alt_text(SAID[name]()))) == snapshot


def test_a_note_is_shown_and_said() -> None:
    figure = figures.memory_waste({"max": waste.MAX}, title="A title", notes=["A note of ours."])
    assert "A note of ours." in shown(figure)
    assert alt_text(figure).startswith("A title. ") and alt_text(figure).endswith("A note of ours.")


@pytest.mark.parametrize(
    "draw",
    [
        figures.memory_waste,
        figures.occupancy_timeline,
        figures.batch_size,
        figures.sharing,
        lambda nothing: figures.block_size_sweep(nothing, 10),
        lambda _: figures.kv_size([]),
        lambda _: figures.roofline(roofline.report(rows=[])),
        lambda _: figures.roofline(roofline.report(dry_run=True)),
    ],
)
def test_where_there_is_nothing_to_draw_it_is_said(draw: Callable[[Any], Picture]) -> None:
    with pytest.raises(UsageError, match=r"there is no (run|model)|no rows|dry run"):
        draw({})
