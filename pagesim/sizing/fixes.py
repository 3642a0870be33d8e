"""What makes room for a sequence that does not fit: the usual changes, each with its number."""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from pagesim.errors import UsageError
from pagesim.files.jsonl import JsonObject
from pagesim.sizing.amount import ByteRange
from pagesim.sizing.room import Room

MIB = 2**20
CHUNKED_ABOVE = 32_768
"""V0 computes a longer maximum in chunks by default, 512 tokens a step."""

MORE_GPUS = (2, 4, 8)
"""How many times as many GPUs are tried."""

DIVIDES = re.compile("(tensor|pipeline)-parallel-size")
"""Flags that also leave more memory for the cache on each GPU; how much, the weights decide."""

Alternative = tuple[str, Callable[[], Room]]
"""A flag, and the pool that it gives; UsageError if the model does not allow it."""


@dataclass(frozen=True, slots=True)
class Fix:
    """One change: the flag, whether it is enough alone (None: not known), and why."""

    flag: str
    enough: bool | None
    words: str

    def as_dict(self) -> JsonObject:
        """The fix as --json prints it."""
        return {"flag": self.flag, "enough": self.enough, "words": self.words}


def fixes(
    room: Room,
    tokens: int,
    alternatives: Iterable[Alternative] = (),
    total: ByteRange | None = None,
    utilization: float | None = None,
    *,
    overridden: bool = False,
) -> list[Fix]:
    """What can be changed so that a sequence of so many tokens fits; empty if it does.

    ``total`` is the memory of the GPU, and ``utilization`` the share of it that is used now. If the
    number of blocks is ``overridden``, no amount of memory changes it.
    """
    if not room.missing_blocks(tokens):
        return []
    longest = room.longest(tokens)
    found = [Fix(f"--max-model-len {longest}", True, f"{longest:,} tokens fit")] if longest else []
    if overridden:
        blocks = room.needs(tokens) + room.null_blocks
        words = f"{tokens:,} tokens fit" + (" beside the null block" if room.null_blocks else "")
        return [Fix(f"--num-gpu-blocks-override {blocks}, or none", True, words), *found]
    found += _more_memory(room, tokens, total, utilization)
    for flag, made in alternatives:
        try:
            other = made()
        except UsageError as error:
            found.append(Fix(flag, False, str(error)))
            continue
        reached = other.longest(tokens)
        words = f"{reached:,} tokens fit, in {other.blocks[0]:,} blocks"
        enough: bool | None = reached >= tokens
        if DIVIDES.search(flag):
            words += ", and more: the weights are divided as well"
            enough = enough or None
        found.append(Fix(flag, enough, words))
    return found + _fewer_activations(room, tokens)


def _more_memory(
    room: Room, tokens: int, total: ByteRange | None, utilization: float | None
) -> list[Fix]:
    """The missing bytes as a share of the GPU, and the size of a cache that is just enough."""
    missing = room.missing_bytes(tokens)
    if missing is None or room.block_bytes is None:
        return []
    flag, more = "--gpu-memory-utilization", f"{mib(missing)} more on each GPU"
    if total is not None and utilization is not None:
        share = math.ceil((utilization + missing / total.low) * 1000) / 1000
        words = f"{more}; now {utilization:g}"
        found = [Fix(f"{flag} {share:g}", share <= 1, words)]
    else:
        shares = {g: missing / (g * 2**30) for g in (24, 80)}
        few = " and ".join(f"{share:.3f} of {g} GiB" for g, share in shares.items() if share < 0.9)
        found = [Fix(flag, None, f"{more}: {few}" if few else more)]
    if room.engine == "v1":
        blocks = room.needs(tokens) + room.null_blocks
        size = blocks * room.block_bytes.high
        words = f"{blocks:,} blocks with the null block, if the GPU has {mib(size)} left for them"
        found.append(Fix(f"--kv-cache-memory-bytes {size}", None, words))
    return found


def _fewer_activations(room: Room, tokens: int) -> list[Fix]:
    """A smaller step needs less memory beside the cache; how much less, only a start tells."""
    missing = room.missing_bytes(tokens)
    amount = f"{room.missing_blocks(tokens):,} blocks" if missing is None else mib(missing)
    words = f"enough if the peak of the profile run falls by {amount}"
    if room.engine == "v1":
        return [Fix("--max-num-batched-tokens, smaller", None, words)]
    if tokens > CHUNKED_ABOVE:
        return [Fix("--max-num-batched-tokens, smaller", None, words)]
    words += (
        f": a step then computes 512 tokens instead of {tokens:,}. Above {CHUNKED_ABOVE:,} V0 does "
        "so by default, so a longer maximum may start where this one does not"
    )
    return [Fix("--enable-chunked-prefill", None, words)]


def smallest(
    name: str, values: Iterable[int], tokens: int, made: Callable[[str, int], Room]
) -> Iterator[Alternative]:
    """The first value with which the sequence fits; if there is none, the last that is allowed."""
    flag = f"--{name.replace('_', '-')}"
    found: tuple[int, Room] | None = None
    for value in values:
        try:
            found = value, made(name, value)
        except UsageError:
            continue
        if not found[1].missing_blocks(tokens):
            break
    if found is not None:
        value, room = found
        yield f"{flag} {value}", lambda: room


def of_pool(room: Room, tokens: int, gpus: int, dtype: str) -> Iterator[Alternative]:
    """The same pool with elements of one byte, or divided among more GPUs than these."""
    if dtype == "auto":
        yield "--kv-cache-dtype fp8", lambda: room.times(2)
    values = [gpus * times for times in MORE_GPUS]
    yield from smallest(
        "tensor_parallel_size", values, tokens, lambda _, value: room.times(value // gpus)
    )


def mib(size: float) -> str:
    """An amount in MiB, or in GiB from 10 of them."""
    return f"{size / MIB:,.1f} MiB" if size < 10 * 2**30 else f"{size / 2**30:,.2f} GiB"
