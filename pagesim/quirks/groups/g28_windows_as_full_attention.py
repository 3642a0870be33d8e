"""# g28 Windows that are paid in full

V1 · sizing

With the hybrid KV cache manager off, window layers keep every token, and 5.92 requests become 3.33.

## Expected
A layer that sees 128 tokens keeps 128 tokens, or a few more.

## What happens
For gpt-oss-20b in 20 GiB, and requests of 131,072 tokens, vLLM logs 5.92x. With
`--disable-hybrid-kv-cache-manager` it is 3.33x. The layers still look at only 128 tokens, but they
no longer give back the blocks behind the window.

## Why
Without the manager there is one group and one block table for all layers. A block is needed as long
as any layer needs it, and full attention needs it to the end. Some connectors and platforms turn
the manager off.

## What to do
Look for `Hybrid KV cache manager is disabled` in the log. If a connector turned it off, ask whether
it supports several groups by now.

## Threads
* [tt-xla#5727](https://github.com/tenstorrent/tt-xla/issues/5727): a platform without the manager:
  50 window layers of 60 paid for the whole length.
* [gpustack#4660](https://github.com/gpustack/gpustack/issues/4660): a connector turned the manager
  off, as the log says.
* [vllm#39254](https://github.com/vllm-project/vllm/pull/39254): proposed to count windows as
  windows even then: 93K tokens of context in place of 64K. It was closed.
"""

from pagesim.quirks.scene import Scene
from pagesim.sizing import ModelSpec, size_v1


def scenario() -> Scene:
    concurrency = {}
    for is_disabled in (False, True):
        size = size_v1(
            ModelSpec.preset("gpt-oss-20b"),
            "20GiB",
            max_model_len=131_072,
            max_num_batched_tokens=8_192,
            disable_hybrid_kv_cache_manager=is_disabled,
        )
        concurrency["off" if is_disabled else "on"] = round(size.max_concurrency(131_072), 2)
    return Scene(concurrency_with_the_hybrid_manager=concurrency)


ANSWER = {"concurrency_with_the_hybrid_manager": {"on": 5.92, "off": 3.33}}
