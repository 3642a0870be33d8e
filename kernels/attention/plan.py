"""Plan once a step, run once a layer.

A launcher must look at tables and lengths before it trusts them, and on a GPU it must wait for
them. A model of 28 layers would wait 28 times for the same answer. So ask once and pass it on:

    plan = kernels.plan_decode(q, k_cache, v_cache, block_tables, seq_lens, slot_mapping=slots)
    for layer in model:                                                       # no more waiting
        kernels.reshape_and_cache(key, value, k_cache, v_cache, slots, plan=plan)
        out = kernels.paged_attention_v2(q, k_cache, v_cache, block_tables, seq_lens, plan=plan)

The arguments are those of one layer's call, with the same errors. Other layers have their own q and
caches of the same shapes and dtypes, but must pass the same tables, lengths and slots, unchanged
(torch counts changes in place). Anything else is a ValueError that names both sides. Layers with
different sliding windows need a plan for each window; where V1 has groups of layers, each group has
a table of its own and needs a plan of its own (`kernels.attention.groups`).
"""

import torch

from pagesim.kernels.attention import partitions
from pagesim.kernels.runtime.checks import checked
from pagesim.kernels.runtime.inputs import Options, PagedInputs, Plan


def plan_decode(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor,
    seq_lens: torch.Tensor,
    *,
    sliding_window: int = 0,
    partition_size: int = partitions.PARTITION_SIZE,
    num_partitions: int | None = None,
    slot_mapping: torch.Tensor | None = None,
) -> Plan:
    """Make a plan for `paged_attention_v1` and `paged_attention_v2`, from their arguments.

    slot_mapping: the step's slots, int64 [T]; if they are given, the plan also serves
    `reshape_and_cache`.
    """
    partitions.check(partition_size, num_partitions)
    options = Options(sliding_window=sliding_window)
    inputs = PagedInputs("decode", q, k_cache, v_cache, block_tables, seq_lens, options)
    return partitions.chosen(checked(inputs, slot_mapping), partition_size, num_partitions).found


def plan_prefill(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor,
    query_start_loc: torch.Tensor,
    seq_lens: torch.Tensor,
    *,
    sliding_window: int = 0,
    slot_mapping: torch.Tensor | None = None,
) -> Plan:
    """Make a plan for `paged_prefill`; slot_mapping is as in `plan_decode`."""
    options = Options(sliding_window=sliding_window)
    inputs = PagedInputs(
        "prefill", q, k_cache, v_cache, block_tables, seq_lens, options, query_start_loc
    )
    return checked(inputs, slot_mapping).found


def plan_fused_decode(
    q: torch.Tensor,
    k_new: torch.Tensor,
    v_new: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor,
    context_lens: torch.Tensor,
    *,
    sliding_window: int = 0,
    slot_mapping: torch.Tensor | None = None,
) -> Plan:
    """Make a plan for `fused_decode`; slot_mapping is as in `plan_decode`."""
    options = Options(sliding_window=sliding_window)
    inputs = PagedInputs(
        "fused decode", q, k_cache, v_cache, block_tables, context_lens, options,
        k_new=k_new, v_new=v_new,
    )  # fmt: skip
    return checked(inputs, slot_mapping).found
