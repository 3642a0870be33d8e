"""# 8.4 A log of your own ★★

Start vLLM with a model of your choice, copy its log, and explain the line with the size of the
cache:

```python
def my_log():
    return log, model, low, high
```

* `log`: the text of the log. It must have the line that says how much memory is left for the cache,
  and the line that says how many blocks or tokens the cache holds. You may use any release, V0 or
  V1, with blocks of 16 tokens;
* `model`: a dict with `layers`, `kv_heads` and `head_dim`, taken from `config.json`;
* `low`, `high`: the smallest and the largest possible number of blocks that requests can use, as
  your function of exercise 8.2 computes them.

Your result is right if the simulator computes the same two numbers, and if the number in the log is
between them. If you have no GPU, take one of the 5 logs in `pagesim.exercises.ch08.logs.LOGS`, such
as `LOGS[2]`.

The model must have plain attention in all layers, without windows or latent vectors.

## Hints
1. Find the line with the GiB for the cache, and the config.json of the model.
2. Use your function `blocks_of` of exercise 8.2 on the log.
3. The solution uses `LOGS[2]`. Qwen3-0.6B has 28 layers and 8 KV heads of 128 elements, and 69.66
   GiB means 69.655 to 69.665. One block is the null block of V1.

## Wrong answers
* gigabytes (your log): A GiB is the same as a GB.
* null_block (your log): All blocks in the log hold tokens.
* query_heads (your log): Every query head has its own keys and values.
* cut_off (your log): The log needs only the line with the memory.
* as_printed (your log): The printed memory is not rounded.

## vLLM
* vllm/worker/worker.py: Worker.determine_num_available_blocks
* vllm/executor/gpu_executor.py: GPUExecutor.initialize_cache
"""

from pagesim.exercises.ch08.logs import MOST, read
from pagesim.exercises.kit import Case, Cases, Goal, Random, UsageError, Value

KEYS = ("layers", "kv_heads", "head_dim")


def my_log() -> tuple[str, dict[str, int], int, int]:
    """A start log, its model, and the smallest and largest number of blocks that it can mean."""
    from pagesim.exercises.ch08.logs import LOGS

    ### BEGIN SOLUTION
    block_bytes = 28 * 2 * 8 * 128 * 16 * 2
    low, high = (thousandths * 2**30 // 1000 // block_bytes for thousandths in (69655, 69665))
    ### gigabytes: low, high = (n * 10**6 // block_bytes for n in (69655, 69665))
    ### as_printed: low = high = 69660 * 2**30 // 1000 // block_bytes
    return LOGS[2], {"layers": 28, "kv_heads": 8, "head_dim": 128}, low - 1, high - 1
    ### null_block: return LOGS[2], {"layers": 28, "kv_heads": 8, "head_dim": 128}, low, high
    ### query_heads: model = {"layers": 28, "kv_heads": 16, "head_dim": 128}
    ### query_heads: return LOGS[2], model, low - 1, high - 1
    ### cut_off: model = {"layers": 28, "kv_heads": 8, "head_dim": 128}
    ### cut_off: return LOGS[2].split("GPU KV")[0], model, low - 1, high - 1
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    yield Case((), "your log, graded" if hidden else "your log", "your log")


def oracle() -> Goal:
    """Any log whose numbers are the simulator's."""
    numbers = "the simulator's two numbers for this log, with the log's own line between them"
    return Goal(("log", {}, 0, 0), numbers)


def why(yours: Value) -> str:
    if not isinstance(yours, list) or len(yours) != 4:
        return "Return a log, a model and two numbers of blocks."
    log, model, low, high = yours
    if not isinstance(log, str) or len(log) > MOST:
        return f"The log must be a text of at most {MOST:,} characters."
    if not isinstance(model, dict) or {*model} != {*KEYS}:
        return f"The model must be a dict with {', '.join(KEYS)}."
    if any(type(n) is not int or not 1 <= n <= 10_000 for n in model.values()):
        return f"{', '.join(KEYS)} must be ints from 1 to 10,000."
    try:
        found = read(log)
        least, most = found.usable(**model)
    except (UsageError, TypeError) as error:
        return f"The log cannot be read: {error}."
    if found.blocks is None:
        return "A line is missing in the log: the one with the number of GPU blocks, or of tokens."
    usable = found.blocks - (found.engine == "v1")
    blocks = f"With this model, requests have {least:,} to {most:,} blocks in {found.memory}"
    if not least <= usable <= most:
        return f"{blocks}, but {usable:,} by the log. Is it the right model?"
    if [low, high] != [least, most] or {type(low), type(high)} != {int}:
        return f"{blocks}, and {usable:,} by the log. Yours are {low!r:.20} to {high!r:.20}."
    return ""
