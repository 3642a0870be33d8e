"""`pagesim fit`: the lengths in a request file as a table that synthetic streams are drawn from."""

from pathlib import Path

import click

from pagesim.commands.common import INPUT_FILE, OUTPUT_FILE, Answer, answering, blaming
from pagesim.files import replacing


@answering("pagesim fit trace.csv --name mine --source … --licence … -o x.json")
@click.argument("file", type=INPUT_FILE)
@click.option("--name", required=True, help="A name for the summary.")
@click.option("--source", required=True, help="The source of the data, for citing it.")
@click.option("--licence", required=True, help="The licence of the data.")
@click.option("-o", "--out", type=OUTPUT_FILE, required=True, help="The summary to write.")
def fit(file: Path, name: str, source: str, licence: str, out: Path) -> Answer:
    """Summarize the lengths in FILE, to draw synthetic requests from.

    FILE is a trace of requests. The summary is the joint histogram of their prompt and output
    lengths: it contains no requests, only how many there are of roughly each length. Exit code 2
    when FILE cannot be read or --out cannot be written.
    """
    from pagesim.workload import WorkloadError, load
    from pagesim.workload.fit import summarize

    with blaming(file, WorkloadError):
        fitted = summarize(load(file), name, source, licence)
    with blaming(out), replacing(out) as opened:
        opened.write(fitted.to_json().encode())
    size = out.stat().st_size
    text = f"{out}: {fitted.requests:,} requests, {size:,} bytes"
    return Answer(True, text, {"out": str(out), "requests": fitted.requests, "bytes": size})
