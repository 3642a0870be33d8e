"""`pagesim waste`: where the memory goes, in percent."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

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
    if (file is None) == (preset is None):
        raise BadInput(f"give a FILE of requests, or --preset {PRESET}")
    if out is not None and out.suffix not in (".svg", ".png", ".pdf"):
        raise BadInput(f"--out {out}: must end in .svg, .png or .pdf")
    found = _figure_2() if file is None else _served(file, policy, slots, not in_time, options)
    notes = [*found.notes, f"Source: {found.source}"]
    value: JsonObject = {"policies": found.policies, "source": found.source}
    lines = [*table(found.policies), *notes]
    if out is not None:
        from pagesim import figures

        means = {"published": found.published, "title": found.title, "notes": notes}
        with blaming(out):
            figures.save(figures.memory_waste(found.policies, **means), out)
        value["out"] = str(out)
        lines.append(f"{out} shows the result.")
    return Answer(True, "\n".join(lines), value)


class Found(NamedTuple):
    """Means in percent by policy, and what is said about them."""

    policies: Mapping[str, Mapping[str, float]]
    source: str
    title: str
    notes: list[str]
    published: Mapping[str, Mapping[str, float]] | None = None


def _figure_2() -> Found:
    """What the paper measured, beside the same from here."""
    from pagesim.studies.paper import figure_2

    paper = figure_2()
    notes = [paper.method, paper.calibration]
    return Found(paper.ours, paper.source, paper.title, notes, paper.published)


def _served(file: Path, policy: str, slots: str | None, saturated: bool, options: Options) -> Found:
    """The means of a file of requests, served by one policy."""
    from pagesim.errors import UsageError
    from pagesim.simulation import Limits, simulate
    from pagesim.workload import WorkloadError, load

    with blaming(file, UsageError, WorkloadError):
        workload = load(file)
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
    return Found({policy: run.waste.mean()}, run.workload.source, title, notes)
