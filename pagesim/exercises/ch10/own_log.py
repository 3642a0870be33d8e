"""10.4: a start log of one's own, and its line computed beforehand."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from pagesim.errors import UsageError
from pagesim.exercises.ch10.logs import LOGS, MOST, read
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.goal import Goal
from pagesim.exercises.source import variant
from pagesim.sizing.model import ModelSpec

STATEMENT = f"""
Start vLLM with a model of your choice, copy what it prints, and explain its line:

```python
def my_log():
    return log, model, low, high
```

* `log`: the text, with the line that says how much memory is left for the cache, and the line
  that says how many blocks or tokens it holds. Any release will do, V0 or V1, with blocks of 16
  tokens;
* `model`: a dict with `layers`, `kv_heads` and `head_dim`, from the `config.json`;
* `low`, `high`: the blocks that requests can use, at least and at most, as your function of
  exercise 10.2 computes them.

Right is an answer whose numbers are the simulator's, and whose log agrees with them. If you have
no GPU, take one of the {len(LOGS)} logs in `pagesim.exercises.ch10.logs.LOGS`, such as `LOGS[2]`.

Only models with plain attention in all layers: no windows, no latent vectors.
"""


def my_log() -> tuple[str, dict[str, int], int, int]:
    """A start log, its model, and the fewest and the most blocks that it can mean."""
    from pagesim.exercises.ch10.logs import LOGS

    ### BEGIN SOLUTION
    block_bytes = 28 * 2 * 8 * 128 * 16 * 2
    low, high = (thousandths * 2**30 // 1000 // block_bytes for thousandths in (69655, 69665))
    return LOGS[2], {"layers": 28, "kv_heads": 8, "head_dim": 128}, low - 1, high - 1
    ### END SOLUTION


def fault(yours: Any) -> str:
    """What is wrong with an answer; nothing if log, numbers and simulator agree."""
    if not isinstance(yours, list) or len(yours) != 4:
        return "The answer is a log, a model and two numbers of blocks."
    log, model, low, high = yours
    if not isinstance(log, str) or len(log) > MOST:
        return f"The log is a text of at most {MOST:,} characters."
    keys = ("layers", "kv_heads", "head_dim")
    if not isinstance(model, dict) or {*model} != {*keys}:
        return f"The model is a dict with {', '.join(keys)}."
    if any(type(model[key]) is not int or not 1 <= model[key] <= 10_000 for key in keys):
        return f"{', '.join(keys)} are ints from 1 to 10,000."
    heads = model["kv_heads"]
    try:
        found = read(log)
        least, most = found.usable(
            ModelSpec("yours", model["layers"], 64 * heads, heads, model["head_dim"])
        )
    except (UsageError, TypeError) as error:
        return f"The log cannot be read: {error}."
    if found.blocks is None:
        return "The log lacks its line: how many GPU blocks there are, or how many tokens."
    usable = found.blocks - (found.engine == "v1")
    told = f"With this model {found.memory} are {least:,} to {most:,} blocks for requests"
    if not least <= usable <= most:
        return f"{told}, but the log means {usable:,}: is the model the right one?"
    if [low, high] != [least, most] or {type(low), type(high)} != {int}:
        return f"{told}, and the log means {usable:,}. Yours are {low!r:.20} to {high!r:.20}."
    return ""


def expected() -> Goal:
    return Goal(
        accepts=lambda yours: not fault(yours),
        like=("log", {}, 0, 0),
        words="the simulator's two numbers for this log, and the log's own line between them",
    )


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    yield Case((), "your log, graded" if hidden else "your log", "your log")


def why(case: Case, yours: Any, right: Any) -> str:
    return fault(list(yours))


EXERCISE = Exercise(
    number="10.4",
    title="A log of your own",
    stars=2,
    statement=STATEMENT,
    reference=my_log,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "gigabytes": Wrong(
            variant(my_log, "2**30 // 1000", "10**6"), "GiB is another word for GB.", "your log"
        ),
        "null_block": Wrong(
            variant(my_log, "low - 1, high - 1", "low, high"),
            "All blocks of the log hold tokens.",
            "your log",
        ),
        "query_heads": Wrong(
            variant(my_log, '"kv_heads": 8', '"kv_heads": 16'),
            "Every query head has its own keys and values.",
            "your log",
        ),
        "cut_off": Wrong(
            variant(my_log, "LOGS[2]", 'LOGS[2].split("GPU KV")[0]'),
            "The line with the memory is enough.",
            "your log",
        ),
        "as_printed": Wrong(
            variant(my_log, "(69655, 69665)", "(69660, 69660)"),
            "The printed memory is exact.",
            "your log",
        ),
    },
    hints=(
        "Find the line with the GiB for the cache, and the config.json of the model.",
        "Use blocks_of of exercise 10.2 on your log.",
        "The reference takes LOGS[2]: Qwen3-0.6B has 28 layers and 8 KV heads of 128 numbers, and "
        "69.66 GiB lie between 69.655 and 69.665. One block is V1's null block.",
    ),
    vllm=(
        "vllm/worker/worker.py: Worker.determine_num_available_blocks",
        "vllm/executor/gpu_executor.py: GPUExecutor.initialize_cache",
    ),
)
