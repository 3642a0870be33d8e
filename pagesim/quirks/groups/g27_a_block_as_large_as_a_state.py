"""# g27 Blocks of 528, 1,056 and 2,096 tokens

V1 · sizing

Beside a state, a block of full attention is made as large as the state, and prompts below one block
find nothing.

## Expected
A block has 16 tokens, or as many as `--block-size` says.

## What happens
A state of 2,146,304 bytes takes as much as 524 tokens of 4,096 bytes, so a block gets 528. With
half the KV heads it gets 1,056 tokens, and with a state about twice as large 2,096. If you ask for
512, it gets 1,536, and padding makes the state 46.56 % larger. An fp8 cache halves the bytes of a
token, so the block of 2,096 tokens gets 4,176.

## Why
All groups share one pool of blocks of one size, and a state cannot be divided. So the blocks of
attention grow to the size of the state, in steps of 16 tokens or of the block size that you ask
for. A hit is made of whole blocks, so a prompt of fewer tokens never hits. The flag for fp8 does
not touch the state: blocks stay as large, and short requests need as many of them as before.

## What to do
Compare your shared prefixes with the block size in the line `Setting attention block size to …` of
the log. Leave `--block-size` alone. `pagesim size` explains the number for a model.

## Threads
* [vllm#40696](https://github.com/vllm-project/vllm/issues/40696): 528 tokens: prompts below this
  never hit, 979 tokens hit 54 %.
* [vllm#53749](https://github.com/vllm-project/vllm/issues/53749): 2,096 tokens, and neither log nor
  metrics say why nothing hits.
* [vllm#55196](https://github.com/vllm-project/vllm/issues/55196): fp8 gains 2.00x without states,
  1.84x with them for long requests and nothing for short ones.
* [vllm#48402](https://github.com/vllm-project/vllm/pull/48402): would warn if a block is larger
  than `max_model_len`, because then nothing can ever hit.
"""

from pagesim.quirks.scene import Scene
from pagesim.sizing.mamba_block_size import align_hybrid_block_size


def scenario() -> Scene:
    state, twice = 2_146_304, 4_268_032  # bytes of a state in one layer
    cases = {
        "4 KV heads": align_hybrid_block_size(state, 4_096),
        "2 KV heads": align_hybrid_block_size(state, 2_048),
        "2 KV heads, a larger state": align_hybrid_block_size(twice, 2_048),
        "2 KV heads, 512 wanted": align_hybrid_block_size(state, 2_048, block_size=512),
        "2 KV heads, a larger state, fp8": align_hybrid_block_size(twice, 1_024),
    }
    return Scene(
        tokens_of_a_block={name: found.block_size for name, found in cases.items()},
        padding_in_percent=[round(found.padding_percent, 2) for found in cases.values()],
    )


ANSWER = {
    "tokens_of_a_block": {
        "4 KV heads": 528,
        "2 KV heads": 1056,
        "2 KV heads, a larger state": 2096,
        "2 KV heads, 512 wanted": 1536,
        "2 KV heads, a larger state, fp8": 4176,
    },
    "padding_in_percent": [0.76, 0.76, 0.58, 46.56, 0.19],
}
