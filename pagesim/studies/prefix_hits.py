"""How much of a trace's prompts a prefix cache finds again, and how large it must be for that.

    python -m pagesim.studies.prefix_hits FILE        what a cache without end finds in a trace

There are two different rates, and both are right. :func:`ids_seen_before` counts every hash id of
the trace. :func:`cache_hits` asks the allocator, which caches only full blocks because a partial
one may still grow: unless a prompt is a multiple of 512 tokens, its last block is never looked up.
In the first 3,000 requests of the Mooncake trace, 25,332 of 80,619 ids were seen before (31.42 %);
2,993 ids stand for partial blocks, and 23 of these were seen before. That leaves 25,309 hits in
77,626 lookups (32.60 %): fewer hits, and many fewer lookups.

:func:`ideal_hits` is the second rate with endless room, for traces of any length and by kind of
request. It also says how few blocks have most of the hits. Wang et al., KVCache Cache in the Wild
(ATC '25, arXiv 2506.02634), give such numbers for Bailian's traces: see `PUBLISHED`.
"""

import argparse
import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pagesim.checks import check_fraction, check_int
from pagesim.errors import UsageError
from pagesim.v0.block.prefix_caching_block import PrefixCachingBlockAllocator
from pagesim.workload import WorkloadError, stream
from pagesim.workload.request import Request, Workload

SOURCE = "Wang et al., KVCache Cache in the Wild, ATC '25, arXiv 2506.02634"

PUBLISHED = {"to-C": 62.0, "to-B": 54.0}
"""Percent of Bailian's blocks that an endless cache finds: chats of people, calls of programs."""

TOP, OF_HITS = 10.0, 77.0
"""The share of the blocks that have most of the hits, and that of the hits: published, percent."""


@dataclass(frozen=True, slots=True)
class PrefixHits:
    """The hits and lookups in a pool of ``num_blocks`` blocks of a hash id each.

    None is unlimited.
    """

    num_blocks: int | None
    lookups: int
    hits: int

    @property
    def rate(self) -> float:
        """Hits ÷ lookups, or 0 without lookups."""
        return self.hits / self.lookups if self.lookups else 0.0


@dataclass(frozen=True, slots=True)
class IdealHits:
    """What an endless cache finds in a trace, one prompt after another.

    ``kinds`` has the same by kind of request, for traces that tell kinds apart. ``reused`` says how
    often each different block was found, in the order in which the blocks were first seen.
    """

    requests: int
    block_tokens: int
    found: PrefixHits
    kinds: Mapping[str, PrefixHits]
    reused: Sequence[int]

    @property
    def rate(self) -> float:
        """Hits ÷ lookups, or 0 without lookups."""
        return self.found.rate

    def share_of_hits(self, of_blocks: float = TOP / 100) -> float:
        """Return the share of the hits that the most reused blocks have, 0 without hits.

        ``of_blocks`` is their share of all different blocks, rounded up.
        """
        check_fraction("of_blocks", of_blocks)
        most = sorted(self.reused, reverse=True)[: math.ceil(of_blocks * len(self.reused))]
        return sum(most) / self.found.hits if self.found.hits else 0.0


def ideal_hits(requests: Iterable[Request]) -> IdealHits:
    """Count the full blocks of prompts that an earlier prompt had, after the same blocks.

    ``requests`` may be a Workload or what :func:`pagesim.workload.stream` reads: each is needed
    once, and only the different blocks are kept in memory, about 150 bytes for each. The result is
    that of :func:`cache_hits` without a limit. UsageError if a request has no ids.
    """
    numbers: dict[int, int] = {}
    reused = array("q")
    kinds: dict[str, list[int]] = {}
    count = size = lookups = 0
    for request in _with_ids(requests):
        size = size or request.hash_block_tokens
        if request.hash_block_tokens != size:
            raise UsageError(
                f"request {request.request_id!r} has hash ids for {request.hash_block_tokens} "
                f"tokens, and those before it for {size}: they cannot be compared"
            )
        ids = request.hash_ids[: request.prompt_tokens // size]
        count, lookups, prefix, hits = count + 1, lookups + len(ids), 0, 0
        for hash_id in ids:
            new = len(numbers) + 1
            prefix = numbers.setdefault(hash_id << 64 | prefix, new)
            if prefix == new:
                reused.append(0)
            else:
                reused[prefix - 1] += 1
                hits += 1
        if request.chat is not None:
            kind = kinds.setdefault(request.chat.type, [0, 0])
            kind[0] += len(ids)
            kind[1] += hits
    by_kind = {name: PrefixHits(None, *both) for name, both in kinds.items()}
    return IdealHits(count, size, PrefixHits(None, lookups, sum(reused)), by_kind, reused)


def ids_seen_before(requests: Iterable[Request]) -> PrefixHits:
    """Count the hash ids of a trace that occur in an earlier request, with partial last blocks.

    UsageError if a request has no ids.
    """
    seen: set[int] = set()
    lookups = hits = 0
    for request in _with_ids(requests):
        lookups += len(request.hash_ids)
        hits += sum(hash_id in seen for hash_id in request.hash_ids)
        seen.update(request.hash_ids)
    return PrefixHits(None, lookups, hits)


def cache_hits(
    workload: Workload, num_blocks: int | None = None, *, tokens_per_id: int = 1
) -> PrefixHits:
    """Count the full blocks of a trace's prompts that a prefix-caching pool finds again.

    The real allocator takes the prompts one by one in order of arrival; each frees its blocks
    before the next arrives, and unused blocks are evicted when room is needed, least recently used
    first. Outputs are left out because a trace has no ids for them, and so is the concurrency of a
    real server. ``num_blocks`` must hold the longest prompt; None means unlimited room.

    A hash id is written as one token into a block of one slot, not as 512 tokens into a block of
    512. Blocks are equal if all tokens up to their ends are, so both ways make the same blocks
    equal; and the evictor compares lengths, which all shrink alike. ``tokens_per_id=512`` is the
    slow way.

    UsageError if a request has no ids, or if the pool is too small.
    """
    check_int("tokens_per_id", tokens_per_id, minimum=1)
    prompts = [r.hash_ids[: r.prompt_tokens // r.hash_block_tokens] for r in _with_ids(workload)]
    lookups, longest = sum(map(len, prompts)), max(map(len, prompts))
    if num_blocks is not None and check_int("num_blocks", num_blocks, minimum=1) < longest:
        raise UsageError(f"num_blocks must hold the longest prompt, {longest}, not {num_blocks}")
    pool = PrefixCachingBlockAllocator(
        lookups if num_blocks is None else num_blocks, block_size=tokens_per_id
    )
    hits = sum(_use(pool, ids, now) for now, ids in enumerate(prompts))
    return PrefixHits(num_blocks, lookups, hits)


def hit_curve(workload: Workload, sizes: Iterable[int] | None = None) -> list[PrefixHits]:
    """Return :func:`cache_hits` for pools of these ``sizes``.

    By default, they start at the full blocks of the longest prompt and double until every distinct
    block has room.
    """
    if sizes is None:
        full = (r.prompt_tokens // r.hash_block_tokens for r in _with_ids(workload))
        size = max(1, *full)
        distinct = len({hash_id for request in workload for hash_id in request.hash_ids})
        sizes = [size]
        while sizes[-1] < distinct:
            sizes.append(2 * sizes[-1])
    return [cache_hits(workload, size) for size in sizes]


def _use(pool: PrefixCachingBlockAllocator, ids: Sequence[int], now: int) -> int:
    """Take blocks for a prompt, mark them as used and free them; returns the number of hits."""
    tokens = [[hash_id] * pool.block_size for hash_id in ids]
    blocks = pool.allocate_immutable_blocks(None, tokens)
    hits = sum(block.computed for block in blocks)
    held = [block.block_id for block in blocks if block.block_id is not None]
    pool.mark_blocks_as_accessed(held, now)
    for block in blocks:
        pool.free(block)
    return hits


def _with_ids(requests: Iterable[Request]) -> Iterator[Request]:
    """The requests, as long as they have ids."""
    of = f" of workload {requests.name!r}" if isinstance(requests, Workload) else ""
    for request in requests:
        if not request.hash_ids:
            raise UsageError(
                f"request {request.request_id!r}{of} has no hash_ids: a trace with the hashes of "
                "its blocks is needed, such as Mooncake's or Bailian's"
            )
        yield request


def report(ideal: IdealHits, name: str) -> Iterator[str]:
    """The lines about a trace, and for one of Bailian's the published numbers."""
    blocks = f"{len(ideal.reused):,} different blocks of {ideal.block_tokens} tokens"
    yield f"{name}: {ideal.requests:,} requests, {blocks}"
    yield f"{'':<12}{'looked up':>12}{'found':>12}{'%':>8}"
    for kind, found in {"all": ideal.found, **ideal.kinds}.items():
        yield f"{kind:<12}{found.lookups:>12,}{found.hits:>12,}{100 * found.rate:>8.2f}"
    share = 100 * ideal.share_of_hits()
    yield f"{TOP:g} % of the blocks have {share:.1f} % of the hits"
    if ideal.kinds:
        rates = " or ".join(f"{rate:g} % ({use})" for use, rate in PUBLISHED.items())
        yield f"Published for Bailian's traces: {rates}; {TOP:g} % of the blocks, {OF_HITS:g} %."
        yield f"{SOURCE}. How they count is not known in every detail."


def main() -> None:
    """Print what an endless cache finds in a file."""
    parser = argparse.ArgumentParser(prog="python -m pagesim.studies.prefix_hits")
    parser.add_argument("file", type=Path, help="a trace of Mooncake's or Bailian's format")
    file = parser.parse_args().file
    try:
        for line in report(ideal_hits(stream(file)), file.name):
            print(line)
    except (OSError, UsageError, WorkloadError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
