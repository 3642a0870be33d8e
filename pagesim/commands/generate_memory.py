"""The pages of `pagesim generate`: which policy serves the prompts, and with how many blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pagesim.commands.common import BadInput, Options

if TYPE_CHECKING:
    from pagesim.kernels.tiny_llm import Model
    from pagesim.simulation import Limits, Paged, PagedV1


def memory_of(
    network: Model, options: Options, prompts: list[list[int]], longest: int | None
) -> tuple[Paged | PagedV1, Limits, int]:
    """The policy, the limits of a step, and how many blocks."""
    from pagesim.simulation import Limits, Paged

    block_size, budget = options["block_size"], options["max_num_batched_tokens"]
    members = options["beams"] or options["n"]
    lengths = [len(prompt) + options["max_tokens"] for prompt in prompts]
    needed = members * sum(-(-length // block_size) for length in lengths)
    # Beyond them, 0.01 for the watermark, and what a group asks for before it goes on.
    enough = needed + needed // 50 + members
    blocks = options["blocks"] or enough
    limits = Limits(
        longest or max(lengths), options["max_num_seqs"] or min(256, budget or 256), budget
    )
    caching, mode = options["prefix_caching"], options["preemption"]
    if options["engine"] == "v1":
        v1 = _paged_v1(network, options)
        return v1, limits, options["blocks"] or enough * len(v1.groups or "1")
    mode = mode or ("swap" if members > 1 else None)
    cpu_blocks = options["cpu_blocks"]
    policy = Paged(
        block_size,
        enable_prefix_caching=bool(caching),
        enable_chunked_prefill=budget is not None,
        preemption_mode=mode,
        num_cpu_blocks=cpu_blocks if cpu_blocks is not None else blocks * (mode == "swap"),
    )
    return policy, limits, blocks


def _paged_v1(network: Model, options: Options) -> PagedV1:
    """The policy of V1: a group for each kind of the model's layers."""
    from pagesim.generation.groups import with_groups_of
    from pagesim.simulation import PagedV1

    if options["preemption"] == "swap":
        raise BadInput(
            "vLLM V1 does not swap: omit --preemption. With --cpu-blocks it keeps copies of "
            "prompts on the CPU"
        )
    cached, cpu_blocks = options["prefix_caching"] is not False, options["cpu_blocks"] or 0
    policy = PagedV1(options["block_size"], enable_prefix_caching=cached, cpu_blocks=cpu_blocks)
    return with_groups_of(network, policy)
