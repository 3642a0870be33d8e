"""Whether a sequence of the maximum length fits, and if not, which length does.

vLLM refuses to start if the blocks that such a sequence may need are more than it has without the
null block. The message names the length that would fit; ``--max-model-len -1`` takes it.

Source: vLLM V1, ``get_kv_cache_configs`` in ``vllm/v1/core/kv_cache_utils.py``.
"""

from collections.abc import Callable, Sequence
from typing import Any

from pagesim.errors import UsageError
from pagesim.sizing.kv_cache_config import blocks_per_sequence
from pagesim.sizing.kv_cache_groups import KVCacheGroupSpec


class NotEnoughMemoryError(UsageError):
    """The cache cannot hold one sequence of the maximum length.

    ``estimated_max_model_len`` is the longest one that it can hold; 0 if there is none. ``size`` is
    the `CacheSize` that is too small, if one was computed.
    """

    size: Any = None

    def __init__(self, message: str, estimated_max_model_len: int) -> None:
        super().__init__(message)
        self.estimated_max_model_len = estimated_max_model_len


def estimated_max_model_len(
    groups: Sequence[KVCacheGroupSpec],
    usable_blocks: int,
    max_model_len: int,
    max_in_flight_tokens: int,
) -> int:
    """The longest sequence of at most ``max_model_len`` tokens that fits into so many blocks."""
    return longest_that_fits(
        lambda tokens: blocks_per_sequence(groups, tokens, max_in_flight_tokens),
        usable_blocks,
        max_model_len,
    )


def longest_that_fits(needs: Callable[[int], int], usable_blocks: int, most: int) -> int:
    """The longest sequence of at most ``most`` tokens that ``needs`` no more blocks than these."""
    fits, too_long = 0, most + 1
    while too_long - fits > 1:
        tokens = (fits + too_long) // 2
        if needs(tokens) <= usable_blocks:
            fits = tokens
        else:
            too_long = tokens
    return fits


def check_enough_memory(
    groups: Sequence[KVCacheGroupSpec],
    num_blocks: int,
    max_model_len: int,
    max_in_flight_tokens: int,
) -> None:
    """NotEnoughMemoryError unless a sequence of ``max_model_len`` tokens fits in the blocks."""
    needed = blocks_per_sequence(groups, max_model_len, max_in_flight_tokens)
    if needed <= num_blocks - 1:
        return
    longest = estimated_max_model_len(groups, num_blocks - 1, max_model_len, max_in_flight_tokens)
    advice = (
        f"the estimated maximum length is {longest:,}: give a max_model_len of at most that (or "
        "-1), or more memory"
        if longest
        else "not even one token fits: give more memory"
    )
    raise NotEnoughMemoryError(
        f"a sequence of max_model_len {max_model_len:,} tokens needs {needed:,} blocks, and there "
        f"are {max(num_blocks - 1, 0):,} without the null block; {advice}",
        longest,
    )
