"""# q40 A window makes a long prompt look small

V0 · sliding window · beside w28

With a sliding window, a prompt that does not fit is admitted, and stops the server.

## Expected
The prompt waits, or is computed in chunks, and what has left the window is freed in between.

## What happens
`a` has 40 tokens, which need ten blocks, and the pool has seven. `can_allocate` says OK, because it
counts no more than vLLM's limit for a window of five tokens, which is three blocks. Then `allocate`
asks for all ten, and raises NoFreeBlocksError in the middle of the step. In vLLM this ends the
server. In pagesim the step changes nothing, and `a` still waits.

## Why
The window limits what a sequence holds while it generates. But the blocks of a whole prompt are
allocated with its first chunk, before any of them can be outside the window.

## What to do
The server refuses to start with a `max_model_len` above what the pool holds. But a prompt has to
fit into the free blocks, and not only into the pool: keep the pool from filling up, for example
with a smaller `max_num_seqs`.

## Threads
* [vllm#7470](https://github.com/vllm-project/vllm/issues/7470): somebody reads this in the code,
  and asks whether four blocks could be needed where three are free.
* [vllm#11168](https://github.com/vllm-project/vllm/issues/11168): a server with an old Mistral
  model, which has a window, stops with NoFreeBlocksError.
* [vllm#17834](https://github.com/vllm-project/vllm/pull/17834): the cause is named, and a change
  proposed.
"""

from pagesim.quirks.scene import Scene, error_of
from pagesim.story import Engine


def scenario() -> Scene:
    chunks = {"enable_chunked_prefill": True, "max_num_batched_tokens": 8, "max_model_len": 64}
    engine = Engine("v0", gpu_blocks=7, watermark=0.0, sliding_window=5, **chunks)
    a = engine.add("a", 40)
    answer = engine.scheduler.block_manager.can_allocate(a).name
    error = error_of(engine.step)
    return Scene(engine.run, can_allocate=answer, error=error, waiting=engine.waiting)


ANSWER = {"can_allocate": "OK", "error": "NoFreeBlocksError", "waiting": ["a"]}
