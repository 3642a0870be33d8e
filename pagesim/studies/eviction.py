"""What LRU and ARC keep in a second tier: on a scan, and on a trace of conversations.

A scan is many chunks that are used once. Under LRU they push everything out; ARC moves what several
requests have used to a list of its own, where a scan does not reach it. Conversations are in
between: each turn is used again by the next one, and a long prompt that never returns is a scan.
There ARC finds a little more in every tier that is too small for all of them.

    python -m pagesim.studies.eviction [FILE]    both; FILE has the whole trace of Mooncake

Mooncake's traces are at https://github.com/kvcache-ai/Mooncake, in ``FAST25-release/traces``; the
file is ``conversation_trace.jsonl``. The package has the first 1,000 of its requests.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence

from pagesim.studies.prefix_hits import PrefixHits
from pagesim.v1.offload.base import LookupResult, ReqContext
from pagesim.v1.offload.manager import POLICIES, CPUOffloadingManager
from pagesim.workload import Workload, load, mooncake_conversation
from pagesim.workload.request import HASH_BLOCK_TOKENS

SIZES = (250, 500, 1_000, 2_000, 4_000, 8_000)
"""Chunks of 512 tokens."""

PER_STEP = 4
"""Chunks that a step computes, and stores: 2,048 tokens."""


class Tier:
    """A second tier without a GPU before it, to which prompts are shown one after another."""

    def __init__(self, num_chunks: int, cache_policy: str) -> None:
        self.manager = CPUOffloadingManager(num_chunks, cache_policy)

    def show(self, name: str, keys: Sequence[int], per_step: int = PER_STEP) -> int:
        """Load what is found of a prompt, and store the rest; returns how many chunks were found.

        ``keys`` stand for its chunks from the first on; equal ones begin alike.
        """
        manager, context = self.manager, ReqContext(name)
        manager.on_new_request(context)
        for index, key in enumerate(keys, 1):
            context.set_offload_key_position(key, index * HASH_BLOCK_TOKENS)
        found = 0
        while found < len(keys) and manager.lookup(keys[found], context) is LookupResult.HIT:
            found += 1
        manager.prepare_load(keys[:found], context)
        manager.complete_load(keys[:found], context)
        start = found
        while start < len(keys):
            end = min(start + per_step, len(keys))
            if (answer := manager.prepare_store(keys[start:end], context)) is not None:
                manager.complete_store(answer.keys_to_store, context)
            start = end
        manager.on_request_finished(context)
        return found


def scan(cache_policy: str) -> set[str]:
    """The chunks that a tier of four keeps: x and y are used twice, then s0 to s5 once each."""
    names = ["x", "y", *(f"s{i}" for i in range(6))]
    tier = Tier(4, cache_policy)
    for name, keys in [("a", (0, 1)), ("b", (0, 1)), *((f"c{i}", (2 + i,)) for i in range(6))]:
        tier.show(name, keys)
    kept: set[int] = set(tier.manager.policy.chunks)  # type: ignore[arg-type]
    return {names[key] for key in kept}


def tier_hits(workload: Workload, num_chunks: int, cache_policy: str) -> PrefixHits:
    """The full chunks of a trace's prompts that a tier of this size finds again."""
    tier, lookups, hits = Tier(num_chunks, cache_policy), 0, 0
    for request in workload:
        keys = request.hash_ids[: request.prompt_tokens // HASH_BLOCK_TOKENS]
        lookups += len(keys)
        hits += tier.show(request.request_id, keys)
    return PrefixHits(num_chunks, lookups, hits)


def table(workload: Workload, sizes: Sequence[int]) -> Mapping[str, Mapping[int, PrefixHits]]:
    """The hits by policy and size."""
    return {
        policy: {size: tier_hits(workload, size, policy) for size in sizes} for policy in POLICIES
    }


def report(workload: Workload) -> Iterator[str]:
    """The lines of both."""
    for policy in POLICIES:
        yield f"after a scan, {policy} keeps {', '.join(sorted(scan(policy)))}"
    yield f"\n{len(workload):,} requests of {workload.name}: % of the chunks found, by the chunks"
    found = table(workload, SIZES)
    yield f"{'':<6}" + "".join(f"{size:>9,}" for size in SIZES)
    for policy, by_size in found.items():
        yield f"{policy:<6}" + "".join(f"{100 * hits.rate:>9.2f}" for hits in by_size.values())


def main(arguments: Sequence[str] = ()) -> None:
    """Print both, for the trace in a file if one is named."""
    for line in report(load(arguments[0]) if arguments else mooncake_conversation()):
        print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
