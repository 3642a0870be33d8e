"""`pagesim waste`: where the memory goes, in percent."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from pagesim.commands.common import (
    INPUT_FILE,
    OUTPUT_FILE,
    Answer,
    BadInput,
    blaming,
    check_out,
    example,
    finish,
    with_file_name,
)
from pagesim.commands.memory import given, machine, memory_options, table

PRESET = "paper-figure-2"


@click.command(epilog=example("pagesim waste sharegpt.csv --policy max --out waste.svg"))
@click.argument("file", required=False, type=INPUT_FILE)
@click.option("--preset", type=click.Choice([PRESET]), help="Figure 2 of the paper, no FILE.")
@memory_options
@click.option("--in-time", is_flag=True, help="Let requests arrive as FILE says, not all at once.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--out", type=OUTPUT_FILE, help="Draw it: a .svg, .png or .pdf file.")
@click.pass_context
def waste(
    context: click.Context,
    /,
    file: Path | None,
    preset: str | None,
    policy: str,
    slots: str | None,
    in_time: bool,
    as_json: bool,
    out: Path | None,
    **options: Any,
) -> None:
    """Say where the slots of the cache are while the requests of FILE are served.

    FILE has the columns arrival_s, prompt_tokens, output_tokens, or is one of the published traces
    that pagesim.workload.load knows. All requests wait from the start, unless --in-time; the mean
    is over the iterations of the steady state. Exit code 2 when FILE cannot be used.
    """
    from pagesim.errors import UsageError
    from pagesim.workload import WorkloadError

    if (file is None) == (preset is None):
        raise BadInput(f"give a FILE of requests, or --preset {PRESET}")
    if out is not None and out.suffix not in (".svg", ".png", ".pdf"):
        raise BadInput(f"--out {out}: must end in .svg, .png or .pdf")
    check_out("--out", out, *([file] if file else []))
    policies: Mapping[str, Mapping[str, float]]
    published: Mapping[str, Mapping[str, float]] | None = None
    try:
        if file is None:
            from pagesim.studies.paper import figure_2

            figure = figure_2()
            policies, published = figure.ours, figure.published
            source, title = figure.source, figure.title
            notes = [figure.method, figure.calibration]
        else:
            policies, source, title, notes = _of_file(file, policy, slots, not in_time, options)
    except (UsageError, WorkloadError, OSError, RuntimeError) as error:
        raise BadInput(str(error) if file is None else with_file_name(file, error)) from error
    value: dict[str, Any] = {"policies": policies, "source": source}
    lines = [*table(policies), *notes, f"Source: {source}"]
    if out is not None:
        _draw(out, policies, published, title, [*notes, f"Source: {source}"])
        value["out"] = str(out)
        lines.append(f"{out} shows it.")
    finish(context, Answer(True, "\n".join(lines), value), as_json)


def _of_file(
    file: Path, policy: str, slots: str | None, saturated: bool, options: dict[str, Any]
) -> tuple[dict[str, dict[str, float]], str, str, list[str]]:
    from pagesim.simulation import Limits, simulate
    from pagesim.workload import load

    means, words = machine(slots, (policy,), options)
    run = simulate(load(file), policy=policy, saturated=saturated, **means, **given(options))
    ignored, total = run.requests.num_ignored, len(run.requests)
    if not run.iterations:
        raise BadInput(
            f"{file}: none of the {total} requests can be served with --slots {run.pool.slots} and "
            f"--max-len {options['max_model_len'] or Limits().max_model_len}: give more"
        )
    notes = [words]
    notes += [f"{ignored} of {total} requests are too long and were ignored."] if ignored else []
    return (
        {policy: run.waste.mean()},
        run.workload.source,
        f"Memory waste, {run.workload.name}",
        notes,
    )


def _draw(
    out: Path,
    policies: Mapping[str, Mapping[str, float]],
    published: Mapping[str, Mapping[str, float]] | None,
    title: str,
    notes: list[str],
) -> None:
    import figures

    with blaming(out):
        figures.save(
            figures.memory_waste(policies, published=published, title=title, notes=notes), out
        )
