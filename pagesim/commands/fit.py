"""`pagesim fit`: the lengths of a request file as a table that synthetic streams are drawn from."""

from __future__ import annotations

from pathlib import Path

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
from pagesim.files import replacing


@click.command(epilog=example("pagesim fit trace.csv --name mine --source … --licence … -o x.json"))
@click.argument("file", type=INPUT_FILE)
@click.option("--name", required=True, help="What the summary is called.")
@click.option("--source", required=True, help="Where the data is from: whom to cite.")
@click.option("--licence", required=True, help="The licence of the data.")
@click.option("-o", "--out", type=OUTPUT_FILE, required=True, help="The summary to write.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def fit(
    context: click.Context,
    file: Path,
    name: str,
    source: str,
    licence: str,
    out: Path,
    as_json: bool,
) -> None:
    """Write the joint histogram of prompt and answer lengths of a request FILE.

    The summary holds no request, only how many have about which lengths. Exit code 2 when FILE or
    --out cannot be used.
    """
    from pagesim.workload import WorkloadError, load
    from pagesim.workload.fit import summarize

    check_out("--out", out, file)
    try:
        fitted = summarize(load(file), name, source, licence)
    except (WorkloadError, OSError) as error:
        raise BadInput(with_file_name(file, error)) from error
    with blaming(out), replacing(out) as opened:
        opened.write(fitted.to_json().encode())
    size = out.stat().st_size
    value = {"out": str(out), "requests": fitted.requests, "bytes": size}
    text = f"{out}: {fitted.requests:,} requests, {size:,} bytes"
    finish(context, Answer(True, text, value), as_json)
