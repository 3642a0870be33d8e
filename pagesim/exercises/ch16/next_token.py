"""# 16.4 A draw that no batch can change ★★

How do logits become a token? Write

```python
def next_token(logits, temperature, top_k, top_p, seed, sample, position):
    return token
```

The function takes these steps:

1. Divide the logits by `temperature`.
2. Keep the `top_k` most likely tokens, or all of them if `top_k` is 0. Of equally likely tokens,
   the one with the smaller id comes first.
3. Compute the softmax of what is kept.
4. Begin with the most likely token, and keep tokens until their probabilities sum to `top_p` or
   more. The token that reaches `top_p` **stays**.
5. Draw one of these tokens. Put their probabilities side by side on a line, the most likely first.
   Multiply `number` by the sum of these probabilities. The result is a point on the line, and the
   token is the one on whose part of the line it falls.

The `number`, in [0, 1), is `np.random.default_rng([seed, sample, position]).random()`. It depends
on the seed of the request, on which of its samples this is, and on the position in the output, and
on nothing else. So a request has the same output whatever else is in the batch, even after a
preemption.

Example: for logits `[2.0, 1.0, 0.5, -1.0]`, temperature 1, `top_k` 3 and `top_p` 0.8, the
probabilities are 0.63, 0.23 and 0.14. The first two tokens stay, and token 0 is drawn in 0.63 /
0.86 of all cases.

## Hints
1. Work with a list of tokens, the most likely first, and with their weights
   `exp(logit / temperature)`.
2. You can use the running sums of the weights twice. They tell you how many tokens stay, and on
   whose part of the line the point falls.
3. Stop the sums at the first that is `>= top_p * sum(weights)`. The token is the first whose
   running sum is above `number * sums[-1]`.

## Wrong answers
* who_crosses_p_leaves (equally likely): The tokens that are kept have a probability of at most
  top_p together.
* one_number_for_all (equally likely): A request has one seed, so it has one number for all
  positions.
* samples_share_their_draws (equally likely): The number depends on the seed and the position alone,
  so all samples share it.
* temperature_multiplies (a high temperature): A high temperature makes the likely tokens likelier.
* top_p_of_all (top_k and top_p): top_p is a share of all tokens, whatever top_k has left out.

## vLLM
* vllm/model_executor/layers/sampler.py: _apply_top_k_top_p
* vllm/model_executor/layers/sampler.py: Sampler.forward
"""

import math
from typing import Any

from pagesim.exercises.kit import Case, Cases, Random


def next_token(
    logits: list[float], temperature: float, top_k: int, top_p: float, seed: int, sample: int,
    position: int,
) -> int:  # fmt: skip
    """The token that is drawn; its number depends on seed, sample and position alone."""
    import numpy as np

    ### BEGIN SOLUTION
    order = sorted(range(len(logits)), key=lambda token: -logits[token])[: top_k or None]
    weights = [math.exp((logits[token] - logits[order[0]]) / temperature) for token in order]
    ### temperature_multiplies: weights = [math.exp(logits[token] * temperature) for token in order]
    enough = top_p * sum(weights)
    ### top_p_of_all: all_weights = [math.exp((x - logits[order[0]]) / temperature) for x in logits]
    ### top_p_of_all: enough = top_p * sum(all_weights)
    sums: list[float] = []
    for weight in weights:
        sums.append(weight + (sums[-1] if sums else 0.0))
        if sums[-1] >= enough:
            break
            ### who_crosses_p_leaves: sums = sums[:-1] or sums
            ### who_crosses_p_leaves: break
    number = np.random.default_rng([seed, sample, position]).random() * sums[-1]
    ### one_number_for_all: number = np.random.default_rng(seed).random() * sums[-1]
    ### samples_share_their_draws: number = np.random.default_rng([seed, position]).random()
    ### samples_share_their_draws: number *= sums[-1]
    return order[sum(each <= number for each in sums)]
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """One rule after the other, each at several positions; then all of them."""
    seed = rng.randrange(1000)
    rules: list[tuple[list[float], float, int, float, str]] = [
        ([3.0], 1.0, 0, 1.0, "one token"),
        ([1.0, 1.0], 1.0, 0, 1.0, "equally likely"),
        ([1.0, 1.0, 1.0, 1.0], 1.0, 0, 1.0, "equally likely"),
        ([0.0, 1.0, 2.0], 1.0, 0, 1.0, "not equally likely"),
        ([0.0, 2.0, 3.0], 3.0, 0, 1.0, "a high temperature"),
        ([0.0, 2.0, 3.0], 0.5, 0, 1.0, "a low temperature"),
        ([1.0, 1.0, 1.5, 1.0], 1.0, 2, 1.0, "top_k"),
        ([0.0, 0.0], 1.0, 0, 0.5, "exactly top_p"),  # zeros: no way to a half rounds
        ([0.5, 1.0, 0.8, 0.2], 1.0, 0, 0.6, "top_p"),
        ([0.5, 1.0, 0.8, 0.2, 0.2, 0.1], 1.0, 3, 0.7, "top_k and top_p"),
    ]
    for *rule, tag in rules:
        for position in range(1 if tag == "one token" else 8):
            yield Case((*rule, seed, position % 2, position), tag=tag)
    for _ in range(60):
        logits = [round(rng.gauss(0, 2), 3) for _ in range(rng.randint(3, 20 if hidden else 12))]
        temperature, top_k = rng.choice((0.3, 0.7, 1.0, 2.5)), rng.choice((0, 1, 3, 30))
        key = rng.choice((0.2, 0.5, 0.9, 1.0)), rng.randrange(10**6), rng.randrange(4)
        yield Case((logits, temperature, top_k, *key, rng.randrange(100)), tag="many")


def valid(logits: list[float], temperature: float, top_p: float) -> bool:
    return bool(logits) and temperature > 0 and top_p > 0


def oracle(logits: list[float], temperature: float, top_k: int, top_p: float, *key: int) -> int:
    """What the engine of chapter 16 draws."""
    import torch

    from pagesim.kernels.tiny_llm.sampling import SamplingParams, draw

    seed, sample, position = key
    params = SamplingParams(temperature=temperature, top_k=top_k, top_p=top_p, seed=seed)
    return draw(torch.tensor(logits, dtype=torch.float64), params, sample, position)


def why(yours: int, logits: list[float], temperature: float, *more: Any) -> str:
    import numpy as np

    top_k, top_p, *key = more
    if not 0 <= yours < len(logits):
        return f"Return a token, 0 to {len(logits) - 1}."
    order = sorted(range(len(logits)), key=lambda token: -logits[token])[: top_k or None]
    if yours not in order:
        return f"Token {yours} is not among the {top_k} most likely tokens."
    scaled = np.array([logits[token] for token in order]) / temperature
    shares = np.exp(scaled - scaled[0]) / np.exp(scaled - scaled[0]).sum()
    kept = ", ".join(f"{token}: {share:.2f}" for token, share in zip(order, shares, strict=True))
    stay = f"Tokens stay until their probabilities sum to {top_p:g} or more"
    number = f"the number is {np.random.default_rng(key).random():.3f}"
    return f"After temperature and top_k, the probabilities are {kept}. {stay}, and {number}."
