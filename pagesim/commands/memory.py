"""What `pagesim simulate` and `pagesim waste` share: which memory, and how its use is told.

The options are the fields of `Paged` and `Limits`: each is declared there, and nowhere else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import Field, fields
from typing import Any

import click

from pagesim.simulation import PAPER_POOL, POLICIES, Limits, Paged
from pagesim.simulation.waste import PARTS

MOST = sys.maxsize
"""As many as can be numbered in 64 bits."""
COUNT = click.IntRange(1, MOST)


def memory_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command take ``policy``, ``slots`` and the fields; what is not given is None."""
    declared = [
        click.option(
            "--policy", type=click.Choice(list(POLICIES)), default="paged", show_default=True
        ),
        click.option(
            "--slots",
            type=COUNT,
            default=PAPER_POOL.slots,
            show_default=True,
            help="Tokens the pool holds.",
        ),
        *(_option(one, "") for one in fields(Limits)),
        *(_option(one, "Paged: ") for one in fields(Paged) if one.metadata),
    ]
    for option in reversed(declared):
        command = option(command)
    return command


def given(options: Mapping[str, Any], *kinds: Any) -> dict[str, Any]:
    """The fields that a command line names, as keywords of `simulate`; by default all of them."""
    names = [one.name for kind in kinds or (Limits, Paged) for one in fields(kind)]
    return {name: options[name] for name in names if options.get(name) is not None}


def _option(one: Field[Any], prefix: str) -> Callable[..., Any]:
    """A field as an option of the same name. Its default is the policy's, so nothing is passed."""
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
    return click.option(*flags, type=click.IntRange(least, MOST), help=text)


def table(policies: Mapping[str, Mapping[str, float]]) -> list[str]:
    """The means as aligned lines: percent of the pool, and the batch."""
    head = f"{'% of the slots':<16}" + "".join(f"{part:>10}" for part in (*PARTS, "batch"))
    return [head] + [
        f"{name:<16}" + "".join(f"{row[part]:>10.1f}" for part in (*PARTS, "batch"))
        for name, row in policies.items()
    ]
