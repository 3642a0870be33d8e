"""# 5.3 Swap or recompute ★★

A sequence of n tokens must make room, and there are two ways. It can be **swapped**: its keys and
values move to the CPU and come back later. Or it can be **recomputed**: its blocks are freed, and
later all n tokens are computed again, in one step of their own. Which way is faster? Write

```python
def break_even(model, card):
    return tokens
```

`break_even` returns the smallest number of tokens, from 1 to 10,000, for which recomputing takes
less time than swapping, or 0 if there is none. `model` and `card` are dicts:

* `model` has `layers`, `kv_heads`, `head_dim` and `parameters`, the number of its weights. A weight
  has 2 bytes, and so has an element of the cache. Computing a token costs 2 floating-point
  operations per parameter.
* `card` has `bytes_per_second` of its memory, `flops_per_second` (floating-point operations), and
  `swap_bytes_per_second` of the bus to the CPU.

The machine is ideal. Swapping takes exactly as long as its bytes take on the bus. A step takes as
long as reading all weights, or as computing its tokens, whichever is longer.

Example: Llama-2-7B has 32 layers, 32 KV heads of 128 elements, and 6.74e9 parameters. In one
second, an H100 reads 3.35e12 bytes of its memory, computes 989e12 floating-point operations, and
moves 64e9 bytes on the bus. So reading the weights takes 4.02 ms. In this time, 245.6 tokens can be
swapped out and back, so the result is 246. A result within 5 % is right.

## Hints
1. Write down the time for swapping n tokens and the time for recomputing them. Which of the two
   times is not proportional to n?
2. A token has a key and a value for every KV head in every layer, and each of these crosses the bus
   twice.
3. Swapping takes `2 * n * (2 * layers * kv_heads * head_dim * 2) / swap_bytes_per_second`.
   Recomputing takes the larger of `2 * parameters / bytes_per_second` and
   `n * 2 * parameters / flops_per_second`.

## Wrong answers
* one_way (there is one): The bytes cross the bus only once.
* one_layer (there is one): A token has one key and one value for each head.
* keys_alone (there is one): Only the keys have to be moved.
* weights_for_nothing (there is one): Only computing takes time; reading the weights takes none.
* read_and_compute (there is one): First the weights are read, and after that the tokens are
  computed.

## vLLM
* vllm/core/scheduler.py: Scheduler._preempt
* vllm/worker/cache_engine.py: CacheEngine.get_cache_block_size
"""

from pagesim.exercises.kit import Case, Cases, Random, Value
from pagesim.sizing.cost_model import Roofline
from pagesim.sizing.hardware import CARDS, parameters
from pagesim.sizing.model import ModelSpec

Numbers = dict[str, float]
SHOWN = ["qwen3-0.6b a100-40gb", "llama-2-7b h100", "llama-3.1-8b a100-40gb", "opt-13b h100"]
HIDDEN = ["qwen3-0.6b l4", "llama-2-7b h200", "opt-13b h200", "qwen3-8b h100"]
HIDDEN += ["qwen3-30b-a3b a100-80gb"]
SPEEDS = "bytes_per_second", "flops_per_second", "swap_bytes_per_second"


def break_even(model: dict[str, float], card: dict[str, float]) -> int:
    """The smallest number of tokens that is faster to recompute than to swap; 0 if none is."""
    ### BEGIN SOLUTION
    token_bytes = 2 * model["layers"] * model["kv_heads"] * model["head_dim"] * 2
    ### one_layer: token_bytes = 2 * model["kv_heads"] * model["head_dim"] * 2
    ### keys_alone: token_bytes = model["layers"] * model["kv_heads"] * model["head_dim"] * 2
    weight_bytes = 2 * model["parameters"]
    for tokens in range(1, 10_001):
        swap = 2 * tokens * token_bytes / card["swap_bytes_per_second"]
        ### one_way: swap = tokens * token_bytes / card["swap_bytes_per_second"]
        read = weight_bytes / card["bytes_per_second"]
        compute = tokens * 2 * model["parameters"] / card["flops_per_second"]
        if max(read, compute) < swap:
            ### weights_for_nothing: if compute < swap:
            ### read_and_compute: if read + compute < swap:
            return tokens
    return 0
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Models on cards, and a card with a slow memory, on which recomputing takes longer."""
    pairs = map(str.split, HIDDEN if hidden else SHOWN)
    named = [(f"{preset} on an {card}", preset, card, 1) for preset, card in pairs]
    slow = ("llama-2-7b on a card with a slow memory", "llama-2-7b", "h100", 30 if hidden else 10)
    for name, preset, card, slower in [*named, slow]:
        spec = ModelSpec.preset(preset)
        sizes = {"layers": spec.num_layers, "kv_heads": spec.num_kv_heads}
        model = sizes | {"head_dim": spec.head_dim, "parameters": parameters(preset)[1]}
        speeds = {speed: getattr(CARDS[card], speed) for speed in SPEEDS}
        speeds["bytes_per_second"] /= slower
        tag = "there is one" if oracle(model, speeds) else "there is none"
        yield Case((model, speeds), f"{name}: {model}, {speeds}", tag)


def clock_of(model: Numbers, card: Numbers) -> Roofline:
    """The simulator's clock for this model on this card."""
    layers, heads, dim = (int(model[name]) for name in ("layers", "kv_heads", "head_dim"))
    size = ModelSpec("model", layers, 1024 * heads, heads, dim).kv_bytes_per_token
    twice = 2 * model["parameters"]
    return Roofline(weight_bytes=twice, flops_per_token=twice, kv_bytes_per_token=size, **card)


def seconds(clock: Roofline, tokens: int) -> tuple[float, float]:
    """Recomputing, and the way out and back."""
    swap = clock.seconds(0, 1, 0, tokens) - clock.seconds(0, 1, 0)  # what it adds to a step
    return clock.seconds(tokens, 0, 0), 2 * swap


def oracle(model: Numbers, card: Numbers) -> int:
    """By the simulation's clock, `Roofline`, one number of tokens after the other."""
    clock = clock_of(model, card)
    times = ((tokens, *seconds(clock, tokens)) for tokens in range(1, 10_001))
    return next((tokens for tokens, recompute, swap in times if recompute < swap), 0)


def same(yours: Value, right: int) -> bool:
    """Within 5 %, or one token; 0 must be 0."""
    slack = max(1, 0.05 * right) if yours and right else 0
    return type(yours) is int and abs(yours - right) <= slack


def why(yours: int, right: int, model: Numbers, card: Numbers) -> str:
    tokens = right or (yours if 0 < yours <= 10_000 else 10_000)
    clock = clock_of(model, card)
    recompute, swap = seconds(clock, tokens)
    computes = f"Recomputing {tokens:,} tokens takes {1000 * recompute:.3g} ms"
    moves = f"Swapping moves {clock.kv_bytes_per_token:,.0f} bytes per token, out and back"
    return f"{computes}. {moves}, which takes {1000 * swap:.3g} ms."
