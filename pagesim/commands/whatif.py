"""`pagesim whatif`: who is admitted in the next step, who waits, and who must make room."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from pagesim.commands.common import OUTPUT_FILE, Answer, BadInput, Count, answering, blaming
from pagesim.decision import Decision, what_if
from pagesim.v1.group_words import NOTATION

NAMED = "NAME=TOKENS"


Command = Callable[..., Answer]


def _requests(name: str, help: str) -> Callable[[Command], Command]:
    return click.option(
        f"--{name}",
        multiple=True,
        metavar=NAMED,
        type=click.STRING,
        help=f"{help}  [default: none]",
    )


def _switch(name: str, help: str) -> Callable[[Command], Command]:
    flag = f"--{name.replace('_', '-')}/--no-{name.replace('_', '-')}"
    return click.option(flag, name, default=None, help=help)


@answering("pagesim whatif --blocks 40 --running a=400 --waiting b=300 -o decision.svg")
@click.option(
    "--blocks",
    type=Count(),
    required=True,
    help="Blocks in the pool. V1 uses one less: block 0 is its null block.",
)
@click.option("--block-size", type=Count(), default=16, help="Slots per block.")
@click.option("--engine", type=click.Choice(("v0", "v1")), default="v1", help="The engine of vLLM.")
@_requests("running", "A request that runs. Its newest token has no slot yet.")
@_requests("waiting", "A request that waits.")
@_requests("swapped", "v0: a request whose blocks are on the CPU.")
@_requests("cached", "A request that has left: its full blocks can be found.")
@click.option("--request", help="Whom the question is about.  [default: the first that waits]")
@click.option(
    "--watermark",
    type=float,
    help="Fraction of the blocks that admission keeps free.  [default: 0.01 for v0, 0.0 for v1]",
)
@click.option(
    "--policy", type=click.Choice(("fcfs", "priority")), default="fcfs", help="Who goes first."
)
@click.option(
    "--preemption-mode",
    type=click.Choice(("recompute", "swap")),
    help="v0: how a victim gives up its blocks.  [default: recompute]",
)
@click.option(
    "--cpu-blocks", "num_cpu_blocks", type=Count(0), help="v0: blocks on the CPU.  [default: 0]"
)
@click.option("--max-num-seqs", type=Count(), help="Maximum requests that run.  [default: 256]")
@click.option(
    "--max-num-batched-tokens", type=Count(), help="Maximum tokens per step.  [default: enough]"
)
@click.option(
    "--max-len", "max_model_len", type=Count(), help="Maximum tokens per request.  [default: any]"
)
@click.option("--sliding-window", type=Count(), help="Tokens of the window.  [default: none]")
@click.option("--groups", help=f"v1: groups of layers, {NOTATION}.  [default: one]")
@_switch("enable_prefix_caching", "Reuse full blocks for equal prefixes.  [default: on for v1]")
@_switch("enable_chunked_prefill", "Compute prompts in chunks.  [default: on for v1]")
@_switch("scheduler_reserve_full_isl", "v1: admit a prompt only if it fits.  [default: on]")
@click.option(
    "-o",
    "--out",
    type=OUTPUT_FILE,
    help="Draw the pool before and after (.svg, .png or .pdf), or write a page (.html).",
)
def whatif(
    blocks: int,
    running: tuple[str, ...],
    waiting: tuple[str, ...],
    swapped: tuple[str, ...],
    cached: tuple[str, ...],
    out: Path | None,
    **options: Any,
) -> Answer:
    """Say what a scheduler decides next, and by which numbers.

    Describe the pool and the requests, and the engine's scheduler decides one step: is the request
    admitted, who is preempted, and where does the victim wait?

    A request is NAME=TOKENS, or NAME=BLOCKS such as 'a=57 blocks'. After that, separated by commas:
    priority=N, prefix=OTHER:N (its first N tokens are those of OTHER), computed=N (how many of its
    tokens are computed). List running and waiting requests in their order.

    Exit code 0 if the request runs after the step, 1 if not, 2 if the state cannot be built.
    """
    if out is not None and out.suffix.lower() not in (".svg", ".png", ".pdf", ".html"):
        raise BadInput(f"--out {out}: must end in .svg, .png, .pdf or .html")
    parts = {"running": running, "waiting": waiting, "swapped": swapped, "cached": cached}
    given = {name: value for name, value in options.items() if value is not None}
    given |= {part: _named(f"--{part}", texts) for part, texts in parts.items()}
    found = what_if(blocks, **given)
    value, text = found.summary(), str(found)
    if out is not None:
        with blaming(out):
            _draw(found, out)
        value["out"] = str(out)
        text += f"\n{out} shows it."
    return Answer(found.ok, text, value)


def _named(option: str, texts: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, is_set, rest = text.partition("=")
        if not (name and is_set):
            raise BadInput(f"{option} {text}: must be {NAMED}, such as a=400")
        if name in found:
            raise BadInput(f"{option} {text}: two requests are called {name}")
        found[name] = rest
    return found


def _draw(found: Decision, out: Path) -> None:
    if out.suffix.lower() == ".html":
        found.run.to_html(out, str(found).splitlines()[0])
        return
    from pagesim import figures

    figures.save(figures.decision(found), out)
