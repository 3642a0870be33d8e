"""What `pagesim simulate` and `pagesim waste` share: which memory, and how its use is told."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import click

from pagesim.simulation import PAPER_POOL, POLICIES
from pagesim.simulation.waste import PARTS

MOST = sys.maxsize
"""As many as can be numbered in 64 bits."""
COUNT = click.IntRange(1, MOST)

_OPTIONS = (
    click.option("--policy", type=click.Choice(POLICIES), default="paged", show_default=True),
    click.option(
        "--block-size", type=COUNT, default=16, show_default=True, help="Paged: slots a block."
    ),
    click.option(
        "--slots",
        type=COUNT,
        default=PAPER_POOL.slots,
        show_default=True,
        help="Tokens the pool holds.",
    ),
    click.option(
        "--max-len", type=COUNT, default=2048, show_default=True, help="Longest sequence."
    ),
)


def memory_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command take ``policy``, ``block_size``, ``slots`` and ``max_len``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def table(policies: Mapping[str, Mapping[str, float]]) -> list[str]:
    """The means as aligned lines: percent of the pool, and the batch."""
    head = f"{'% of the slots':<16}" + "".join(f"{part:>10}" for part in (*PARTS, "batch"))
    return [head] + [
        f"{name:<16}" + "".join(f"{row[part]:>10.1f}" for part in (*PARTS, "batch"))
        for name, row in policies.items()
    ]
