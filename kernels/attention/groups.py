"""One step of a model whose layers are in groups (V1): a table for each group, over one pool.

Gemma 3 has five layers with a sliding window to one that attends to all tokens. The windows' blocks
are given back as the window moves on, the others stay: so these layers cannot share a table. Those
that can are a group.

    a sequence of 75 tokens, block size 16, a window of 20

    tokens              0    16   32   48   64
    group 0: full     [ 3  | 9  | 4  | 7  | 12 ]
    group 1: window   [ -1 | -1 | -1 | 5  | 8  ]     -1: the window has left it, nothing reads it

All ids are those of one pool, and a block belongs to one group at a time (`kernels.kv_pools`). So a
kernel needs to know nothing of groups: a layer passes its own group's table, and its window.

    layer     0    1    2    3    4    5    6 …
    group     1    1    1    1    1    0    1 …      a plan for each group, made where a step first
                                                     meets it: not one for each layer

Tested in tests/kernels/attention/test_groups.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from pagesim.kernels.attention.plan import plan_decode
from pagesim.kernels.attention.v2 import paged_attention_v2
from pagesim.kernels.pool import KVTensors
from pagesim.kernels.runtime.inputs import Plan


@dataclass(frozen=True, slots=True)
class GroupStep:
    """What the layers of one group share in a step.

    caches: the group's views of the pool, a layer each, as `kernels.kv_pools` makes them;
    block_tables: int32 [B, max_blocks]; sliding_window: 0 for layers that attend to all tokens.
    """

    caches: KVTensors
    block_tables: torch.Tensor
    sliding_window: int = 0


def paged_attention_groups(
    queries: Sequence[torch.Tensor],
    group_of: Sequence[int],
    groups: Sequence[GroupStep],
    seq_lens: torch.Tensor,
) -> list[torch.Tensor]:
    """Compute a decode step's attention of every layer, each through its own group's table.

    queries: q [B, Hq, D] of each layer; group_of: each layer's group, an index into groups. The
    n-th layer of a group has the n-th of its caches. Tables and lengths are checked once for each
    group. Returns `paged_attention_v2`'s answer for each layer, and raises its errors; ValueError
    if the layers are not those of the groups.
    """
    layers = [list(group_of).count(group) for group in range(len(groups))]
    caches = [len(group.caches.keys) for group in groups]
    if len(queries) != len(group_of) or layers != caches or sum(layers) != len(group_of):
        raise ValueError(
            f"group_of = {list(group_of)} names the groups of {len(group_of)} layers: there are "
            f"{len(queries)} queries, and the groups have caches for {caches} layers"
        )
    places = [iter(zip(*group.caches, strict=True)) for group in groups]
    plans: dict[int, Plan] = {}
    answers = []
    for q, index in zip(queries, group_of, strict=True):
        group, (k_cache, v_cache) = groups[index], next(places[index])
        arguments = q, k_cache, v_cache, group.block_tables, seq_lens
        if index not in plans:
            plans[index] = plan_decode(*arguments, sliding_window=group.sliding_window)
        out = paged_attention_v2(*arguments, sliding_window=group.sliding_window, plan=plans[index])
        assert isinstance(out, torch.Tensor)
        answers.append(out)
    return answers
