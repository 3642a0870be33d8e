"""Which requests a pool of blocks has room for: of a model's cache, or of one that a log states."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from pagesim.sizing.amount import ByteRange
from pagesim.sizing.cache_size import CacheSize
from pagesim.sizing.enough_memory import longest_that_fits

WATERMARK = 0.01
"""V0 keeps this share of the blocks free when it admits a prompt: its default."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What a request needs, in blocks, and how many such requests fit at once.

    ``at_start`` is for its prompt, ``at_end`` for all tokens that it stores: the last token of an
    output is never stored. ``admitted`` counts the requests that fit with their prompts,
    ``at_once`` those that fit to their end; ``found`` are the tokens that a second request with the
    same prompt finds in the prefix cache, None without one.
    """

    prompt: int
    output: int
    at_start: int
    at_end: int
    admitted: int
    at_once: int
    found: int | None


@dataclass(frozen=True, slots=True)
class Room:
    """A pool on one GPU. Pairs are (low, high): an amount that vLLM printed was rounded.

    ``needs`` says how many blocks a sequence of so many tokens takes. ``block_bytes`` is None if
    nothing tells the bytes of a block, and ``hit_size`` None without prefix caching; hits end at
    its multiples.
    """

    engine: str
    blocks: tuple[int, int]
    block_size: int
    needs: Callable[[int], int]
    block_bytes: ByteRange | None = None
    hit_size: int | None = None

    @classmethod
    def of_size(cls, size: CacheSize) -> "Room":
        """The pool of a model's cache."""
        step, groups, v1 = size.max_in_flight_tokens, size.high, size.engine == "v1"
        return cls(
            size.engine,
            size.num_gpu_blocks,
            size.block_size,
            (lambda tokens: groups.blocks_per_sequence(tokens, step))
            if v1
            else (lambda tokens: -(-tokens // size.block_size)),
            ByteRange(size.block_bytes, size.block_bytes),
            size.block_sizes[0] if v1 and size.enable_prefix_caching else None,
        )

    @property
    def null_blocks(self) -> int:
        """V1 keeps block 0 as its null block, V0 none."""
        return 1 if self.engine == "v1" else 0

    @property
    def usable(self) -> tuple[int, int]:
        """The blocks that sequences can hold."""
        low, high = (max(blocks - self.null_blocks, 0) for blocks in self.blocks)
        return low, high

    def missing_blocks(self, tokens: int) -> int:
        """How many blocks are missing for one sequence of so many tokens, in the smaller case."""
        return max(self.needs(tokens) - self.usable[0], 0)

    def missing_bytes(self, tokens: int) -> int | None:
        """The same in bytes on each GPU, in the worst case; None if a block's bytes are unknown."""
        if self.block_bytes is None:
            return None
        return self.missing_blocks(tokens) * self.block_bytes.high

    def longest(self, limit: int | None = None) -> int:
        """The longest sequence, of at most ``limit`` tokens, that fits; 0 if none."""
        usable = self.usable[0]
        most = usable * self.block_size if limit is None else limit
        return longest_that_fits(self.needs, usable, most)

    def request(self, prompt: int, output: int = 0) -> Needs:
        """What a request of so many tokens needs."""
        start, end = self.needs(prompt), self.needs(max(prompt, prompt + output - 1))
        usable = self.usable[1]
        if self.engine == "v0" and start > usable - math.floor(WATERMARK * self.blocks[1]):
            usable = 0  # the prompt is ignored
        found = None if self.hit_size is None else (prompt - 1) // self.hit_size * self.hit_size
        return Needs(prompt, output, start, end, usable // start, usable // end, found)

    def times(self, factor: int) -> "Room":
        """The pool with ``factor`` times as many blocks in the same memory."""
        low, high = self.blocks
        size = self.block_bytes
        if size is not None:
            size = ByteRange(size.low // factor, -(-size.high // factor))
        return replace(self, blocks=(low * factor, high * factor), block_bytes=size)
