# %% right: thousandths of a GiB, whole numbers
import re


def blocks_of(log, model):
    gib = re.findall(r"(?:kv_cache_size=|KV cache memory: )([\d.]+) ?GiB", log)[0]
    gpus = int(re.findall(r"tensor_parallel_size=(\d+)", log)[0])
    thousandths = int(gib.replace(".", "")) * 10
    size = 1 if "kv_cache_dtype=fp8" in log else 2
    heads = max(1, model["kv_heads"] // gpus)
    block = 16 * model["layers"] * 2 * heads * model["head_dim"] * size
    null = 1 if "V1 LLM engine" in log else 0
    low = -(-(thousandths - 5) * 2**30 // 1000) // block - null
    high = (thousandths + 5) * 2**30 // 1000 // block - null
    return low, high

# %% right: fractions
import math
import re
from fractions import Fraction


def blocks_of(log, model):
    gib = Fraction(re.search(r"(?:kv_cache_size=|KV cache memory: )([\d.]+)", log).group(1))
    gpus = int(re.search(r"tensor_parallel_size=(\d+)", log).group(1))
    heads = max(model["kv_heads"] // gpus, 1)
    number = Fraction(1 if "fp8" in log else 2)
    block = 32 * model["layers"] * heads * model["head_dim"] * number
    reserved = int("V1 LLM engine" in log)
    low = math.ceil((gib - Fraction(1, 200)) * 2**30) // block
    high = math.floor((gib + Fraction(1, 200)) * 2**30) // block
    return int(low) - reserved, int(high) - reserved

# %% right: decimals, a list
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal


def blocks_of(log, model):
    text = re.findall(r"(?:kv_cache_size=|KV cache memory: )([\d.]+) ?GiB", log)[0]
    gpus = int(re.findall(r"tensor_parallel_size=(\d+)", log)[0])
    kind = re.findall(r"kv_cache_dtype=(\w+)", log)[0]
    per_token = model["layers"] * 2 * max(1, model["kv_heads"] // gpus) * model["head_dim"]
    block = 16 * per_token * {"auto": 2, "fp8": 1}[kind]
    both = []
    for half, way in ((Decimal("-0.005"), ROUND_CEILING), (Decimal("0.005"), ROUND_FLOOR)):
        memory = ((Decimal(text) + half) * 2**30).to_integral_value(way)
        both.append(int(memory) // block - ("V1 LLM engine" in log))
    return both

# %% right: the smallest count whose bytes are too many, with no rounding of the memory
import re


def blocks_of(log, model):
    whole, cents = re.findall(r"(?:kv_cache_size=|KV cache memory: )(\d+)\.(\d\d)", log)[0]
    gpus = int(re.findall(r"tensor_parallel_size=(\d+)", log)[0])
    heads = -(-model["kv_heads"] // gpus)
    bits = 8 if "kv_cache_dtype=fp8" in log else 16
    block = 16 * model["layers"] * 2 * heads * model["head_dim"] * bits // 8
    memory = 1000 * int(whole) + 10 * int(cents)
    ends = [(memory + half) * 2**30 // (1000 * block) for half in (-5, 5)]
    if "V1 LLM engine" in log:
        ends = [each - 1 for each in ends]
    return tuple(ends)

# %% right: a helper, divmod
import re


def _block_bytes(log, model, gpus):
    heads = max(1, model["kv_heads"] // gpus)
    numbers = 16 * 2 * model["layers"] * heads * model["head_dim"]
    return numbers if "kv_cache_dtype=fp8" in log else 2 * numbers


def blocks_of(log, model):
    gib = re.findall(r"(?:kv_cache_size=|KV cache memory: )([\d.]+) ?GiB", log)[0]
    gpus = int(re.findall(r"tensor_parallel_size=(\d+)", log)[0])
    hundredths = round(float(gib) * 100)
    block = _block_bytes(log, model, gpus)
    low, _ = divmod((2 * hundredths - 1) * 2**30, 200 * block)
    high, _ = divmod((2 * hundredths + 1) * 2**30, 200 * block)
    null = 1 if "V1" in log.split("LLM engine")[0] else 0
    return low - null, high - null

# %% wrong: a GiB has 10**9 bytes
# as "thousandths of a GiB, whole numbers", but
#-     low = -(-(thousandths - 5) * 2**30 // 1000) // block - null
#-     high = (thousandths + 5) * 2**30 // 1000 // block - null
#-     return low, high
#+     return (thousandths - 5) * 10**6 // block - null, (thousandths + 5) * 10**6 // block - null

# %% wrong: the null block forgotten
# as "thousandths of a GiB, whole numbers", but
#-     null = 1 if "V1 LLM engine" in log else 0
#+     null = 0

# %% wrong: a null block in V0 too
# as "thousandths of a GiB, whole numbers", but
#-     null = 1 if "V1 LLM engine" in log else 0
#+     null = 1

# %% wrong: fp8 forgotten
# as "thousandths of a GiB, whole numbers", but
#-     size = 1 if "kv_cache_dtype=fp8" in log else 2
#+     size = 2

# %% wrong: each GPU has all heads
# as "thousandths of a GiB, whole numbers", but
#-     heads = max(1, model["kv_heads"] // gpus)
#+     heads = model["kv_heads"]

# %% wrong: no head where there are more GPUs than heads
# as "thousandths of a GiB, whole numbers", but
#-     heads = max(1, model["kv_heads"] // gpus)
#+     heads = model["kv_heads"] / gpus
#
#-     return low, high
#+     return int(low), int(high)

# %% wrong: the printed number, at both ends
# as "thousandths of a GiB, whole numbers", but
#-     low = -(-(thousandths - 5) * 2**30 // 1000) // block - null
#-     high = (thousandths + 5) * 2**30 // 1000 // block - null
#+     low = -(-(thousandths) * 2**30 // 1000) // block - null
#+     high = (thousandths) * 2**30 // 1000 // block - null

# %% wrong: a hundredth more and less
# as "thousandths of a GiB, whole numbers", but
#-     low = -(-(thousandths - 5) * 2**30 // 1000) // block - null
#-     high = (thousandths + 5) * 2**30 // 1000 // block - null
#+     low = -(-(thousandths - 10) * 2**30 // 1000) // block - null
#+     high = (thousandths + 10) * 2**30 // 1000 // block - null

# %% wrong: keys alone
# as "thousandths of a GiB, whole numbers", but
#-     block = 16 * model["layers"] * 2 * heads * model["head_dim"] * size
#+     block = 16 * model["layers"] * heads * model["head_dim"] * size

# %% wrong: blocks of one token: tokens instead of blocks
# as "thousandths of a GiB, whole numbers", but
#-     block = 16 * model["layers"] * 2 * heads * model["head_dim"] * size
#+     block = model["layers"] * 2 * heads * model["head_dim"] * size
