"""The KV cache groups of a language model: layers with a window beside layers without."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from pagesim.cache.attention_metadata import tokens_kept
from pagesim.simulation import PagedV1
from pagesim.simulation.paged_v1_groups import PagedV1GroupsServer
from pagesim.simulation.waste_groups import GROUP_PARTS
from pagesim.sizing.kv_cache_groups import get_kv_cache_groups
from pagesim.sizing.kv_cache_spec import FullAttentionSpec, KVCacheSpec, SlidingWindowSpec

if TYPE_CHECKING:
    from pagesim.generation.engine import Engine
    from pagesim.kernels.tiny_llm import Model


class Held(NamedTuple):
    """A group, its layers, and the most blocks that it held in a step."""

    name: str
    layers: int
    blocks: int


def with_groups_of(model: Model, policy: PagedV1) -> PagedV1:
    """The policy with a group for each kind of the model's layers, as V1 makes them.

    A policy that says what its layers are stays as it is.
    """
    windows = model.config.windows
    if policy.groups is not None or policy.sliding_window is not None or not any(windows):
        return policy
    found = get_kv_cache_groups(
        {str(layer): _spec(policy.block_size, window) for layer, window in enumerate(windows)}
    )
    if len(found) == 1:
        return replace(policy, sliding_window=windows[0])
    groups = tuple(group.kv_cache_spec for group in found)
    return replace(policy, groups=groups, group_layers=[len(group.layer_names) for group in found])


def _spec(block_size: int, window: int) -> KVCacheSpec:
    if window:
        return SlidingWindowSpec(block_size, sliding_window=window)
    return FullAttentionSpec(block_size)


def held_by_group(engine: Engine) -> list[Held]:
    """What each group held where it held most; [] if there is only one group."""
    from pagesim.kernels.tiny_llm.paged_attend import deal

    server = engine.server
    if not isinstance(server, PagedV1GroupsServer):
        return []
    specs = server.scheduler.kv_cache_manager.kv_cache_groups
    layers = Counter(deal(engine.model.config.windows, [tokens_kept(spec) for spec in specs]))
    parts, places = len(GROUP_PARTS), server.scheduler.cache_config.block_size
    held = [sum(server.held[at : at + parts]) for at in range(0, len(server.held), parts)]
    return [
        Held(name, layers[group], max(held[group :: len(specs)], default=0) // places)
        for group, name in enumerate(server.group_names)
    ]
