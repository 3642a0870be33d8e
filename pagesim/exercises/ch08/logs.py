"""Start logs of vLLM for exercises 8.2 and 8.4, shortened; and how such a log is read."""

import re
from dataclasses import dataclass

from pagesim.errors import UsageError
from pagesim.sizing import ModelSpec, size_v0, size_v1

_V0 = """\
Initializing an LLM engine with config: model='meta-llama/Llama-3.1-8B', dtype=torch.bfloat16, \
tensor_parallel_size=1, max_seq_len={0}, kv_cache_dtype=auto
Loading model weights took 14.9888 GB
Memory profiling results: total_gpu_memory=23.58GiB peak_torch_memory={1}GiB \
non_torch_memory=0.35GiB kv_cache_size={2}GiB gpu_memory_utilization=0.90
# GPU blocks: {3}, # CPU blocks: 2048
Maximum concurrency for {0} tokens per request: {4}x
"""
_V1 = """\
Initializing a V1 LLM engine with config: model='{}', dtype=torch.bfloat16, max_seq_len={}, \
tensor_parallel_size={}, kv_cache_dtype={}
Available KV cache memory: {} GiB
GPU KV cache size: {} tokens
Maximum concurrency for {:,} tokens per request: {}x
"""
LOGS = (
    _V0.format(20000, "17.06", "3.81", 1952, "1.56"),
    _V0.format(29000, "17.98", "2.89", 1478, "0.82"),
    _V1.format("Qwen/Qwen3-0.6B", 4096, 1, "auto", "69.66", "652,144", 4096, "159.21"),
    _V1.format("Qwen/Qwen2-1.5B", 4096, 1, "auto", "38.48", "1,441,072", 4096, "351.82"),
    _V1.format("meta-llama/Llama-3.1-70B", 8192, 4, "fp8", "35.12", "920,656", 8192, "112.38"),
)
"""The numbers of the first two are from github.com/vllm-project/vllm, issue 10517; the next two are
those of chapter 8. The last log is made up: four GPUs, and an fp8 cache."""

MOST = 200_000
"""Characters that a log may have."""
_MEMORY = re.compile(
    r"(?:kv_cache_size=|Available KV cache memory: |reserved for KV Cache is )(\d+\.\d+) ?GiB"
)
_BLOCKS = re.compile(r"# (?:GPU|cuda) blocks: (\d+)")
_TOKENS = re.compile(r"GPU KV cache size: ([\d,]+) tokens")


@dataclass(frozen=True)
class StartLog:
    """What a start log says. ``blocks`` is its own line, the null block included."""

    engine: str
    memory: str
    tensor_parallel_size: int
    kv_cache_dtype: str
    blocks: int | None

    def usable(self, layers: int, kv_heads: int, head_dim: int) -> tuple[int, int]:
        """The fewest and the most blocks for requests that this memory can mean for a model."""
        model = ModelSpec("yours", layers, 64 * kv_heads, kv_heads, head_dim)
        gpus, dtype = self.tensor_parallel_size, self.kv_cache_dtype
        size = size_v1 if self.engine == "v1" else size_v0
        found = size(model, self.memory, tensor_parallel_size=gpus, kv_cache_dtype=dtype)
        return found.usable_blocks


def read(log: str) -> StartLog:
    """Read a log in blocks of 16 tokens; UsageError names what is missing."""
    memory = _MEMORY.search(log[:MOST])
    if memory is None:
        raise UsageError("the log does not say how much memory is left for the cache, in GiB")
    blocks, tokens = _BLOCKS.search(log[:MOST]), _TOKENS.search(log[:MOST])
    found = int(blocks[1]) if blocks else int(tokens[1].replace(",", "")) // 16 if tokens else None
    return StartLog(
        engine="v1" if tokens or "V1 LLM engine" in log else "v0",
        memory=f"{memory[1]}GiB",
        tensor_parallel_size=int(_field(log, "tensor_parallel_size", "1")),
        kv_cache_dtype=_field(log, "kv_cache_dtype", "auto"),
        blocks=found,
    )


def _field(log: str, name: str, default: str) -> str:
    match = re.search(rf"{name}=['\"]?(\w{{1,20}})", log[:MOST])
    return match[1] if match else default


def without_the_answer(log: str) -> str:
    """The log up to the line that the student computes."""
    lines = log.splitlines()
    end = next(i for i, line in enumerate(lines) if _BLOCKS.search(line) or _TOKENS.search(line))
    return "\n".join(lines[:end])
