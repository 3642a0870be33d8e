"""What a cache of 8 bits gains: twice the sequences, but less beside states.

A state stays as it is, and so do the bytes of a page, which is as large as a state: a block only
gets twice the tokens. A short sequence has one block of keys and values either way and gains
nothing; the longer it is, the nearer to two the factor comes. Published for V1, computed with its
planner: 2.00 without states, and with them 1.84 at 32,768 tokens and 1.00 for short sequences
(github.com/vllm-project/vllm, issue 55196).
"""

from typing import Any

from pagesim.sizing.amount import ByteRange
from pagesim.sizing.model import ModelSpec
from pagesim.sizing.v1 import size_v1


def fp8_gain(model: ModelSpec, memory: ByteRange | int | str, tokens: int, **flags: Any) -> float:
    """How many times as many sequences of so many tokens an fp8 cache holds as the model's own.

    ``flags`` are those of `size_v1`. UsageError if not even one block fits.
    """
    kept = {name: flag for name, flag in flags.items() if name != "kv_cache_dtype"}
    own, fp8 = (
        size_v1(model, memory, kv_cache_dtype=dtype, **kept).max_concurrency(tokens)
        for dtype in ("auto", "fp8")
    )
    return fp8 / own
