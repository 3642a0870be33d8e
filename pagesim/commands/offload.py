"""`pagesim offload`: when loading a prefix from the CPU beats computing it again."""

from pathlib import Path

import click

from pagesim.commands.common import OUTPUT_FILE, Answer, BadInput, Count, answering, blaming
from pagesim.sizing.hardware import CARDS
from pagesim.sizing.link import LINKS
from pagesim.studies.crossover import SHARE, WAIT, LoadOrCompute, shown

LENGTHS = (512, 1_024, 2_048, 4_096, 8_192, 16_384)
"""What the table has, in tokens."""


@answering("pagesim offload --model llama-3.1-8b --gpu h100 --link pcie5")
@click.option("--model", required=True, help="The name of a known model, such as llama-3.1-8b.")
@click.option("--gpu", default="h100", help=f"The GPU: {', '.join(CARDS)}.")
@click.option("--tp", type=Count(), default=1, help="Number of GPUs that share the model.")
@click.option(
    "--link",
    default="pcie4",
    help=f"What connects each GPU with the CPU: {', '.join(LINKS)}, or its bytes per second each "
    "way, such as 25GB.",
)
@click.option(
    "--share", default=SHARE, help="The share of the GPU's operations per second that a step uses."
)
@click.option("--wait-ms", default=1e3 * WAIT, help="Milliseconds until a load begins: a step.")
@click.option("-o", "--out", type=OUTPUT_FILE, help="Draw it into a .svg, .png or .pdf file.")
def offload(
    model: str, gpu: str, tp: int, link: str, share: float, wait_ms: float, out: Path | None
) -> Answer:
    """Say when loading a prefix beats computing it.

    A tier on the CPU keeps the keys and values that the GPU has no room for. A request whose prefix
    is there may load it over the link, or compute it again, as without the tier. This command says
    from how many tokens on loading is faster. Exit code 1 if it is faster only from more tokens on
    than the model allows.
    """
    if out is not None and out.suffix.lower() not in (".svg", ".png", ".pdf"):
        raise BadInput(f"--out {out}: must end in .svg, .png or .pdf")
    one = LoadOrCompute.of(model, gpu, link, tp, share=share, wait_seconds=wait_ms / 1e3)
    lengths = [n for n in LENGTHS if one.longest is None or n <= one.longest]
    rows = [(n, 1e3 * one.load(n), 1e3 * one.compute(n)) for n in lengths]
    lines = [
        f"{'a token':<14}{one.bytes_per_token:,.0f} bytes in all layers",
        f"{'to load':<14}{1e6 * one.load_per_token:.1f} us a token, after {wait_ms:g} ms",
        f"{'to compute':<14}{1e6 * one.compute_per_token:.1f} us a token, and its attention",
        f"{'crossover':<14}loading is faster from {shown(one.crossover())} tokens on",
        f"{'tokens':>8}{'load, ms':>12}{'compute, ms':>14}",
        *(f"{n:>8,}{load:>12.1f}{compute:>14.1f}" for n, load, compute in rows),
    ]
    value = {
        "model": one.model,
        "link": one.link.name,
        "bytes_per_token": one.bytes_per_token,
        "load_s_per_token": one.load_per_token,
        "compute_s_per_token": one.compute_per_token,
        "crossover": one.crossover(),
        "rows": [{"tokens": n, "load_ms": load, "compute_ms": both} for n, load, both in rows],
    }
    if out is not None:
        from pagesim import figures

        with blaming(out):
            figures.save(figures.load_or_compute({one.model: [one]}), out)
        lines.append(f"{out} shows it.")
        value["out"] = str(out)
    return Answer(one.longest is None or one.crossover() <= one.longest, "\n".join(lines), value)
