"""The lines about the cache that vLLM 0.33.0 logs at its start, with the figures of a size.

Where the amount of memory was rounded, a line has the two numbers between which the logged one is.
"""

from pagesim.sizing.cache_size import CacheSize
from pagesim.sizing.kv_cache_groups import padding_of


def log_lines(size: CacheSize) -> list[str]:
    """The lines, in the order in which they appear; none of them for V0.

    If a sequence of the maximum length does not fit, vLLM stops before it logs the last one.
    """
    if size.engine == "v0":
        return []
    lines = []
    if (aligned := size.aligned) is not None:
        lines.append(
            f"Setting attention block size to {aligned.block_size} tokens to ensure that "
            "attention page size is >= mamba page size."
        )
        if aligned.mamba_page_size_padded is not None:
            lines.append(
                f"Padding mamba page size by {aligned.padding_percent:.2f}% to ensure that mamba "
                "page size and attention page size are exactly equal."
            )
    lines += [
        f"Add {padding.places} padding layers, may waste at most {padding.percent:.2f}% KV cache "
        "memory"
        for padding in padding_of(size.groups)
    ]
    length = size.max_model_len
    if length is not None and size.longest_sequence(length) == length:
        step = size.max_in_flight_tokens
        both = [config.max_concurrency(length, step) for config in (size.low, size.high)]
        tokens = _ends(*(f"{int(one * length):,}" for one in both))
        concurrency = _ends(*(f"{one:.2f}x" for one in both))
        lines.append(
            f"GPU KV cache size: {tokens} tokens, Maximum concurrency for {length:,} tokens per "
            f"request: {concurrency}"
        )
    return lines


def _ends(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"
