"""# 12.2 From how many tokens on? ★

A prefix is in the second tier, but no longer on the GPU. The request can load the prefix or compute
it again. Loading has a price at its beginning: the request waits for one step until the load
begins. So a short prefix is computed faster, and a long one may be loaded faster. Write

```python
def worth_loading(model, machine, chunk):
    return tokens
```

* `model`: a dict with `bytes_per_token`, the bytes of the keys and values of a token, and
  `parameters`, the number of weights. To compute a token takes 2 floating-point operations per
  weight; attention is left out.
* `machine`: a dict with `bytes_per_second` of the link from the CPU to the GPU, `flops_per_second`
  (floating-point operations) of the GPU, and `wait`, the seconds before a load begins.
* `chunk`: the tokens in a chunk. Only whole chunks are loaded.
* `tokens`: the smallest number of tokens whose load takes less time than computing them, as an int.
  Return 0 if there is none.

Example: `worth_loading({"bytes_per_token": 100, "parameters": 10}, {"bytes_per_second": 10,
"flops_per_second": 1, "wait": 85}, 4)` is 12. A token takes 10 s to load and 20 s to compute, so
loading gains 10 s per token. The wait of 85 s is gained back after 8.5 tokens, and the next whole
chunk ends after 12.

## Hints
1. Write down the time to load n tokens and the time to compute them. Which part of them does not
   depend on n?
2. How many seconds does each token gain? When is this gain larger than the wait? And what if a
   token gains nothing?
3. With `gain = 2 * parameters / flops_per_second - bytes_per_token / bytes_per_second`, loading is
   faster for more than `wait / gain` tokens. The answer is the first multiple of `chunk` above this
   number, or 0 if `gain` is not above 0.

## Wrong answers
* any_number (a model): The smallest number of tokens need not be a number of whole chunks.
* rounded_down (a model): The load ends with the last whole chunk before the two are equal.
* out_and_back (a model): As in swapping, the bytes cross the link twice.
* a_wait_for_each_chunk (a model): Every chunk is a load of its own, with a wait of its own.
* no_chunk_at_all (nothing to wait for): Without a wait, loading is faster from 0 tokens on.
* a_long_prompt_wins (a slow link): The price of the wait is gained back by every prompt that is
  long enough.

## vLLM 0.33.0
* vllm/distributed/kv_transfer/kv_connector/v1/offloading/scheduler.py:
  OffloadingConnectorScheduler.get_num_new_matched_tokens, which loads whole chunks of any number
"""

from pagesim.exercises.kit import Case, Cases, Random
from pagesim.sizing.link import Link
from pagesim.sizing.load_or_compute import LoadOrCompute

Numbers = dict[str, float]
SHOWN = (
    (524_288, 6.74e9, 25e9, 445e12, 0.015, "a model"),  # Llama 2 7B, PCIe 4, 45 % of an H100
    (131_072, 8.03e9, 25e9, 445e12, 0.015, "a model"),  # Llama 3.1 8B
    (524_288, 6.74e9, 25e9, 445e12, 0.0, "nothing to wait for"),
    (524_288, 6.74e9, 12e9, 445e12, 0.015, "a slow link"),  # PCIe 3
    (100_000, 1e9, 25e9, 5e14, 0.015, "nothing is gained"),  # 4 µs per token, either way
)


def worth_loading(model: dict[str, float], machine: dict[str, float], chunk: int) -> int:
    """The smallest number of tokens that is loaded faster than it is computed; 0 if none is."""
    ### BEGIN SOLUTION
    load = model["bytes_per_token"] / machine["bytes_per_second"]
    ### out_and_back: load = 2 * model["bytes_per_token"] / machine["bytes_per_second"]
    gain = 2 * model["parameters"] / machine["flops_per_second"] - load
    ### a_wait_for_each_chunk: compute = 2 * model["parameters"] / machine["flops_per_second"]
    ### a_wait_for_each_chunk: gain = compute - load - machine["wait"] / chunk
    if gain <= 0:
        return 0
    chunks = int(machine["wait"] / gain / chunk) + 1
    ### rounded_down: chunks = int(machine["wait"] / gain / chunk)
    return chunks * chunk
    ### any_number: return int(machine["wait"] / gain) + 1
    ### no_chunk_at_all: return chunks * chunk if machine["wait"] else 0
    ### END SOLUTION


def a_long_prompt_wins(model: Numbers, machine: Numbers, chunk: int) -> int:
    load = model["bytes_per_token"] / machine["bytes_per_second"]
    gain = abs(2 * model["parameters"] / machine["flops_per_second"] - load)
    return (int(machine["wait"] / gain / chunk) + 1) * chunk


def cases(rng: Random, hidden: bool) -> Cases:
    """Models on machines; no wait; a link that is too slow; random numbers."""
    many = [*SHOWN]
    for _ in range(20):
        sizes = rng.choice((2, 4, 8)) * 65_536, rng.randint(30, 140) * 1e8
        speeds = rng.randint(9, 60) * 1e9, rng.randint(3, 9) * 1e14
        many.append((*sizes, *speeds, rng.randint(1, 40) / 1000, "random"))
    for size, weights, link, gpu, wait, tag in many:
        model = {"bytes_per_token": size, "parameters": weights}
        machine = {"bytes_per_second": link, "flops_per_second": gpu, "wait": wait}
        yield Case((model, machine, rng.choice((24, 48, 64)) if hidden else 16), tag=tag)


def study(model: Numbers, machine: Numbers) -> LoadOrCompute:
    """What `pagesim offload` computes with, when attention is free."""
    link = Link("link", machine["bytes_per_second"], machine["bytes_per_second"])
    flops, wait, size = machine["flops_per_second"], machine["wait"], model["bytes_per_token"]
    return LoadOrCompute("", link, size, 2 * model["parameters"], 0.0, flops, wait)


def oracle(model: Numbers, machine: Numbers, chunk: int) -> int:
    """By the times of the study, one number of chunks after the other."""
    one, tokens = study(model, machine), chunk
    if one.load_per_token >= one.compute_per_token:
        return 0
    while one.load(tokens) >= one.compute(tokens):
        tokens += chunk
    return tokens


def why(yours: int, right: int, model: Numbers, machine: Numbers, chunk: int) -> str:
    one = study(model, machine)
    if yours < 0 or yours % chunk:
        return f"Only whole chunks of {chunk} tokens are loaded."
    tokens = yours or right
    load, compute = (f"{1000 * time(tokens):.4g} ms" for time in (one.load, one.compute))
    return f"To load {tokens:,} tokens takes {load} with the wait, and to compute them {compute}."
