"""The pool that the lines of a log state, without the model: one group of full attention."""

import math
from typing import TypeGuard

from pagesim.errors import UsageError
from pagesim.sizing.amount import ByteRange
from pagesim.sizing.room import Room
from pagesim.sizing.start_lines import Fact, Facts


def whole(value: Fact | None) -> TypeGuard[int]:
    """Whether a fact is there and is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def room_of(facts: Facts) -> Room:
    """The pool that these lines state, if all its layers are of one kind.

    Blocks have 16 slots unless a line says otherwise. UsageError if no line states how large it is.
    """
    engine = str(facts.get("engine", "v1"))
    size = facts.get("block_size", 16)
    size = size if whole(size) and size else 16
    blocks = blocks_of(facts, size, engine)
    if blocks is None:
        raise UsageError(
            "no line states how large the cache is: give one such as "
            '"GPU KV cache size: 76,640 tokens" or "# GPU blocks: 1952", or a model (--model or '
            "--config) beside the memory"
        )
    cached = engine == "v1" and facts.get("enable_prefix_caching") is not False
    return Room(
        engine,
        blocks,
        size,
        lambda tokens: -(-tokens // size),
        _block_bytes(facts, blocks, size),
        size if cached else None,
    )


def blocks_of(facts: Facts, block_size: int, engine: str) -> tuple[int, int] | None:
    """The number of blocks, (low, high), or None if no line tells it.

    A refused start states the longest sequence that fits: V1 has the null block beside its blocks.
    """
    for name in ("num_gpu_blocks_override", "num_gpu_blocks"):
        if whole(number := facts.get(name)):
            return number, number
    tokens, longest = facts.get("tokens"), facts.get("estimated_max_model_len")
    length, times = facts.get("max_model_len"), facts.get("max_concurrency")
    if whole(tokens):
        number = tokens // block_size
        if tokens % block_size and whole(length) and length:
            number = round(tokens * -(-length // block_size) / length)
        return number, number
    if whole(longest):
        number = longest // block_size + (engine == "v1")
        return number, number
    if isinstance(times, float) and whole(length) and length:
        ends = ((times + half) * length / block_size for half in (-0.005, 0.005))
        low, high = (max(math.floor(end), 0) for end in ends)
        return low, high
    return None


def _block_bytes(facts: Facts, blocks: tuple[int, int], size: int) -> ByteRange | None:
    """What a block takes, from what a refused sequence needs, or from all the memory."""
    needed, length = facts.get("needed"), facts.get("refused_max_model_len")
    if isinstance(needed, ByteRange) and whole(length) and length:
        number = -(-length // size)
        return ByteRange(needed.low // number, -(-needed.high // number))
    memory = facts.get("memory")
    if not isinstance(memory, ByteRange) or not blocks[0] or "num_gpu_blocks_override" in facts:
        return None
    low = -(-memory.low // (blocks[1] + 1))
    return ByteRange(low, max(memory.high // blocks[0], low))


def disagreement(facts: Facts) -> str:
    """Whether the tokens and the concurrency of a log are those of one kind of layers, in words.

    Older releases divide the pool equally among the groups of layers to count its tokens, but not
    to count the sequences. Empty if the two agree, or if one of them is not stated.
    """
    tokens, length = facts.get("tokens"), facts.get("max_model_len")
    times, blocks = facts.get("max_concurrency"), facts.get("num_gpu_blocks")
    if whole(blocks) and "block_size" not in facts:
        tokens = blocks * 16
    if not whole(tokens) or not whole(length) or not isinstance(times, float) or not length:
        return ""
    if abs(times * length - tokens) <= 0.006 * length + 64:
        return ""
    return (
        f"{tokens:,} tokens are {tokens / length:.2f} sequences of {length:,}, and the log says "
        f"{times:.2f}: the layers are of several kinds, or the two lines are of different starts"
    )
