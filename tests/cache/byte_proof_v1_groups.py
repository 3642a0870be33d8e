"""The proof for V1 with several KV cache groups, which share one buffer.

Where groups hand blocks to each other, whoever reads what another group wrote reads wrong bytes. A
state is a hash of all tokens before its end: a request goes on from a block whose hash is that of
its own tokens, whether it computed them or hit them.

    python -m tests.cache.byte_proof_v1_groups [steps]      every scene, and its counts
"""

import sys
from typing import Any

from pagesim.sizing.kv_cache_spec import (
    FullAttentionSpec,
    KVCacheSpec,
    MambaSpec,
    SlidingWindowSpec,
)
from tests.cache.byte_proof_v1 import ASYNC, MAX_LEN, Run, Scene
from tests.cache.contents import print_counts


def window(tokens: int, block_size: int = 4) -> SlidingWindowSpec:
    """Layers that look at so many tokens."""
    return SlidingWindowSpec(block_size, sliding_window=tokens)


def state(**given: Any) -> MambaSpec:
    """States at the ends of blocks of four tokens."""
    return MambaSpec(4, mamba_cache_mode="align", **given)


FULL, STATE = FullAttentionSpec(4), state()
KEPT = state(num_prefill_checkpoint_blocks=1, prefill_checkpoint_alignment=1)
"""A state, and one more from inside a chunk."""


def _scene(*groups: KVCacheSpec, blocks: int = 41, **given: Any) -> Scene:
    return Scene(groups=groups, blocks=blocks, **given)


PRIORITY: dict[str, Any] = {"policy": "priority"}
SMALL: dict[str, Any] = {"long_prefill_token_threshold": 5, "scheduler_reserve_full_isl": False}
DISTURBED: dict[str, Any] = {"evict_chance": 0.1, "reset_chance": 0.03}
SCENES = {
    "full, window": _scene(FULL, window(10)),
    "full, window, small chunks, default retention": _scene(
        FULL, window(10), retention=0, steps=SMALL
    ),
    "window, full, interval, asynchronous": _scene(window(7), FULL, retention=12, steps=ASYNC),
    "full, window, priority": _scene(FULL, window(10), blocks=37, steps=PRIORITY),
    "full, three equal windows": _scene(
        FULL, *[window(10)] * 3, blocks=71, retention=0, **DISTURBED
    ),
    "pages 2:1": _scene(FullAttentionSpec(8), window(10), blocks=33),
    "pages 1:2, default retention, asynchronous": _scene(
        FULL, window(12, 8), blocks=37, retention=0, steps=ASYNC, **DISTURBED
    ),
    "three windows": _scene(window(5), window(10), window(17), blocks=47),
    "three windows, default retention, priority": _scene(
        window(17), window(5), window(10), blocks=43, retention=0, steps=PRIORITY
    ),
    "full, window, no caching": _scene(FULL, window(10), caching=False),
    "full, state": _scene(FULL, STATE, blocks=27),
    "full, state, default retention": _scene(FULL, STATE, blocks=27, retention=0),
    "full, state, interval, priority": _scene(FULL, STATE, blocks=25, retention=8, steps=PRIORITY),
    "full, state, asynchronous": _scene(FULL, STATE, blocks=27, steps=ASYNC, **DISTURBED),
    "full, two states, small chunks": _scene(FULL, STATE, STATE, blocks=33, steps=SMALL),
    "full, state, checkpoints": _scene(FULL, KEPT, blocks=27),
    "full, state, checkpoints, default retention": _scene(FULL, KEPT, blocks=27, retention=0),
    "full, state, checkpoints, interval, asynchronous": _scene(
        FULL, KEPT, blocks=27, retention=8, steps=ASYNC | PRIORITY
    ),
    "full, state, larger window, checkpoints": _scene(
        FULL, KEPT, window(12, 8), blocks=41, retention=0, **DISTURBED
    ),
    "full, state, larger window": _scene(FULL, STATE, window(12, 8), blocks=37),
    "states alone": _scene(STATE, KEPT, blocks=9),
    "full, state, no caching": _scene(FULL, MambaSpec(MAX_LEN), blocks=27, caching=False),
}
# Not among them, because vLLM itself reads wrong bytes: see test_byte_proof_v1_groups.py.
STRUCK = Scene(
    groups=(window(6, 2), STATE),
    blocks=42,
    budget=64,
    retention=0,
    steps=ASYNC | PRIORITY | {"scheduler_reserve_full_isl": False},
)

if __name__ == "__main__":
    sys.exit(print_counts(SCENES, Run, int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
