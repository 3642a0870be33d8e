"""How often a prefix cache finds a prompt's block again, by the size of the cache.

Two lines above the measured points are easily confused: what the cache can find at most, and how
many of the trace's ids came before.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict

from pagesim.figures import page, style
from pagesim.figures.page import Scale
from pagesim.figures.sheet import Sheet
from pagesim.figures.sources import Facts, Plain, is_path, read, report
from pagesim.figures.style import Picture
from pagesim.simulation import Simulation
from pagesim.sizing import ModelSpec
from pagesim.studies.prefix_hits import cache_hits, hit_curve, ids_seen_before
from pagesim.workload import Workload

LABELS, PLOT, ROW = 100.0, 214.0, 13.0
LEFT, RIGHT = page.MARGIN + LABELS, page.WIDTH - page.MARGIN - 18
GIB = 2**30
SOURCE = (
    "Data: the first {count:,} requests of {trace}, through pagesim's "
    "PrefixCachingBlockAllocator one prompt at a time, without answers and without concurrency."
)
PARTIAL = (
    "Partial last blocks are never looked up, because they may still grow; few of them came "
    "before, so counting them lowers the share."
)
_KEYS = ("block_tokens", "endless", "ids", "curve", "source")


def measure(workload: Workload, trace: str | None = None) -> Facts:
    """The curve of a trace with hashes, both limits, and the name of the ``trace``.

    figures/data/prefix_hits.json is that of the first 3,000 requests of conversation_trace.jsonl in
    github.com/kvcache-ai/Mooncake, FAST25-release/traces (Apache-2.0), which is not included here.
    """
    return {
        "source": SOURCE.format(count=len(workload), trace=trace or workload.source),
        "block_tokens": workload.hash_block_tokens,
        "ids": asdict(ids_seen_before(workload)),
        "endless": asdict(cache_hits(workload)),
        "curve": [asdict(point) for point in hit_curve(workload)],
    }


@style.picture
def prefix_hits(
    source: Plain,
    *,
    model: ModelSpec | str | None = None,
    title: str | None = None,
    notes: Iterable[str] = (),
) -> tuple[Picture, str]:
    """Draw the hit rate over the size of the pool, to see how large a prefix cache is worthwhile.

    ``source`` is the result of `measure`, or a JSON file with it. Or it is a trace whose requests
    have hash ids (a Workload, a file, or a Simulation of one), which is measured in a few seconds.
    With ``model``, a ModelSpec or the name of a preset, the sizes are also given in GiB for that
    model. The rate is in percent of the blocks looked up; the pool is in blocks, on a logarithmic
    axis. ``notes`` precede the data's own source. Errors: see `figures`.
    """
    found = read(source) if is_path(source) else source
    found = found.workload if isinstance(found, Simulation) else found
    measured = report(
        "prefix_hits",
        measure(found) if isinstance(found, Workload) else found,
        _KEYS,
        "figures.charts.prefix_hits.measure(workload)",
    )
    model = ModelSpec.preset(model) if isinstance(model, str) else model
    figure = _draw(measured, model, title or "A larger cache finds more prefixes again", notes)
    return figure, _words(measured, notes)


def _words(measured: Facts, notes: Iterable[str]) -> str:
    """The rate at every size, and the two limits."""
    points = ", ".join(
        f"{point['num_blocks']:,} blocks {_rate(point):.1f} %" for point in measured["curve"]
    )
    found = (
        "How many of the full blocks of prompts a prefix cache finds again, by pool size, with "
        f"{measured['block_tokens']} tokens a block: {points}."
    )
    limits = (f"{limit}." for limit in _limits_of(measured))
    return " ".join([found, *limits, *notes, measured["source"]])


def _rate(point: Mapping[str, int]) -> float:
    return 100 * point["hits"] / point["lookups"]


def _limits_of(measured: Facts) -> list[str]:
    most, ids = measured["endless"], measured["ids"]
    return [
        f"{_rate(most):.2f} % with endless room: {most['hits']:,} of the {most['lookups']:,} full "
        "blocks",
        f"{_rate(ids):.2f} % of all ids came before: {ids['hits']:,} of {ids['lookups']:,}, "
        "partial last blocks of prompts among them",
    ]


def _draw(measured: Facts, model: ModelSpec | None, title: str, notes: Iterable[str]) -> Picture:
    curve = measured["curve"]
    sizes = [point["num_blocks"] for point in curve]
    each = measured["block_tokens"]
    table = {"blocks": [f"{size:,}" for size in sizes], "tokens": [_short(n * each) for n in sizes]}
    if model is not None:
        bytes_each = each * model.kv_bytes_per_token
        table[f"GiB, {model.name}"] = [f"{size * bytes_each / GIB:,.0f}" for size in sizes]
    subtitle = f"Percent of the looked-up blocks that were found, blocks of {each} tokens"
    notes = [PARTIAL, *notes, measured["source"]]
    figure, sheet, y = page.sheet(title, subtitle, PLOT + 8 + ROW * len(table), notes)
    limits = [_rate(measured["endless"]), _rate(measured["ids"])]
    high = 1.18 * max(limits)
    up = Scale(0, high, y + PLOT, y)
    across = Scale(sizes[0], sizes[-1] * 1.0001, LEFT + 16, RIGHT - 4, log=True)
    sheet.left_axis(LEFT, up, page.ticks(high), " %")
    sheet.line([LEFT, LEFT, RIGHT], [y, y + PLOT, y + PLOT])
    _limits(sheet, limits, _limits_of(measured), up)
    places = [(across(point["num_blocks"]), up(_rate(point))) for point in curve]
    sheet.line(*zip(*places, strict=True), color=style.SAVED, width=2)
    for (x, at), point in zip(places, curve, strict=True):
        sheet.axes.plot([x], [at], "o", color=style.SAVED, markersize=6, clip_on=False)
        sheet.write(x + 2, at + 11, f"{_rate(point):.1f}", ha="left", bold=True)
    y += PLOT + 4
    for name, numbers in table.items():
        y += ROW
        sheet.write(LEFT - 6, y, name, ha="right", color=style.MUTED)
        for (x, _), text in zip(places, numbers, strict=True):
            sheet.line([x, x], [up(0), up(0) + 3])
            sheet.write(x, y, text)
    return figure


def _limits(sheet: Sheet, rates: list[float], words: list[str], up: Scale) -> None:
    """Both lines: the higher one's words are above it, the lower one's below."""
    highest = max(rates)
    for rate, text in zip(rates, words, strict=True):
        above = rate == highest
        sheet.line([LEFT, RIGHT], [up(rate)] * 2, width=1.1, dashed=not above)
        # The curve approaches the lower line at the right: its words stay at the left.
        lines = [text] if above else page.wrapped(text, 0.66 * (RIGHT - LEFT))
        for place, words_of_line in enumerate(lines):
            y = up(rate) + (-7 if above else 8 + page.LINE * place)
            sheet.write(LEFT + 6, y, words_of_line, ha="left")


def _short(tokens: int) -> str:
    if tokens < 999_500:
        return f"{tokens / 1e3:,.0f}K"
    return f"{tokens / 1e6:,.1f}M"
