"""`pagesim waste`: where the memory goes, in percent."""

from pathlib import Path
from typing import Any

import click

from pagesim.commands.common import (
    INPUT_FILE,
    OUTPUT_FILE,
    Answer,
    BadInput,
    Options,
    answering,
    blaming,
)
from pagesim.commands.memory import given, machine, memory_options, table
from pagesim.files.jsonl import JsonObject
from pagesim.workload import Workload

PRESET = "paper-figure-2"


@answering("pagesim waste sharegpt.csv --policy max --out waste.svg")
@click.argument("file", required=False, type=INPUT_FILE)
@click.option(
    "--preset", type=click.Choice([PRESET]), help="Simulate Figure 2 of the paper; without FILE."
)
@memory_options
@click.option(
    "--in-time", is_flag=True, help="Let requests arrive at the times in FILE, not all at once."
)
@click.option("--out", type=OUTPUT_FILE, help="Draw the result into a .svg, .png or .pdf file.")
def waste(
    file: Path | None,
    preset: str | None,
    policy: str,
    slots: str | None,
    in_time: bool,
    out: Path | None,
    **options: Any,
) -> Answer:
    """Say what share of the cache is wasted, and on what.

    The requests of FILE are served, and the use of the slots is averaged over the steps of the
    steady state. FILE has the columns arrival_s, prompt_tokens and output_tokens, or is one of the
    published traces that pagesim.workload.load knows. All requests arrive at the start, unless
    --in-time is given. Exit code 2 when FILE cannot be used.
    """
    from pagesim.errors import UsageError
    from pagesim.workload import WorkloadError, load

    if (file is None) == (preset is None):
        raise BadInput(f"give a FILE of requests, or --preset {PRESET}")
    if out is not None and out.suffix not in (".svg", ".png", ".pdf"):
        raise BadInput(f"--out {out}: must end in .svg, .png or .pdf")
    if file is None:
        from pagesim.studies.paper import figure_2

        paper = figure_2()
        notes, published = [paper.method, paper.calibration], paper.published
        policies, source, title = paper.ours, paper.source, paper.title
    else:
        with blaming(file, UsageError, WorkloadError):
            workload = load(file)
        policies, source, title, notes = _served(workload, policy, slots, not in_time, options)
        published = None
    notes.append(f"Source: {source}")
    value: JsonObject = {"policies": policies, "source": source}
    lines = [*table(policies), *notes]
    if out is not None:
        from pagesim import figures

        with blaming(out):
            drawn = figures.memory_waste(policies, published=published, title=title, notes=notes)
            figures.save(drawn, out)
        value["out"] = str(out)
        lines.append(f"{out} shows the result.")
    return Answer(True, "\n".join(lines), value)


def _served(
    workload: Workload, policy: str, slots: str | None, saturated: bool, options: Options
) -> tuple[dict[str, dict[str, float]], str, str, list[str]]:
    """Means by policy, source, title and notes."""
    from pagesim.simulation import Limits, simulate

    on, words = machine(slots, (policy,), options)
    means = on.keywords(policy, given(options))
    try:
        run = simulate(workload, policy=policy, saturated=saturated, **means)
    except RuntimeError as error:  # swapping found no room
        raise BadInput(str(error)) from error
    ignored, total = run.requests.num_ignored, len(run.requests)
    if not run.iterations:
        raise BadInput(
            f"none of the {total} requests can be served with --slots {run.pool.slots} and "
            f"--max-len {options['max_model_len'] or Limits().max_model_len}: raise one of them"
        )
    notes = [words]
    notes += [f"{ignored} of {total} requests are too long and were ignored."] if ignored else []
    title = f"Memory waste, {run.workload.name}"
    return {policy: run.waste.mean()}, run.workload.source, title, notes
