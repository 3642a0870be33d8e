"""6.3: from which length on is computing again faster than swapping?"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.source import variant
from pagesim.simulation.cost_model import Roofline
from pagesim.sizing.hardware import CARDS, parameters
from pagesim.sizing.model import ModelSpec

STATEMENT = """
A sequence of n tokens must make room. It can be **swapped**: its keys and values go to the CPU,
and come back later. Or its blocks are thrown away, and all n tokens are **recomputed** in one step
of their own. Which is faster? Write

```python
def break_even(model, card):
    return tokens
```

the smallest number of tokens, from 1 to 10,000, for which recomputing takes less time than
swapping; 0 if there is none. Both arguments are dicts:

* `model`: `layers`, `kv_heads`, `head_dim`, `parameters` (how many numbers its weights have). All
  numbers have 2 bytes. A token costs 2 floating-point operations for each parameter.
* `card`: `bytes_per_second` of its memory, `flops_per_second`, and `swap_bytes_per_second` of the
  bus to the CPU.

The machine is ideal. Swapping takes as long as its bytes take on the bus. A step takes as long as
reading all weights or as computing its tokens, whichever is longer.

Example: Llama-2-7B (32 layers, 32 KV heads of 128 numbers, 6.74e9 parameters) on an H100 (3.35e12,
989e12, 64e9): reading the weights takes 4.02 ms. Swapping takes as long for 245.6 tokens, so the
answer is 246. An answer within 5 % is right.
"""


def break_even(model: dict[str, float], card: dict[str, float]) -> int:
    """The smallest number of tokens that is faster to recompute than to swap; 0 if none is."""
    ### BEGIN SOLUTION
    token_bytes = 2 * model["layers"] * model["kv_heads"] * model["head_dim"] * 2
    weight_bytes = 2 * model["parameters"]
    for tokens in range(1, 10_001):
        swap = 2 * tokens * token_bytes / card["swap_bytes_per_second"]
        read = weight_bytes / card["bytes_per_second"]
        compute = tokens * 2 * model["parameters"] / card["flops_per_second"]
        if max(read, compute) < swap:
            return tokens
    return 0
    ### END SOLUTION


def _model(name: str) -> dict[str, float]:
    spec = ModelSpec.preset(name)
    return {
        "layers": spec.num_layers,
        "kv_heads": spec.num_kv_heads,
        "head_dim": spec.head_dim,
        "parameters": parameters(name)[1],
    }


def _card(name: str) -> dict[str, float]:
    card = CARDS[name]
    return {
        "bytes_per_second": card.bytes_per_second,
        "flops_per_second": card.flops_per_second,
        "swap_bytes_per_second": card.swap_bytes_per_second,
    }


def _clock(model: Mapping[str, float], card: Mapping[str, float]) -> Roofline:
    """The simulator's clock for these two."""
    spec = ModelSpec(
        "model", int(model["layers"]), 1024 * int(model["kv_heads"]), int(model["kv_heads"]),
        int(model["head_dim"]),
    )  # fmt: skip
    return Roofline(
        weight_bytes=2 * model["parameters"],
        flops_per_token=2 * model["parameters"],
        kv_bytes_per_token=spec.kv_bytes_per_token,
        bytes_per_second=card["bytes_per_second"],
        flops_per_second=card["flops_per_second"],
        swap_bytes_per_second=card["swap_bytes_per_second"],
    )


def _seconds(clock: Roofline, tokens: int) -> tuple[float, float]:
    """Recomputing, and the way out and back: what it adds to a step that swaps."""
    swap = clock.seconds(0, 1, 0, tokens) - clock.seconds(0, 1, 0)
    return clock.seconds(tokens, 0, 0), 2 * swap


def expected(model: dict[str, float], card: dict[str, float]) -> int:
    """By the simulation's clock, `Roofline`, one number of tokens after the other."""
    clock = _clock(model, card)
    for tokens in range(1, 10_001):
        recompute, swap = _seconds(clock, tokens)
        if recompute < swap:
            return tokens
    return 0


def same(yours: Any, right: Any) -> bool:
    if type(yours) is not int or not right or not yours:
        return type(yours) is int and yours == right
    return bool(abs(yours - right) <= max(1, 0.05 * right))


PAIRS = (
    ("qwen3-0.6b", "a100-40gb"),
    ("llama-2-7b", "h100"),
    ("llama-3.1-8b", "a100-40gb"),
    ("opt-13b", "h100"),
)
OTHERS = (
    ("qwen3-0.6b", "l4"),
    ("llama-2-7b", "h200"),
    ("opt-13b", "h200"),
    ("qwen3-8b", "h100"),
    ("qwen3-30b-a3b", "a100-80gb"),
)


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    for name, card in OTHERS if hidden else PAIRS:
        yield _case(f"{name} on an {card}", _model(name), _card(card))
    slow = _card("h100")
    slow["bytes_per_second"] /= 30 if hidden else 10
    yield _case("llama-2-7b on a card with a slow memory", _model("llama-2-7b"), slow)


def _case(told: str, model: dict[str, float], card: dict[str, float]) -> Case:
    tag = "there is one" if expected(model, card) else "there is none"
    return Case((model, card), f"{told}: {model}, {card}", tag)


def why(case: Case, yours: Any, right: Any) -> str:
    clock = _clock(*case.args)
    tokens = right or (yours if 0 < yours <= 10_000 else 10_000)
    recompute, swap = _seconds(clock, tokens)
    return (
        f"For {tokens:,} tokens recomputing takes {1000 * recompute:.3g} ms; swapping moves "
        f"{clock.kv_bytes_per_token:,.0f} bytes a token, twice, which takes {1000 * swap:.3g} ms."
    )


EXERCISE = Exercise(
    number="6.3",
    title="Swap or compute again",
    stars=2,
    statement=STATEMENT,
    reference=break_even,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "one_way": Wrong(
            variant(break_even, "2 * tokens * token_bytes", "tokens * token_bytes"),
            "The bytes cross the bus once.",
            "there is one",
        ),
        "one_layer": Wrong(
            variant(break_even, '2 * model["layers"] * model["kv_heads"]', '2 * model["kv_heads"]'),
            "A token has one key and one value for each head.",
            "there is one",
        ),
        "keys_alone": Wrong(
            variant(break_even, '= 2 * model["layers"] *', '= model["layers"] *'),
            "What is moved are the keys.",
            "there is one",
        ),
        "weights_for_nothing": Wrong(
            variant(break_even, "max(read, compute)", "compute"),
            "A short prompt takes no time.",
            "there is one",
        ),
        "read_and_compute": Wrong(
            variant(break_even, "max(read, compute)", "read + compute"),
            "The weights are read first, and the tokens computed afterwards.",
            "there is one",
        ),
    },
    hints=(
        "Write down both times for n tokens. Which of them is not proportional to n?",
        "A token has a key and a value for every KV head in every layer, and moves twice.",
        "Swap: 2 · n · (2 · layers · kv_heads · head_dim · 2) / swap_bytes_per_second. "
        "Recompute: the larger of 2 · parameters / bytes_per_second and "
        "n · 2 · parameters / flops_per_second.",
    ),
    vllm=(
        "vllm/core/scheduler.py: Scheduler._preempt",
        "vllm/worker/cache_engine.py: CacheEngine.get_cache_block_size",
    ),
    same=same,
)
