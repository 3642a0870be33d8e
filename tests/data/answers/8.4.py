from pagesim.exercises.ch08.logs import LOGS


# %% right: LOGS[2], in thousandths
def my_log():
    block = 28 * 2 * 8 * 128 * 16 * 2
    low = 69655 * 2**30 // 1000 // block - 1
    high = 69665 * 2**30 // 1000 // block - 1
    return LOGS[2], {"layers": 28, "kv_heads": 8, "head_dim": 128}, low, high

# %% right: LOGS[0], V0, the numbers of the statement of 10.2
def my_log():
    return LOGS[0], dict(layers=32, kv_heads=8, head_dim=128), 1948, 1953

# %% right: four GPUs and fp8, NumPy integers
import numpy as np


def my_log():
    block = np.int64(80 * 2 * (8 // 4) * 128 * 16 * 1)
    ends = np.array([35115, 35125], dtype=object) * 2**30 // 1000
    low, high = (np.int64(end) // block - 1 for end in ends)
    return LOGS[4], {"head_dim": 128, "kv_heads": 8, "layers": 80}, low, high

# %% right: a log of one's own, with more lines around it, a list
def my_log():
    log = "\n".join([
        "INFO 11-18 10:00:01 [core.py:58] Initializing a V1 LLM engine (v0.8.0) with config: "
        "model='Qwen/Qwen2-1.5B', tensor_parallel_size=1, kv_cache_dtype=auto",
        "INFO 11-18 10:00:09 [gpu_worker.py:227] Available KV cache memory: 38.48 GiB",
        "INFO 11-18 10:00:09 [kv_cache_utils.py:634] GPU KV cache size: 1,441,072 tokens",
        "INFO 11-18 10:00:10 [core.py:140] init engine took 12.3 seconds",
    ])
    block = 28 * 2 * 2 * 128 * 16 * 2
    ends = [thousandths * 2**30 // 1000 // block - 1 for thousandths in (38475, 38485)]
    return [log, {"layers": 28, "kv_heads": 2, "head_dim": 128}, *ends]

# %% right: LOGS[1]
def my_log():
    model = {"layers": 32, "kv_heads": 8, "head_dim": 128}
    block = 16 * 2 * model["layers"] * model["kv_heads"] * model["head_dim"] * 2
    low, high = 2885 * 2**30 // 1000 // block, 2895 * 2**30 // 1000 // block
    return LOGS[1], model, low, high

# %% wrong: the null block forgotten
def my_log():
    block = 28 * 2 * 8 * 128 * 16 * 2
    low = 69655 * 2**30 // 1000 // block
    high = 69665 * 2**30 // 1000 // block
    return LOGS[2], {"layers": 28, "kv_heads": 8, "head_dim": 128}, low, high

# %% wrong: the model of another log
# as "LOGS[2], in thousandths", but
#-     return LOGS[2], {"layers": 28, "kv_heads": 8, "head_dim": 128}, low, high
#+     return LOGS[3], {"layers": 28, "kv_heads": 8, "head_dim": 128}, low, high

# %% wrong: the log's own number twice
def my_log():
    blocks = 652144 // 16
    return LOGS[2], {"layers": 28, "kv_heads": 8, "head_dim": 128}, blocks, blocks

# %% wrong: tokens instead of blocks
# as "LOGS[2], in thousandths", but
#-     block = 28 * 2 * 8 * 128 * 16 * 2
#+     block = 28 * 2 * 8 * 128 * 2

# %% wrong: query heads for KV heads
def my_log():
    block = 28 * 2 * 16 * 128 * 16 * 2
    low = 69655 * 2**30 // 1000 // block - 1
    high = 69665 * 2**30 // 1000 // block - 1
    return LOGS[2], {"layers": 28, "kv_heads": 16, "head_dim": 128}, low, high

# %% wrong: low and high exchanged
# as "LOGS[2], in thousandths", but
#-     return LOGS[2], {"layers": 28, "kv_heads": 8, "head_dim": 128}, low, high
#+     return LOGS[2], {"layers": 28, "kv_heads": 8, "head_dim": 128}, high, low

# %% wrong: the number of the log without its line
# as "LOGS[2], in thousandths", but
#-     return LOGS[2], {"layers": 28, "kv_heads": 8, "head_dim": 128}, low, high
#+     log = "\n".join(LOGS[2].splitlines()[:2])
#+     return log, {"layers": 28, "kv_heads": 8, "head_dim": 128}, low, high

# %% wrong: other names in the model
# as "LOGS[2], in thousandths", but
#-     return LOGS[2], {"layers": 28, "kv_heads": 8, "head_dim": 128}, low, high
#+     return LOGS[2], {"num_hidden_layers": 28, "kv_heads": 8, "head_dim": 128}, low, high

# %% wrong: the number of the log, not its text
# as "LOGS[2], in thousandths", but
#-     return LOGS[2], {"layers": 28, "kv_heads": 8, "head_dim": 128}, low, high
#+     return 2, {"layers": 28, "kv_heads": 8, "head_dim": 128}, low, high

# %% wrong: floats
def my_log():
    block = 28 * 2 * 8 * 128 * 16 * 2
    low = 69.655 * 2**30 / block - 1
    high = 69.665 * 2**30 / block - 1
    return LOGS[2], {"layers": 28, "kv_heads": 8, "head_dim": 128}, low, high
