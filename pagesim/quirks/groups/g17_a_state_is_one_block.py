"""# g17 Null blocks that are new

V1 · states

A state takes one block for a prompt of any length, and null blocks are reported as new ones.

## Expected
A prompt of 17 tokens takes five blocks of 4 tokens in every group.

## What happens
Full attention takes the blocks 1 to 5. The group with a state takes block 6 alone. Its table is [0,
0, 0, 0, 6]: four null blocks, and the state after all 17 tokens. All five are returned as new
blocks.

## Why
A Mamba layer, or another recurrent one, keeps one state of fixed size, and each token changes it.
The table is padded so that the last entry stands at the same place as in the other groups. The null
block, 0, belongs to nobody and costs nothing.

## What to do
If you read block ids from vLLM, skip the zeros. When you choose the size of a server, count that a
short request pays for its states, not for its tokens (g27).

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.timeline.record import record
from pagesim.v1 import FullAttentionSpec, KVCacheManager, MambaSpec, Request


def scenario() -> Scene:
    groups = [FullAttentionSpec(4), MambaSpec(4, mamba_cache_mode="align")]
    manager = KVCacheManager(60, groups=groups, retention_interval=None)
    request = Request("a", range(17), block_size=4)
    with record(manager) as run:
        new = manager.allocate_slots(request, 17)
    full, state = new.get_block_ids() if new else ([], [])
    return Scene(run, new_blocks_of_full=full, new_blocks_of_the_state=state)


ANSWER = {
    "new_blocks_of_full": [1, 2, 3, 4, 5],
    "new_blocks_of_the_state": [0, 0, 0, 0, 6],
}
