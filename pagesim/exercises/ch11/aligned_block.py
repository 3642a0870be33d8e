"""# 11.2 A block as large as a state ★

A model has layers with attention and layers with a state. The blocks of all layers have the same
number of bytes. So vLLM puts so many tokens into a block that their keys and values take at least
as many bytes as a state, and leaves the rest of a state's block empty: this is its *padding*. Write

```python
def aligned_block(state_bytes, bytes_per_token, kernel_block, block_size):
    return tokens, percent
```

* `state_bytes`: what a state takes in one layer.
* `bytes_per_token`: what the key and the value of a token take in one layer with attention.
* `kernel_block`: the number of tokens in a block must be a multiple of this, for the kernel's sake.
* `block_size`: what a user gives as `--block-size`, or 16, the default. One of the last two numbers
  is a multiple of the other.
* `tokens`: how many tokens are in a block. It is the smallest number that is large enough for a
  state and a multiple of both `kernel_block` and `block_size`.
* `percent`: how much larger the block is than the state, in percent of the *state*. It is a float.

Example: `aligned_block(1000, 10, 16, 16)` is `(112, 12.0)`. A state takes as much as 100 tokens.
112 is the next multiple of 16, and 1,120 bytes are 12 % more than 1,000.

## Hints
1. How many tokens are as large as the state? What is the next multiple of 16?
2. The number of tokens is a multiple of the larger of `kernel_block` and `block_size`. Call it
   `multiple`. How many bytes do so many tokens take, and how many times does that fit into a
   state?
3. `tokens = multiple * ceil(state_bytes / (multiple * bytes_per_token))`. The percentage is
   `100 * (tokens * bytes_per_token - state_bytes) / state_bytes`.

## Wrong answers
* rounded_down (a state between two multiples): As many whole multiples as fit into a state.
* no_multiple (a state between two multiples): A block may have any number of tokens.
* the_user_is_ignored (a block size of the user): vLLM computes the block size, so what the user
  gives does not matter.
* of_the_block (a state between two multiples): Padding is a share of the block that it lies in.

## vLLM 0.33.0
* vllm/platforms/interface.py: _align_hybrid_block_size
"""

from typing import Any

from pagesim.exercises.kit import Case, Cases, Random, close
from pagesim.sizing.mamba_block_size import align_hybrid_block_size

same = close(1e-6)
SHOWN = (2_146_304, 4096), (2_146_304, 2048), (1_097_728, 2048), (311_296, 4096)
OTHERS = (4_268_032, 2048), (4_268_032, 1024), (2_158_592, 4096)
"""Bytes of a state and of a token in a layer: Qwen3.5 9B, Qwen3-Next, Jamba; larger ones."""


def aligned_block(
    state_bytes: int, bytes_per_token: int, kernel_block: int, block_size: int
) -> tuple[int, float]:
    """How many tokens are in a block, and by how many percent it is larger than a state."""
    ### BEGIN SOLUTION
    multiple = max(kernel_block, block_size)
    ### the_user_is_ignored: multiple = max(kernel_block, 16)
    tokens = multiple * -(-state_bytes // (multiple * bytes_per_token))
    ### rounded_down: tokens = multiple * (state_bytes // (multiple * bytes_per_token))
    ### no_multiple: tokens = -(-state_bytes // bytes_per_token)
    return tokens, 100 * (tokens * bytes_per_token - state_bytes) / state_bytes
    ### of_the_block: return tokens, 100 - 100 * state_bytes / (tokens * bytes_per_token)
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Small states, those of models, random ones."""
    b = 20 if hidden else 10
    yield Case((32 * b, b, 16, 16), tag="a state of whole blocks")
    yield Case((37 * b + 3, b, 16, 16), tag="a state between two multiples")
    yield Case((200 * b, b, 64, 16), tag="a kernel of larger blocks")
    yield Case((200 * b, b, 16, 128), tag="a block size of the user")
    for sizes in OTHERS if hidden else SHOWN:
        yield from (Case((*sizes, *two), tag="a model") for two in ((16, 16), (16, 512), (64, 16)))
    for _ in range(20):
        kernel, size = rng.choice(((16, 16), (16, 32), (32, 256), (64, 16), (128, 64)))
        yield Case((rng.randint(1, 10**7), rng.randint(64, 8192), kernel, size), tag="random")


def oracle(
    state_bytes: int, bytes_per_token: int, kernel_block: int, block_size: int
) -> tuple[int, float]:
    """What the simulator computes for a hybrid."""
    found = align_hybrid_block_size(
        state_bytes, bytes_per_token, block_size=block_size, kernel_block_sizes=(kernel_block,)
    )
    return found.block_size, found.padding_percent


def why(
    yours: list[Any], right: tuple[int, float], state_bytes: int, bytes_per_token: int, *rest: int
) -> str:
    tokens, multiple = right[0], max(rest)
    if yours[0] * bytes_per_token < state_bytes:
        takes = f"{yours[0]:,} tokens take {yours[0] * bytes_per_token:,} bytes"
        return f"{takes}, and a state of {state_bytes:,} bytes does not fit into the block."
    if yours[0] % multiple:
        return f"The number of tokens must be a multiple of {multiple}, and yours is not."
    if yours[0] != tokens:
        return f"{tokens:,} tokens are enough, and that is a multiple of {multiple} as well."
    page = f"A block has {tokens:,} · {bytes_per_token:,} = {tokens * bytes_per_token:,} bytes"
    return f"{page}. Divide what it has more than the state by the state's {state_bytes:,} bytes."
