"""What `pagesim simulate` and `pagesim waste` share: the memory, and how its use is reported.

The options are the fields of `Paged` and `Limits`, which are declared only there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import click

from pagesim.commands.common import BadInput, Count
from pagesim.simulation import PAPER_POOL, POLICIES, Limits, Paged, Roofline
from pagesim.simulation.waste import PARTS
from pagesim.sizing import Pool
from pagesim.sizing.hardware import CARDS

COUNT = Count()


def memory_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``policy``, ``slots`` and the fields to a command; those not given are None."""
    declared = [
        click.option("--policy", type=click.Choice(list(POLICIES)), default="paged"),
        click.option(
            "--pool",
            "--slots",
            "slots",
            help="Tokens in the pool; or the output of pagesim size --json: a file, or - (stdin).",
        ),
        click.option("--model", help="The name of a known model, like llama-3.1-8b."),
        click.option("--gpu", help=f"The GPU: {', '.join(CARDS)}."),
        click.option("--kv-gib", type=float, help="GiB for keys and values on each GPU."),
        click.option("--tp", type=COUNT, help="GPUs that share the model."),
        *(_option(one, "") for one in fields(Limits)),
        *(_option(one, "Paged: ") for one in fields(Paged) if one.metadata),
    ]
    for option in reversed(declared):
        command = option(command)
    return command


def machine(
    slots: str | None, policies: tuple[str | None, ...], options: dict[str, Any]
) -> tuple[dict[str, Any], str]:
    """The pool and the clock as keywords of `simulate`, and a description of them.

    Without any of the options they are the paper's. A file from `size` also sets the block size.
    """
    named = {name: options.pop(name) for name in ("model", "gpu", "kv_gib", "tp")}
    model, gpu = named["model"] or "opt-13b", named["gpu"] or "a100-40gb"
    tp, kv_gib = named["tp"] or 1, named["kv_gib"]
    clock = Roofline.for_model(model, gpu, tp)
    if slots is not None and kv_gib is not None:
        raise BadInput("give one of --pool and --kv-gib: both set the size of the pool")
    if slots is not None:
        pool = _pool(slots, policies, options)
    elif kv_gib is not None:
        pool = Pool.for_model(model, kv_gib, tp)
    elif named["model"] or named["gpu"] or named["tp"]:
        pool = Pool.for_card(model, gpu, tp)
    else:
        pool = PAPER_POOL
    name = f" ({pool.name})" if pool.name else ""
    words = f"{pool.slots:,} slots{name}; times of {model} on {tp} ideal {gpu}"
    if named["model"] is None or named["gpu"] is None:
        words += ", assumed unless --model, --gpu, --kv-gib or --pool say otherwise"
    return {"pool": pool, "cost_model": clock}, words


def _pool(text: str, policies: tuple[str | None, ...], options: dict[str, Any]) -> Pool:
    if text.strip().lstrip("+-").isdigit():
        slots = int(text)
        if not 1 <= slots <= sys.maxsize:
            raise BadInput(f"'--pool' / '--slots': {slots} is not between 1 and {sys.maxsize}")
        return Pool(slots)
    try:
        said = json.loads(sys.stdin.read() if text == "-" else Path(text).read_text("utf-8"))
        low, block_size = said["tokens"][0], said["block_size"]
        pool = Pool(low, str(said["model"]))
    except (OSError, ValueError, TypeError, LookupError, RecursionError) as error:
        raise BadInput(
            f"--pool {text}: must be a number of tokens, or the output of pagesim size --json, in "
            f"a file or - for stdin ({error})"
        ) from error
    if "paged" in policies and options["block_size"] is None:
        options["block_size"] = block_size
    return pool


def given(options: Mapping[str, Any], *kinds: Any) -> dict[str, Any]:
    """The fields given on the command line as keywords of `simulate`, by default of both kinds."""
    names = [one.name for kind in kinds or (Limits, Paged) for one in fields(kind)]
    return {name: options[name] for name in names if options.get(name) is not None}


def _option(one: Field[Any], prefix: str) -> Callable[..., Any]:
    """A field as an option of the same name. The policy itself applies the default."""
    words = one.metadata["help"]
    text = prefix + (words[0].lower() + words[1:] if prefix else words)
    flags = ("--" + one.name.replace("_", "-"), *one.metadata["flags"], one.name)
    if isinstance(one.default, bool):
        return click.option(*flags, is_flag=True, default=None, help=text)
    if one.default is not None:
        text += f"  [default: {one.default}]"
    if choices := one.metadata.get("choices"):
        return click.option(*flags, type=click.Choice(choices), help=text)
    if isinstance(one.default, float):
        return click.option(*flags, type=float, help=text)
    least = one.metadata.get("minimum", 1)
    return click.option(*flags, type=Count(least), help=text)


def table(policies: Mapping[str, Mapping[str, float]]) -> list[str]:
    """The means as aligned lines: percentages of the pool, and the batch."""
    head = f"{'% of the slots':<16}" + "".join(f"{part:>10}" for part in (*PARTS, "batch"))
    return [head] + [
        f"{name:<16}" + "".join(f"{row[part]:>10.1f}" for part in (*PARTS, "batch"))
        for name, row in policies.items()
    ]
