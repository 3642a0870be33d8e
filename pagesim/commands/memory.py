"""What `pagesim simulate` and `pagesim waste` share: the memory, and how its use is reported.

The options are the fields of `Paged`, `PagedV1` and `Limits`, which are declared only there.
"""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import click

from pagesim.commands.common import Answer, BadInput, Count, NamedInput, Options
from pagesim.errors import UsageError
from pagesim.files.jsonl import JsonObject
from pagesim.simulation import PAPER_POOL, POLICIES, Limits, Paged, PagedV1
from pagesim.simulation.limits import GPU
from pagesim.simulation.machine import NAMES, Machine
from pagesim.sizing import Pool
from pagesim.sizing.hardware import CARDS, parameters

COUNT = Count()

Command = Callable[..., Answer]
Engines = dict[str, Field[Any]]
"""A field of the policies that have it, by their names."""


def memory_options(command: Command) -> Command:
    """Add ``policy``, ``slots`` and the fields to a command; those not given are None."""
    declared: list[Callable[[Command], Command]] = [
        click.option(
            "--policy",
            type=click.Choice(list(POLICIES)),
            default="paged",
            help="paged is vLLM V0 and v1 is vLLM V1; the others manage memory as servers did "
            "before paging.",
        ),
        click.option(
            "--pool",
            "--slots",
            "slots",
            type=NamedInput(),
            help="The number of slots in the pool, or the output of pagesim size --json: a file, "
            f"or - for stdin.  [default: as many as --kv-gib holds; {PAPER_POOL.slots} if no "
            "machine is named]",
        ),
        click.option(
            "--model", help="The name of a known model, such as llama-3.1-8b.  [default: opt-13b]"
        ),
        click.option("--gpu", help=f"The GPU: {', '.join(CARDS)}.  [default: {GPU}]"),
        click.option(
            "--kv-gib",
            type=float,
            help="GiB for keys and values on each GPU.  [default: what is left of 90 % of the "
            "GPU's memory after the weights]",
        ),
        click.option("--tp", type=COUNT, help="Number of GPUs that share the model.  [default: 1]"),
        *(_option({"": one}) for one in fields(Limits)),
        *(_option(of_engine) for of_engine in _page_fields().values()),
    ]
    for option in reversed(declared):
        command = option(command)
    return command


def machine(
    slots: str | None, policies: tuple[str | None, ...], options: Options
) -> tuple[Machine, str]:
    """The machine that the options name, and a description of it.

    The output of `size` also sets the block size and the model; if nothing is known of that model's
    weights, a line on stderr says so.
    """
    named = {name: options.pop(name) for name in NAMES}
    pool = None
    if slots is not None:
        pool = _pool(slots, policies, options)
        named["model"] = named["model"] or _clock_of(pool)
    found, words = Machine.of(**named, pool=pool), ""
    if named["model"] is None or named["gpu"] is None:
        words = ", assumed; choose others with --model, --gpu, --kv-gib or --pool"
    return found, f"{found}{words}"


def _pool(text: str, policies: tuple[str | None, ...], options: Options) -> Pool:
    if text.strip().lstrip("+-").isdigit():
        slots = int(text)
        if not 1 <= slots <= sys.maxsize:
            raise BadInput(f"'--pool' / '--slots': {slots} is not between 1 and {sys.maxsize}")
        return Pool(slots)
    try:
        size = json.loads(sys.stdin.read() if text == "-" else Path(text).read_text("utf-8"))
        low, block_size = size["tokens"][0], size["block_size"]
        is_v1, count = size.get("engine") == "v1", size.get("num_groups", 1)
        if is_v1 and count > 1 and options["groups"] is not None:  # padding included
            low = -(-size["num_gpu_blocks"][0] * size["block_bytes"] // size["bytes_per_token"])
        elif is_v1:  # with the null block; groups share the blocks equally
            low = size["num_gpu_blocks"][0] // count * block_size
        pool = Pool(low, str(size["model"]))
    except (OSError, ArithmeticError, ValueError, TypeError, LookupError, RecursionError) as error:
        raise BadInput(
            f"--pool {text}: must be a number of slots, or the output of pagesim size --json: a "
            f"file, or - for stdin ({error})"
        ) from error
    if {"paged", "v1"}.intersection(policies) and options["block_size"] is None:
        options["block_size"] = block_size
    return pool


def _clock_of(pool: Pool) -> str | None:
    """The model of `size`'s output, if its weights are known: they give the clock."""
    if not pool.name:
        return None
    try:
        parameters(pool.name)
    except UsageError:
        words = f"--pool: the weights of {pool.name!r} are unknown, so times are those of the"
        click.echo(f"pagesim: {words} default model; choose one with --model", err=True)
        return None
    return pool.name


def given(options: Options, *policies: str) -> JsonObject:
    """The fields given on the command line as keywords of `simulate`.

    With ``policies``, those of the first, and those that apply to none of them: it refuses them.
    """
    known = {
        name: {one.metadata.get("called", one.name) for one in fields(POLICIES[name])}
        for name in policies
    }
    others = set().union(*known.values()) - known[policies[0]] if policies else set()
    return {
        name: value for name, value in options.items() if value is not None and name not in others
    }


def _page_fields() -> dict[str, Engines]:
    """The fields of both paged engines: by name, then by policy."""
    found: dict[str, Engines] = {}
    for policy in (Paged, PagedV1):
        for one in fields(policy):
            if one.metadata:
                name = one.metadata.get("called", one.name)
                found.setdefault(name, {})[policy.name] = one
    return found


def _option(engines: Engines) -> Callable[[Command], Command]:
    """A field as an option of the same name. The policy itself applies the default."""
    one = next(iter(engines.values()))
    helps: dict[str, list[str]] = {}
    for name, each in engines.items():
        helps.setdefault(each.metadata["help"], []).append(name)
    text = " ".join(
        f"{' and '.join(of)}: {words[0].lower()}{words[1:]}" if of[0] else words
        for words, of in helps.items()
    )
    flag = "--" + one.name.replace("_", "-")
    flags = (flag, *one.metadata["flags"], one.name)
    defaults = {name: _words(each.default) for name, each in engines.items()}
    default = one.metadata.get("derived", _words(one.default))
    if len(set(defaults.values())) > 1:
        default = ", ".join(f"{value} for {name}" for name, value in defaults.items())
    text += f"  [default: {default}]"
    if isinstance(one.default, bool):
        if any(each.default for each in engines.values()):
            flags = (f"{flag}/--no-{flag[2:]}", *flags[1:])
        return click.option(*flags, is_flag=True, default=None, help=text)
    if choices := one.metadata.get("choices"):
        return click.option(*flags, type=click.Choice(choices), help=text)
    if isinstance(one.default, float):
        return click.option(*flags, type=float, help=text)
    if one.metadata.get("text"):
        return click.option(*flags, help=text)
    least = one.metadata.get("minimum", 1)
    return click.option(*flags, type=Count(least), help=text)


def _words(default: object) -> str:
    if isinstance(default, bool):
        return "on" if default else "off"
    return "none" if default is None else str(default)


def table(policies: Mapping[str, Mapping[str, float]]) -> list[str]:
    """The means as aligned lines: percentages of the pool, and the batch."""
    columns = list(dict.fromkeys(part for row in policies.values() for part in row))
    head = f"{'% of the slots':<16}" + "".join(f"{part:>10}" for part in columns)
    return [head] + [
        f"{name:<16}" + "".join(f"{row[part]:>10.1f}" for part in columns)
        for name, row in policies.items()
    ]
