"""What vLLM says of its cache at its start: the lines of a log, and what they state.

Every figure has the name of vLLM's flag where there is one. A line is searched from its beginning
to its end: a time, a process or a color before the message does no harm, and one line may state
several figures. Each pattern says of which releases it is. Those "to 0.33" were compared with the
source of 0.33.0; the older ones come from published logs.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pagesim.errors import UsageError
from pagesim.sizing.amount import ByteRange, parse_bytes

Fact = int | float | bool | str | ByteRange
Facts = dict[str, Fact]
"""What the lines have stated, by name."""

_PARTS = {"N": r"([0-9][0-9,]{0,25})", "F": r"([0-9]{1,15}(?:\.[0-9]{1,15})?)", "B": "(True|False)"}
_PARTS["W"] = r"([\w.+-]{1,60})"


@dataclass(frozen=True, slots=True)
class StartLine:
    """One kind of line: the names of its figures, how it is found, and the releases that write it.

    ``releases`` begins with V0 or V1 if only that engine writes it.
    """

    names: tuple[str, ...]
    pattern: re.Pattern[str]
    releases: str


def _line(names: str, text: str, releases: str) -> StartLine:
    """In the text, <N> is a whole number, <F> one with decimals, <B> True or False, <W> a word."""
    text = re.sub("<([NFBW])>", lambda found: _PARTS[found[1]], text)
    return StartLine(tuple(names.split()), re.compile(text), releases)


START_LINES = (
    _line("engine", r"\b(V[01]) LLM engine", "0.7 to 0.33"),
    _line("max_model_len", r"\bmax_seq_len=<N>", "0.2 to 0.33, in the config"),
    _line("tensor_parallel_size", r"\btensor_parallel_size=<N>", "0.2 to 0.33, in the config"),
    _line("pipeline_parallel_size", r"\bpipeline_parallel_size=<N>", "0.5 to 0.33, in the config"),
    _line("data_parallel_size", r"\bdata_parallel_size=<N>", "0.9 to 0.33, in the config"),
    _line("kv_cache_dtype", r"\bkv_cache_dtype=<W>", "0.3 to 0.33, in the config"),
    _line("enable_prefix_caching", r"\benable_prefix_caching=<B>", "0.4 to 0.33, in the config"),
    *(
        _line(name, rf"'{name}': <{kind}>", "0.6 to 0.33, in the non-default args")
        for name, kind in (
            *(("max_model_len", "N"), ("max_num_seqs", "N"), ("max_num_batched_tokens", "N")),
            *(("block_size", "N"), ("gpu_memory_utilization", "F"), ("data_parallel_size", "N")),
            *(("tensor_parallel_size", "N"), ("enable_prefix_caching", "B")),
            *(("num_gpu_blocks_override", "N"),),
        )
    ),
    _line("kv_connector", r"kv_connector['\"]?[=:] ?['\"]<W>", "0.8 to 0.33, in the arguments"),
    _line("max_model_len", r"Using max model len <N>", "0.9 to 0.33"),
    _line(
        "max_num_batched_tokens",
        r"Chunked prefill is enabled with max_num_batched_tokens=<N>",
        "0.5 to 0.33",
    ),
    _line(
        "block_size attention_block_size",
        r"Setting attention block size to (?=<N>)<N> tokens to ensure that attention page size",
        "0.11 to 0.33",
    ),
    _line(
        "total gpu_memory_utilization",
        r"total_gpu_memory \(<F>GiB\) x gpu_memory_utilization \(<F>\)",
        "V0, 0.6.6 to 0.10",
    ),
    _line("memory", r"rest of the memory reserved for KV Cache is <F>GiB", "V0, 0.6.6 to 0.10"),
    *(
        _line(name, rf"\b{text}=<F>(?:GiB|\b)", "V0, 0.6.0 to 0.6.5")
        for name, text in (
            *(("total", "total_gpu_memory"), ("peak", "peak_torch_memory")),
            *(("non_torch", "non_torch_memory"), ("memory", "kv_cache_size")),
            ("gpu_memory_utilization", "gpu_memory_utilization"),
        )
    ),
    _line("memory", r"Available KV cache memory: <F> GiB", "V1, 0.8 to 0.33"),
    _line(
        "profiled_blocks num_gpu_blocks_override",
        r"Overriding num_gpu_blocks=<N> with num_gpu_blocks_override=<N>",
        "0.3 to 0.33",
    ),
    _line("num_gpu_blocks num_cpu_blocks", r"# \w+ blocks: <N>, # CPU blocks: <N>", "V0, to 0.10"),
    _line("num_gpu_blocks", r"# GPU blocks: <N>", "0.7, for V1"),
    _line("tier_gb", r"Created mmap file .{1,400}? \(<F> GB\)", "V1, 0.33: the second tier"),
    _line("tokens", r"KV cache size: <N> tokens", "V1, 0.8 to 0.33"),
    _line(
        "max_model_len max_concurrency",
        r"Maximum concurrency for <N> tokens per request: <F>x",
        "0.6.2 to 0.33",
    ),
    _line(
        "asked_max_model_len max_model_len",
        r"Auto-fit max_model_len: reduced from <N> to <N> ",
        "V1, 0.14 to 0.33",
    ),
    _line(
        "refused_max_model_len needed available",
        r"max seq len \(<N>\), \(?<F> GiB KV cache is needed, which is larger than the available "
        r"KV cache memory \(<F> GiB\)",
        "V1, 0.7 to 0.33",
    ),
    _line("estimated_max_model_len", r"estimated maximum model length is <N>", "V1, 0.9 to 0.33"),
    _line(
        "refused_max_model_len tokens",
        r"max seq len \(<N>\) is larger than the maximum number of tokens that can be stored in "
        r"KV cache \(<N>\)",
        "V0, 0.2 to 0.10",
    ),
    _line(
        "device_free device_total gpu_memory_utilization requested",
        r"Free memory on device \S{0,20} ?\(<F>/<F> GiB\) on startup is less than desired GPU "
        r"memory utilization \(<F>, <F> GiB\)",
        "V1, 0.9 to 0.33",
    ),
)
"""In the order in which they appear in a log."""

GIBIBYTES = {"total", "peak", "non_torch", "memory", "needed", "available"}
GIBIBYTES |= {"device_free", "device_total", "requested"}
"""The figures in GiB: vLLM rounds them to two decimals, even where it prints "24.0"."""

DECIMALS = {"gpu_memory_utilization", "max_concurrency", "tier_gb"}
WORDS = {"engine", "kv_cache_dtype", "kv_connector"}
MOST = 2**53
"""A larger number of blocks, tokens or GPUs is a mistake, and is not believed."""


def start_facts(line: str) -> Facts:
    """What one line states; an empty dictionary if it is not a line of the start."""
    facts: Facts = {}
    for kind in START_LINES:
        if (found := kind.pattern.search(line)) is not None:
            if kind.releases[:3] in ("V0,", "V1,"):
                facts["engine"] = kind.releases[:2].lower()
            for name, text in zip(kind.names, found.groups(), strict=True):
                if (value := _value(name, text)) is not None:
                    facts[name] = value
    return facts


def read_start_lines(lines: Iterable[str]) -> Facts:
    """What these lines state together, a later line over an earlier one.

    UsageError names the first line that states nothing.
    """
    facts: Facts = {}
    for line in lines:
        if not (found := start_facts(line)):
            raise UsageError(
                f"{line.strip()[:200]!r} states nothing about the cache: give lines of vLLM's "
                'start such as "GPU KV cache size: 76,640 tokens"'
            )
        facts |= found
    return facts


def _value(name: str, text: str) -> Fact | None:
    if name in WORDS:
        return text.rstrip(".").lower()
    if text in ("True", "False"):
        return text == "True"
    if name in GIBIBYTES:
        whole, _, decimals = text.partition(".")
        try:
            return parse_bytes(name, f"{whole}.{decimals:0<2}GiB")
        except UsageError:  # more than an exbibyte
            return None
    if name in DECIMALS:
        return float(text)
    number = int(text.replace(",", ""))
    return number if number <= MOST else None
