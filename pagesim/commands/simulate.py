"""`pagesim simulate`: a file of requests through a memory policy."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pagesim.commands.common import INPUT_FILE, OUTPUT_FILE, Answer, BadInput, answering, blaming
from pagesim.commands.memory import COUNT, given, machine, memory_options, table
from pagesim.errors import UsageError
from pagesim.files.jsonl import JsonObject
from pagesim.simulation import POLICIES, PagedV1, Simulation
from pagesim.simulation.waste_groups import rows as rows_of

if TYPE_CHECKING:
    from pagesim.timeline.kv_shape import KVShape

UNIFORM = "uniform"
"""V1 without the groups of --groups, in the same memory."""

NAMED = 5
"""How many requests that wait forever are named; the file of --requests has all."""


@answering("pagesim simulate azure.csv --policy paged --block-size 16 --record run.jsonl.gz")
@click.argument("file", type=INPUT_FILE)
@memory_options
@click.option("--saturated", is_flag=True, help="Let all requests arrive at the start.")
@click.option(
    "--first", type=COUNT, help="Maximum number of requests to serve from FILE.  [default: all]"
)
@click.option(
    "--split-samples",
    type=COUNT,
    help="Serve N requests of the same prompt in place of each, as vLLM since 0.6.4 serves N "
    "samples.  [default: 1]",
    metavar="N",
)
@click.option("--record", type=OUTPUT_FILE, help="Save the run, for pagesim play or pagesim.load.")
@click.option(
    "--page",
    type=OUTPUT_FILE,
    help="Write an HTML page that plays the run, or both runs with --compare.",
)
@click.option("--requests", type=OUTPUT_FILE, help="Write a CSV file with one row per request.")
@click.option(
    "--steps",
    type=OUTPUT_FILE,
    help="paged and v1: write a CSV file with what vLLM would log after each step.",
)
@click.option(
    "--kv-events",
    type=OUTPUT_FILE,
    help="v1: write what a router would hear, as JSON lines: the blocks stored and removed.",
)
@click.option(
    "--residency",
    type=float,
    help="v1: the fraction of the blocks that are watched to report how long blocks live, such as "
    "0.01.  [default: none]",
)
@click.option(
    "--compare",
    type=click.Choice([*POLICIES, UNIFORM]),
    help="Also serve the same requests under this policy, and show both results. uniform is v1 "
    "without --groups: all layers are one group of full attention.",
)
def simulate(
    file: Path,
    policy: str,
    slots: str | None,
    saturated: bool,
    first: int | None,
    split_samples: int | None,
    record: Path | None,
    page: Path | None,
    requests: Path | None,
    steps: Path | None,
    kv_events: Path | None,
    residency: float | None,
    compare: str | None,
    **options: Any,
) -> Answer:
    """Serve a file of requests; report memory use and latencies.

    FILE has the columns arrival_s, prompt_tokens and output_tokens, or is one of the published
    traces that pagesim.workload.load knows. Times are those of an ideal machine
    (pagesim.simulation.Roofline): OPT-13B on an A100, unless --model and --gpu name others. Under
    v1, a step has the limits that vLLM 0.33.0's API server uses on that GPU. If stderr is a
    terminal, it shows a progress bar.

    With --groups, the percentages refer to the bytes of the blocks, and a second table says what
    requests hold in each group: tokens, empty slots (internal), tokens behind all windows, and what
    no layer uses because a group has fewer layers than the largest one (padding).

    Exit code 0 when requests were served, 1 when none could be served or some wait forever, 2 when
    FILE or an option cannot be used.
    """
    from pagesim.errors import UnsupportedError
    from pagesim.simulation import simulate as run_through
    from pagesim.workload import WorkloadError, load

    with blaming(file, UsageError, WorkloadError):
        workload = load(file, first=first)
        workload = workload.split_samples(split_samples) if split_samples else workload
    if compare == UNIFORM and (policy != "v1" or options["groups"] is None):
        raise BadInput("--compare uniform: needs --policy v1 and --groups, which it leaves out")
    engines = [policy, *([] if compare in (None, UNIFORM) else [str(compare)])]
    shape = _shape(options["model"], options["tp"])
    on, words = machine(slots, tuple(engines), options)

    def serve(name: str, record: bool = False) -> Simulation:
        """Serve by one policy; options of the one beside it do not apply."""
        engine = "v1" if name == UNIFORM else name
        both = (engine, *(each for each in engines if each != engine))
        means = on.keywords(engine, given(options, *both) if compare else given(options))
        means |= {"saturated": saturated, "record": record}
        if name == policy:
            means |= {"metrics": steps is not None}
            means |= {"kv_events": kv_events is not None, "residency": residency}
        if name != UNIFORM:
            return run_through(workload, policy=name, **means)
        known = {one.name for one in fields(PagedV1)}
        own = {each: means.pop(each) for each in list(means) if each in known}
        return replace(run_through(workload, policy=PagedV1(**own).uniform(), **means), policy=name)

    try:
        run = serve(policy, bool(record or page))
        other = serve(compare, page is not None) if compare else None
    except UnsupportedError as error:
        raise BadInput(str(error)) from error
    except RuntimeError as error:  # swapping found no room
        cpu_blocks = options["num_cpu_blocks"] or 0
        raise BadInput(f"--cpu-blocks {cpu_blocks}: {error}") from error
    for each in (run, other):
        if shape is not None and each is not None and each.timeline is not None:
            each.timeline.annotate(model=shape if each.groups is None else None)
    outputs = {"requests_csv": requests, "steps_csv": steps, "record": record, "page": page}
    return _answer(run, other, words, outputs | {"kv_events_jsonl": kv_events})


def _shape(model: str | None, tp: int | None) -> "KVShape | None":
    """The tensors of a named model; None if it keeps anything else than keys and values."""
    from pagesim.timeline.kv_shape import KVShape

    with suppress(UsageError):  # an unknown name is refused where the machine is made
        return None if model is None else KVShape.of(model, tp or 1)
    return None


def _answer(
    run: Simulation, other: Simulation | None, words: str, outputs: dict[str, Path | None]
) -> Answer:
    """What came out, and the files written."""
    value: JsonObject = {**run.summary(), "machine": words}
    lines = [*describe(run), words]
    if other is not None:
        value["compared"] = other.summary()
        lines += ["", str(run.compare(other)), *waiting(other)]
    for key, path in outputs.items():
        if path is not None:
            with blaming(path):
                lines.append(f"{path} {_save(key, path, run, other)}")
            value[key] = str(path)
    runs = [run] if other is None else [run, other]
    ok = run.requests.num_finished > 0 and not any(each.requests.num_stuck for each in runs)
    return Answer(ok, "\n".join(lines), value)


def _save(key: str, path: Path, run: Simulation, other: Simulation | None) -> str:
    """Write one of the outputs; returns what it is for."""
    if key == "requests_csv":
        run.requests.save_csv(path)
        return "has one row per request."
    if run.metrics is not None and key == "steps_csv":
        run.metrics.save_csv(path)
        return "has one row per step, as vLLM would log it."
    if run.kv_events is not None and key == "kv_events_jsonl":
        run.kv_events.save(path)
        return "has what a router would hear."
    assert run.timeline is not None
    if key == "record":
        run.timeline.save(path)
        return f"holds the run: pagesim play {path} -o run.html"
    import pagesim

    if other is None:
        run.timeline.to_html(path)
        return "plays the run."
    pagesim.compare(run, other).to_html(path)
    return "plays both runs, step by step."


def describe(run: Simulation) -> list[str]:
    """A run in a few lines of text."""
    summary = run.summary()
    lines = [
        f"{run.workload.name}: {summary['finished']} of {summary['requests']} requests served in "
        f"{summary['seconds']:.1f} s of simulated time, {summary['iterations']} steps, "
        f"{summary['preemptions']} preemptions",
    ]
    if summary["ignored"]:
        lines.append(
            f"{summary['ignored']} requests were ignored: longer than --max-len, too long for the "
            f"pool, or with more --samples than a step may compute (--max-num-batched-tokens)"
        )
    lines += waiting(run)
    if run.policy == "v1" and run.groups is None and run.block_size:
        count = run.pool.slots // run.block_size
        lines.append(f"{count} blocks, {count - 1} usable: block 0 is the null block")
    if summary["waste"] is not None:
        lines += table({run.policy: summary["waste"]})
        lines += by_group(run)
    lines += of_tier(run)
    names = {"normalized": "normalized (per token)"}
    latency = summary["latency"].items()
    lines += spreads("seconds", {names.get(name, name): values for name, values in latency})
    return lines + _observed(summary)


def _observed(summary: JsonObject) -> list[str]:
    """What a router heard, what the engine measured, and how long blocks lived."""
    lines: list[str] = []
    if "kv_events" in summary:
        heard = summary["kv_events"]
        for medium, stored in heard["stored"].items():
            removed = heard["removed"].get(medium, 0)
            lines.append(f"KV events: {stored} blocks stored on the {medium}, {removed} removed")
    if "metrics" in summary:
        measured = summary["metrics"]
        names = {"usage": "usage of the blocks", "slots": "slots with a token"}
        shares = {name: measured[name]["median"] for name in names}
        said = [f"{words} {100 * shares[n]:.1f} %" for n, words in names.items() if shares[n]]
        rate = f"; prefix hit rate {100 * max(measured['hit_rate'], 0):.1f} %"
        lines.append(f"after a step, in the median: {', '.join(said)}{rate} at the end")
    if "residency" in summary:
        lived = summary["residency"]
        shown = ("lifetime", "idle", "reuse_gaps")
        lines += spreads("seconds of a block", {name: lived[name] for name in shown})
        lines.append(f"{lived['ended']} blocks were watched to their end, {lived['alive']} live on")
    return lines


def spreads(head: str, rows: Mapping[str, Mapping[str, float | None]]) -> list[str]:
    """Times as aligned lines: the mean and three percentiles of each."""
    lines = [f"{head:<24}{'mean':>10}{'p50':>10}{'p90':>10}{'p99':>10}"]
    for name, values in rows.items():
        numbers = ("-" if value is None else f"{value:.4g}" for value in values.values())
        lines.append(
            f"{name.replace('_', ' '):<24}" + "".join(f"{number:>10}" for number in numbers)
        )
    return lines


def by_group(run: Simulation) -> list[str]:
    """What requests hold in each group of layers, and what only some groups had."""
    if run.groups is None:
        return []
    rows = [
        f"{name:<26}" + "".join(f"{cell:>10}" for cell in cells)
        for name, *cells in rows_of(run.groups.mean())
    ]
    if lost := sum(run.requests.lost.values()):
        rows.append(f"{lost} tokens were computed again, although some groups had them")
    return rows


def of_tier(run: Simulation) -> list[str]:
    """What was copied to a second tier and back, and what waited for that."""
    if run.tier is None:
        return []
    use, waits = run.tier.summary(), [seconds for _, seconds in run.tier.loads.values()]
    sizes = {way: use[f"bytes_{way}"] for way in ("out", "in")}
    words = {way: f" ({size / 1e9:.2f} GB)" if size else "" for way, size in sizes.items()}
    lines = [
        f"second tier: {use['blocks_out']} blocks to the CPU{words['out']}, {use['blocks_in']} "
        f"back{words['in']}, {use['evicted_blocks']} evicted from it",
        f"{sum(tokens for tokens, _ in run.tier.loads.values())} tokens were loaded for "
        f"{len(waits)} requests, which waited {sum(waits):.3g} s in all",
        f"steps waited {use['waited_s']:.3g} s for {use['flushed_copies']} copies; in "
        f"{use['empty_steps']} steps and {use['empty_s']:.3g} s nothing was computed",
    ]
    return lines


def waiting(run: Simulation) -> list[str]:
    """The requests that wait forever, and why; no line if there are none."""
    stuck, why = run.requests.num_stuck, list(run.requests.waits_forever.items())
    if not stuck:
        return []
    lines = [f"{run.policy}: {stuck} requests wait forever, or behind one that does:"]
    lines += [f"  {name!r}: {words}" for name, words in why[:NAMED]]
    if len(why) > NAMED:
        lines.append(f"  and {len(why) - NAMED} more: --requests names all of them")
    return lines
