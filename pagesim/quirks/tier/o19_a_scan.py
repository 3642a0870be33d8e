"""# o19 A scan empties the tier

V1 · second tier

Six prompts that nobody asks for again push two popular chunks out of an LRU tier; ARC keeps them.

## Expected
What is used again and again stays.

## What happens
x and y are used by two requests. Then six other chunks are stored and each used once, which is
called a scan. With LRU (least recently used), the default, the four chunks of the tier are the last
four of the scan: c, d, e and f. With ARC they are e, f, x and y.

## Why
LRU knows only when a chunk was last used, and everything in the scan is newer. ARC has a list of
chunks that were used once and one of those that were used again. The scan fills the first list
only. Keys of recently evicted chunks (ghosts) tell it which list deserves more room.

## What to do
Set `"eviction_policy": "arc"` in `kv_connector_extra_config` if shared prompts are mixed with many
that come once.

## Threads
* [vllm#27039](https://github.com/vllm-project/vllm/pull/27039): added ARC.
* [vllm#38984](https://github.com/vllm-project/vllm/pull/38984): proposes a simpler policy with the
  same aim.
"""

from pagesim.quirks.scene import Scene
from pagesim.v1 import CPUOffloadingManager, ReqContext


def scenario() -> Scene:
    kept = {}
    for policy in ("lru", "arc"):
        tier = CPUOffloadingManager(num_chunks=4, cache_policy=policy)
        for number, keys in enumerate(("xy", "xy", *"abcdef")):
            request = ReqContext(f"{number}")
            tier.on_new_request(request)
            if number == 1:
                tier.prepare_load(keys, request)
                tier.complete_load(keys, request)
            else:
                tier.prepare_store(keys, request)
                tier.complete_store(keys, request)
            tier.on_request_finished(request)
        kept[policy] = "".join(sorted(map(str, tier.policy.chunks)))
    return Scene(chunks_kept=kept)


ANSWER = {"chunks_kept": {"lru": "cdef", "arc": "efxy"}}
