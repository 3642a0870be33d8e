"""# 8.2 Read the start log ★★

When vLLM starts, its log says how much memory is left for the cache on each GPU. Compute the next
line: the number of blocks. Write

```python
def blocks_of(log, model):
    return low, high
```

* `log`: the text of the log, up to the line that you compute;
* `model`: a dict with `layers`, `kv_heads` and `head_dim`;
* `low`, `high`: the smallest and the largest possible number of blocks that *requests* can use.
  There are two numbers, because the log prints the memory with two decimals. "3.81 GiB" means
  anything from 3.805 to 3.815 GiB, both included.

The log also has `tensor_parallel_size`, the number of GPUs, and `kv_cache_dtype`, in V0 and in V1.
With several GPUs, each GPU stores its part of the KV heads; if there are more GPUs than KV heads,
each GPU stores one. An element has 1 byte if the dtype is `fp8`, and 2 bytes here if it is `auto`.
A block has 16 tokens, and a GiB has `2**30` bytes. The engine is V1 if the log says
`V1 LLM engine`. In V1, one of the blocks is the null block, which never holds a token.

Example: for Llama-3.1-8B (32 layers, 8 KV heads of 128 elements), with V0 and
`kv_cache_size=3.81GiB`, the result is `(1948, 1953)`. The real log continued with "# GPU blocks:
1952".

The five logs are in `pagesim.exercises.ch08.logs.LOGS`. In exercise 8.4 you bring a log of your
own.

## Hints
1. First compute the bytes of one block on one GPU. Then compute how many blocks fit into the
   memory.
2. 3.81 GiB means `3.805 * 2**30` to `3.815 * 2**30` bytes. To avoid rounding errors, count in
   thousandths of a GiB, as ints.
3. A block has `layers * 2 * max(1, kv_heads // gpus) * head_dim * 16 * (1 or 2)` bytes. Compute
   `memory // block` for the smallest and for the largest memory. For V1, subtract one block from
   each result.

## Wrong answers
* gigabytes (V0): A GiB is the same as a GB.
* as_printed (V0): 3.81 GiB is exactly 3.81 GiB.
* no_null_block (V1): All blocks hold tokens.
* all_heads (four GPUs and fp8): Each GPU stores all heads.
* always_two_bytes (four GPUs and fp8): An element of the cache has as many bytes as a weight of the
  model.

## vLLM
* vllm/worker/worker.py: Worker.determine_num_available_blocks
* vllm/worker/cache_engine.py: CacheEngine.get_cache_block_size
* vllm/executor/gpu_executor.py: GPUExecutor.initialize_cache
"""

import re

from pagesim.exercises.ch08.logs import LOGS, read, without_the_answer
from pagesim.exercises.kit import Case, Cases, Random, counted
from pagesim.sizing.model import PRESETS
from pagesim.sizing.presets import preset_name

TAGS = ("V0", "V0", "V1", "V1", "four GPUs and fp8")
MORE = (("8", "auto", "as many GPUs as heads"), ("16", "auto", "more GPUs than heads"))
OTHERS = (("2", "auto", "h"), ("8", "fp8", "h"), ("16", "fp8", "h"), ("1", "auto", "h"))


def blocks_of(log: str, model: dict[str, int]) -> tuple[int, int]:
    """The smallest and the largest number of blocks for requests that a start log can mean."""
    import re

    gib = re.findall(r"(?:kv_cache_size=|KV cache memory: )([\d.]+) ?GiB", log)[0]  # a string
    gpus = int(re.findall(r"tensor_parallel_size=(\d+)", log)[0])
    ### BEGIN SOLUTION
    cents = int(gib.replace(".", ""))  # in hundredths of a GiB, without rounding
    least = -((5 - 10 * cents) * 2**30 // 1000)
    ### as_printed: least = -((-10 * cents) * 2**30 // 1000)
    most = (10 * cents + 5) * 2**30 // 1000
    number_bytes = 1 if "kv_cache_dtype=fp8" in log else 2
    ### always_two_bytes: number_bytes = 2
    heads = max(1, model["kv_heads"] // gpus)
    ### all_heads: heads = model["kv_heads"]
    block_bytes = model["layers"] * 2 * heads * model["head_dim"] * 16 * number_bytes
    null = 1 if "V1 LLM engine" in log else 0
    ### no_null_block: null = 0
    return least // block_bytes - null, most // block_bytes - null
    ### gigabytes: low, high = least // block_bytes - null, most // block_bytes - null
    ### gigabytes: return low * 10**9 // 2**30, high * 10**9 // 2**30
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """The logs, hidden ones with other memory; then the last one on other numbers of GPUs."""
    for number, log in enumerate(LOGS[:2] if hidden else LOGS):
        shown, model = without_the_answer(log), model_of(log)
        words = f"LOGS[{number}] and {model}"
        if hidden:
            gib = f"{rng.randint(400, 900) / 100:.2f}"
            shown, words = re.sub(r"(?<=cache_size=)[\d.]+", gib, shown), f"{words}, but {gib} GiB"
        yield Case((shown, model), words, TAGS[number])
    for gpus, kind, tag in OTHERS if hidden else MORE:
        log = without_the_answer(LOGS[4]).replace("size=4", f"size={gpus}")
        gib = f"{rng.randint(900, 7000) / 100:.2f}"
        log = log.replace("dtype=fp8", f"dtype={kind}").replace("35.12", gib)
        yield Case((log, model_of(log)), f"{gib} GiB on {gpus} GPUs, {kind}", tag)


def model_of(log: str) -> dict[str, int]:
    spec = PRESETS[preset_name(log.split("model='")[1].split("'", 1)[0])]
    return {"layers": spec.num_layers, "kv_heads": spec.num_kv_heads, "head_dim": spec.head_dim}


def oracle(log: str, model: dict[str, int]) -> tuple[int, int]:
    """By the simulator's sizes."""
    return read(log).usable(**model)


def why(right: tuple[int, int], log: str, model: dict[str, int]) -> str:
    found = read(log)
    heads = counted(max(1, model["kv_heads"] // found.tensor_parallel_size), "KV head")
    null = " V1 keeps one block for itself, the null block." if found.engine == "v1" else ""
    number = counted(1 if found.kv_cache_dtype == "fp8" else 2, "byte")
    room = f"{found.memory} has room for {right[0]:,} to {right[1]:,} blocks for requests"
    product = f"{model['layers']} layers · 2 · {heads} per GPU · {model['head_dim']} elements"
    return f"{room}. A block has 16 tokens · {product} of {number}.{null}"
