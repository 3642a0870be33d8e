"""In what steps a scheduler with several groups caches and finds: two block sizes.

Source: vLLM V1, ``resolve_kv_cache_block_sizes`` in ``vllm/v1/core/kv_cache_utils.py``.
"""

import math
from collections.abc import Sequence

from pagesim.errors import UsageError
from pagesim.sizing.kv_cache_groups import KVCacheGroupSpec
from pagesim.sizing.kv_cache_spec import MambaSpec


def resolve_kv_cache_block_sizes(
    groups: Sequence[KVCacheGroupSpec],
    *,
    enable_prefix_caching: bool = True,
    prefix_match_unit: int | None = None,
) -> tuple[int, int]:
    """The block size of the scheduler, and that of the hashes.

    A hit ends at a multiple of the first: the least common multiple of the groups' block sizes.
    Tokens are hashed in blocks of the second: the greatest common divisor, or
    ``prefix_match_unit``, which must divide all of them (UsageError).
    """
    sizes = [group.kv_cache_spec.block_size for group in groups]
    scheduler = math.lcm(*sizes)
    states = [one.kv_cache_spec for one in groups if isinstance(one.kv_cache_spec, MambaSpec)]
    if not enable_prefix_caching or any(spec.mamba_cache_mode == "none" for spec in states):
        return scheduler, scheduler
    if len(groups) == 1:
        return scheduler, sizes[0]
    unit = prefix_match_unit or math.gcd(*sizes)
    if any(size % unit for size in sizes):
        raise UsageError(
            f"prefix_match_unit is {unit}, which does not divide the groups' block sizes "
            f"{sorted(set(sizes))}: {math.gcd(*sizes)} divides all of them"
        )
    return scheduler, unit
