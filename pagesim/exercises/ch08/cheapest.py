"""# 8.3 The cheapest cards ★★★

`chats` conversations run at the same time on Llama-3.1-70B. In the worst case, each of them has its
full length of `tokens` tokens. Which cards hold them all at the lowest price? Write

```python
def cheapest(chats, tokens):
    return card, gpus, kv_cache_dtype
```

| card | memory in GB | price of one per hour |
|---|---|---|
| `l4` | 24 | 0.7 |
| `rtx-4090` | 24 | 0.6 |
| `a100-40gb` | 40 | 1.2 |
| `a100-80gb` | 80 | 2.0 |
| `h100` | 80 | 3.0 |
| `h200` | 141 | 3.6 |

* `gpus`: 2, 4, 8 or 16 cards of one kind, used as `tensor_parallel_size`;
* `kv_cache_dtype`: `"auto"`, 2 bytes per element, or `"fp8"`, 1 byte.

`CARDS[card]` is a `Card` with `.memory_bytes` (a float), and `PRICES[card]` is the price of one
card. vLLM may use 90 % of the memory of each card. The weights, 141.2e9 bytes, are divided evenly
among the cards, and each card needs another 2e9 bytes for activations. What is left is for the
cache. The prices were made up for this exercise.

`size_v1(ModelSpec.preset("llama-3.1-70b"), memory, tensor_parallel_size=…, kv_cache_dtype=…)`
computes the size of a cache that has `memory` bytes per card (an int). If not a single block fits,
`size_v1` raises `UsageError`. The result has a method `.max_concurrency(tokens)`, which says how
many conversations of this length the cache holds.

Example: `cheapest(10, 2048)` is `("rtx-4090", 8, "auto")`, or the same with `"fp8"`. With 4 of
these cards, the weights would leave nothing for the cache.

## Hints
1. For each card and each number of cards, compute how much memory is left for the cache and how
   many chats fit into it.
2. `memory = int(0.9 * CARDS[card].memory_bytes - 141.2e9 / gpus - 2e9)`. A choice is good if
   `max_concurrency(tokens)` is at least `chats`. With fp8, the cache holds twice as many tokens.
3. Collect `(gpus * price, card, gpus, dtype)` of all good choices, and take the smallest.

## Wrong answers
* on_average (200 chats): On average, a chat has half of its tokens.
* no_weights (10 chats): All of the memory is for the cache.
* one_heap (100 chats): max_concurrency counts the chats of one card, so all cards together hold
  more.
* sixteen_bits (200 chats): An element of the cache has as many bytes as a weight of the model.
* the_largest_card (10 chats): The card with the most memory is the cheapest for what it holds.

## vLLM
* vllm/worker/worker.py: Worker.determine_num_available_blocks
* vllm/config.py: ModelConfig.get_num_kv_heads
"""

from functools import cache
from itertools import product

from pagesim.exercises.kit import Case, Cases, Goal, Random, UsageError, Value
from pagesim.sizing import ModelSpec, size_v1
from pagesim.sizing.hardware import CARDS

PRICES = {"l4": 0.7, "rtx-4090": 0.6, "a100-40gb": 1.2, "a100-80gb": 2.0, "h100": 3.0, "h200": 3.6}
"""Of one card for an hour, in a currency of this exercise: real prices change by the week."""
GPUS, KINDS = (2, 4, 8, 16), ("auto", "fp8")
SECONDS = 10.0


def cheapest(chats: int, tokens: int) -> tuple[str, int, str]:
    """The card, how many, and the cache's dtype: the least price that holds all chats."""
    from pagesim.exercises.ch08.cheapest import PRICES
    from pagesim.sizing import ModelSpec, size_v1
    from pagesim.sizing.hardware import CARDS

    ### BEGIN SOLUTION
    model = ModelSpec.preset("llama-3.1-70b")
    found = []
    for card, price in PRICES.items():
        for gpus in (2, 4, 8, 16):
            memory = int(0.9 * CARDS[card].memory_bytes - 141.2e9 / gpus - 2e9)
            ### no_weights: memory = int(0.9 * CARDS[card].memory_bytes - 2e9)
            for kind in ("auto", "fp8"):
                ### sixteen_bits: for kind in ("auto",):
                if memory < 10**9:
                    continue
                size = size_v1(model, memory, tensor_parallel_size=gpus, kv_cache_dtype=kind)
                if size.max_concurrency(tokens) >= chats:
                    ### on_average: if size.max_concurrency(tokens // 2) >= chats:
                    ### one_heap: if gpus * size.max_concurrency(tokens) >= chats:
                    found.append((gpus * price, card, gpus, kind))
    return min(found)[1:]
    ### the_largest_card: return min(f for f in found if f[1] == "h200")[1:]
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Short chats and long ones, few and many."""
    shown = ((10, 2048), (100, 2048), (200, 8192), (60, 32768))
    others = ((15, 2048), (50, 4096), (150, 8192), (300, 4096), (100, 16384))
    for chats, tokens in others if hidden else shown:
        yield Case((chats, tokens), tag=f"{chats} chats")


def oracle(chats: int, tokens: int) -> Goal:
    """Any choice that holds the chats and costs no more than the least price."""
    return Goal(("card", 2, "auto"), f"{chats} chats for {least(chats, tokens):.2f} per hour")


def why(yours: Value, chats: int, tokens: int) -> str:
    if not isinstance(yours, list) or len(yours) != 3:
        return "Return a card, a number of cards and a dtype."
    card, gpus, kind = yours
    if card not in list(PRICES) or gpus not in GPUS or kind not in KINDS or type(gpus) is not int:
        return f"Choose one of {', '.join(PRICES)}, of {GPUS}, and of {KINDS}."
    holds, costs = concurrency(card, gpus, kind, tokens), gpus * PRICES[card]
    found = f"{gpus} x {card} with {kind} hold {holds:.1f} of these chats"
    if holds < chats:
        weights = f"The weights take {141.2 / gpus:.1f} GB of each card"
        return f"{found}, but they must hold {chats}. {weights}."
    if costs > least(chats, tokens) + 1e-9:
        return f"{found} for {costs:.2f} per hour. There is a choice that costs less."
    return ""


@cache
def least(chats: int, tokens: int) -> float:
    """The least price at which all chats fit."""
    fit = (each for each in product(PRICES, GPUS, KINDS) if concurrency(*each, tokens) >= chats)
    return min(gpus * PRICES[card] for card, gpus, _ in fit)


def concurrency(card: str, gpus: int, kind: str, tokens: int) -> float:
    """How many conversations of so many tokens the cards hold at once."""
    memory = max(0, int(0.9 * CARDS[card].memory_bytes - 141.2e9 / gpus - 2e9))
    model = ModelSpec.preset("llama-3.1-70b")
    try:
        size = size_v1(model, memory, tensor_parallel_size=gpus, kv_cache_dtype=kind)
    except UsageError:
        return 0.0
    return size.max_concurrency(tokens)
