"""What `pagesim size` takes from the lines of a log (--line), and the requests of --length."""

from collections.abc import Collection
from dataclasses import replace

import click

from pagesim.commands.common import BadInput, Options
from pagesim.sizing import ByteRange, CacheSize
from pagesim.sizing.logged import blocks_of, whole
from pagesim.sizing.start_lines import Facts
from pagesim.sizing.v0 import kv_cache_memory

TAKEN = (
    *("engine", "max_model_len", "tensor_parallel_size", "pipeline_parallel_size"),
    *("data_parallel_size", "kv_cache_dtype", "max_num_batched_tokens", "max_num_seqs"),
    *("num_gpu_blocks_override", "enable_prefix_caching", "gpu_memory_utilization"),
)
"""The options that a line may state; one on the command line comes first."""


MOST = 2**31
"""Tokens of a request, at most."""


def lengths(_: click.Context, __: click.Parameter, value: str | None) -> list[tuple[int, int]]:
    """The lengths of requests, such as 2000,1000+4000: the tokens of a prompt and of its output."""
    found = []
    for one in () if value is None else value.split(","):
        parts = one.strip().split("+")
        if len(parts) > 2 or not all(part.isascii() and part.isdigit() for part in parts):
            raise BadInput(f"--length: {one!r} is no length such as 2000 or 1000+4000")
        prompt, output = (*(int(part[:12]) for part in parts), 0)[:2]
        if prompt < 1 or prompt + output > MOST:
            raise BadInput(f"--length: {one!r} is not between 1 and {MOST:,} tokens")
        found.append((prompt, output))
    return found


def with_facts(options: Options, facts: Facts, given: Collection[str]) -> Options:
    """The options, with what the lines state for those that were not given."""
    taken = {name: facts[name] for name in TAKEN if name in facts and name not in given}
    if "max_model_len" not in given and "refused_max_model_len" in facts:
        taken["max_model_len"] = facts["refused_max_model_len"]
    if "block_size" not in given and "attention_block_size" not in facts and "block_size" in facts:
        taken["block_size"] = facts["block_size"]
    return options | taken


def logged_memory(facts: Facts, options: Options) -> ByteRange | None:
    """The memory for the cache that the lines state, or that is left beside a stated peak."""
    for name in ("memory", "available"):
        if isinstance(found := facts.get(name), ByteRange):
            return found
    total, peak, other = (facts.get(name) for name in ("total", "peak", "non_torch"))
    if isinstance(total, ByteRange) and isinstance(peak, ByteRange):
        if isinstance(other, ByteRange):
            peak = ByteRange(peak.low + other.low, peak.high + other.high)
        share = options["gpu_memory_utilization"]
        return kv_cache_memory(total, 0.9 if share is None else share, peak)
    return None


def logged_blocks(facts: Facts, size: CacheSize) -> tuple[int, int] | None:
    """The blocks that the lines state for this model; (low, high).

    With several groups, the tokens of the log are those of as many longest sequences as fit.
    """
    tokens, length = facts.get("tokens"), facts.get("max_model_len")
    if size.engine == "v1" and len(size.groups) > 1 and whole(tokens) and whole(length):
        limited = replace(size, max_model_len=length)
        needs = limited.high.blocks_per_sequence(max(length, 1), size.max_in_flight_tokens)
        number = round(tokens * needs / max(length, 1))
        return number, number
    return blocks_of(facts, size.block_size, size.engine)
