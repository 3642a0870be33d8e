"""Into how many partitions should `paged_attention_v2` cut its sequences?

A GPU runs as many programs at a time as it has seats; the others wait for the next wave.

    1 sequence of 4096 tokens, 8 KV heads, 264 seats

    partitions    programs    seats taken    a program reads
         1            8            3 %          4096 tokens      the chip is idle
         8           64           24 %           512 tokens      an eighth each, and a merge
        64          512           two waves       64 tokens      most of the time goes into starting

Partitions have one size, so a ragged batch is split by length: a short sequence stays whole.
"""

import numbers
from dataclasses import replace

import numpy as np
import torch

from pagesim.kernels.attention import configs
from pagesim.kernels.runtime.argument_checks import describe
from pagesim.kernels.runtime.inputs import Numbers, PagedInputs, Plan

# Programs that one multiprocessor holds at a time (each pipelines its loads through shared memory),
# and what starting and merging one costs, in tokens that could be read in that time.
_RESIDENT, _OVERHEAD = 2, 128
_MAX_PARTITIONS = 256
PARTITION_SIZE = 512  # tokens, as in vLLM
_GRID = 65_535
"""Programs along the third axis of a CUDA grid, which is where partitions are."""


def check(partition_size: int, num_partitions: int | None, plan: Plan | None = None) -> None:
    """Check v2's own two keywords: ints of at least 1; None, or as many as a grid has room for."""
    given = {"partition_size": partition_size}
    if num_partitions is not None:
        given["num_partitions"] = num_partitions
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise TypeError(f"{name} must be an int, got {describe(value)}")
        if value < 1:
            raise ValueError(f"{name} = {value}: it must be at least 1")
    if num_partitions is not None and num_partitions > _GRID:
        raise ValueError(f"num_partitions = {num_partitions}: a grid has room for at most {_GRID}")
    if plan is not None and given != {"partition_size": PARTITION_SIZE}:
        raise ValueError(
            f"{list(given)[-1]} is given together with a plan: pass it to plan_decode instead"
        )


def chosen(inputs: PagedInputs, partition_size: int, num_partitions: int | None) -> PagedInputs:
    """The same call, with partitions in its plan."""
    if inputs.found.num_partitions:
        return inputs
    visible = np.minimum(inputs.found.lengths, inputs.options.window)
    longest = max(1, int(visible.max(initial=0)))
    if num_partitions is not None:
        span = -(-longest // num_partitions)
    elif configs.target(inputs.q.device) == "interpreted":
        span = partition_size
    else:
        processors = torch.cuda.get_device_properties(inputs.q.device).multi_processor_count
        tile, seats = configs.decode_config(*configs.sizes(inputs)).tile, processors * _RESIDENT
        span = wave_span(visible, inputs.k_cache.shape[2], seats, partition_size, tile)
    # No partition starts past the end: it would be empty.
    plan = replace(inputs.found, num_partitions=-(-longest // span), span=span)
    return replace(inputs, plan=plan)


def wave_span(
    visible: Numbers, num_kv_heads: int, seats: int, partition_size: int, tile: int
) -> int:
    """Tokens of a partition, for the cheapest number of them where `seats` programs run at a time.

    Two bounds on the time, in tokens: full waves of the longest program; and all work shared evenly
    between the seats, with one longest program starting last. The first is close for equal lengths,
    the second for ragged ones, where short programs make room early. The lower one counts.
    """
    longest = max(1, int(visible.max(initial=0)))
    counts = np.arange(1, min(-(-longest // partition_size), _MAX_PARTITIONS) + 1)
    # Whole tiles, so that only a sequence's last one needs a mask; never less than asked for.
    least = max(-(-longest // counts[-1]), min(partition_size, longest))
    spans = -(-np.maximum(-(-longest // counts), least) // tile) * tile
    programs = num_kv_heads * (-(-visible // spans[:, None])).sum(axis=1)
    program = spans + _OVERHEAD
    waves = -(-programs // seats) * program
    shared = (num_kv_heads * visible.sum() + programs * _OVERHEAD) / seats + program
    costs = np.minimum(waves, shared) + np.where(spans < longest, _OVERHEAD, 0)
    return int(spans[int(costs.argmin())])
