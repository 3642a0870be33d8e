"""`pagesim size`: the blocks and tokens that a model's KV cache has in an amount of memory."""

from typing import Any

import click

from pagesim.commands.common import INPUT_FILE, Answer, BadInput, Options, answering
from pagesim.errors import UsageError
from pagesim.files.jsonl import JsonObject
from pagesim.sizing import ByteRange, CacheSize, ModelSpec, size_v0, size_v1
from pagesim.sizing.amount import parse_bytes
from pagesim.sizing.kv_cache_spec import AttentionSpec
from pagesim.sizing.v0 import kv_cache_memory

COUNT = click.IntRange(1, 2**31)
AMOUNT = "24GiB, 80GB, 38.48GiB (a rounded amount stands for a range), or plain bytes"


@answering("pagesim size --model qwen2-1.5b --memory 38.48GiB")
@click.option("--model", help="The name of a known model, such as llama-3.1-8b.")
@click.option("--config", type=INPUT_FILE, help="The config.json of any other model.")
@click.option("--memory", help=f"Memory for the cache on each GPU: {AMOUNT}.")
@click.option("--engine", default="v1", help="The engine of vLLM: v0 or v1.")
@click.option("--gpu-memory", help="Instead of --memory: the memory of the whole GPU.")
@click.option(
    "--gpu-memory-utilization",
    type=float,
    help="With --gpu-memory: the share of it that vLLM may use.  [default: 0.9]",
)
@click.option("--peak", help="With --gpu-memory: the memory used by weights and activations.")
@click.option("--block-size", type=COUNT, default=16, help="Slots per block.")
@click.option(
    "--dtype", default="auto", help="The dtype in which the model runs; auto: as in its config."
)
@click.option(
    "--kv-cache-dtype",
    default="auto",
    help="The dtype of the cache: fp8, fp8_e4m3, fp8_e5m2, or auto (the model's).",
)
@click.option(
    "--tensor-parallel-size",
    "-tp",
    type=COUNT,
    default=1,
    help="Number of GPUs among which the heads of each layer are divided.",
)
@click.option(
    "--pipeline-parallel-size",
    "-pp",
    type=COUNT,
    default=1,
    help="Number of GPUs among which the layers are divided.",
)
@click.option(
    "--max-model-len", type=COUNT, help="Maximum tokens per sequence.  [default: the model's own]"
)
@click.option(
    "--max-num-batched-tokens",
    type=COUNT,
    default=2048,
    help="Maximum tokens per step; matters only for models with sliding windows.",
)
@click.option("--swap-space", type=float, help="GiB of CPU memory per GPU for swapping (v0).")
@click.option(
    "--num-gpu-blocks-override", type=COUNT, help="Number of blocks, regardless of the memory."
)
def size(**options: Any) -> Answer:
    """Say how many blocks, tokens and sequences a KV cache holds.

    The names of the options are vLLM's. All figures are for one GPU: the one that stores the most.
    An amount such as 38.48GiB, as vLLM prints it, is rounded, so the result is a range. Exit code 2
    when the model cannot be split over that many GPUs, or when not even one block fits.
    """
    try:
        found = _size(options)
        value = _value(found, options)
    except (UsageError, TypeError, OSError) as error:
        raise BadInput(str(error)) from error
    return Answer(True, "\n".join(_lines(found, value)), value)


FLAGS = (
    *("block_size", "dtype", "kv_cache_dtype", "num_gpu_blocks_override"),
    *("tensor_parallel_size", "pipeline_parallel_size"),
)
"""The options that `size_v0` and `size_v1` take under the same names."""


def _size(options: Options) -> CacheSize:
    engines = {"v0": size_v0, "v1": size_v1}
    if options["engine"] not in engines:
        raise BadInput(f"--engine must be v0 or v1, not {options['engine']!r}")
    name, config = options["model"], options["config"]
    if (name is None) == (config is None):
        raise BadInput("give one of --model NAME and --config PATH")
    model = ModelSpec.from_config(config) if config else ModelSpec.preset(name)
    flags = {flag: options[flag] for flag in FLAGS}
    return engines[options["engine"]](model, _memory(options), **flags)


def _memory(options: Options) -> ByteRange:
    memory, card, peak = options["memory"], options["gpu_memory"], options["peak"]
    if memory is not None and card is not None:
        raise BadInput(
            "give one of --memory, for the cache alone, and --gpu-memory, for the whole GPU"
        )
    share = options["gpu_memory_utilization"]
    if card is None:
        if peak is not None or share is not None:
            raise BadInput("--peak and --gpu-memory-utilization belong to --gpu-memory")
        if memory is not None:
            return parse_bytes("--memory", memory)
        if options["num_gpu_blocks_override"] is not None:
            return ByteRange(0, 0)
        raise BadInput(f"give --memory for the cache: {AMOUNT}")
    if peak is None:
        raise BadInput("--gpu-memory needs --peak, the memory used by weights and activations")
    whole, used = parse_bytes("--gpu-memory", card), parse_bytes("--peak", peak)
    share = 0.9 if share is None else share
    left = kv_cache_memory(whole, share, used)
    if left.high == 0:
        raise BadInput(
            f"nothing is left for the cache: {share} of --gpu-memory {card} does not exceed "
            f"--peak {peak}; give a larger GPU or a lower peak"
        )
    return left


def _value(found: CacheSize, options: Options) -> JsonObject:
    """The object for --json; ranges are [low, high]."""
    length = options["max_model_len"]
    length = found.model.max_model_len if length is None else length
    step, swap = options["max_num_batched_tokens"], options["swap_space"]
    return {
        "model": found.model.name,
        "engine": found.engine,
        "cache_dtype": found.dtype,
        "block_size": found.block_size,
        "num_layers": found.num_layers,
        "num_groups": len(found.high.kv_cache_groups),
        "bytes_per_token": found.bytes_per_token,
        "page_bytes": found.page_bytes,
        "block_bytes": found.block_bytes,
        "num_gpu_blocks": list(found.num_gpu_blocks),
        "usable_blocks": list(found.usable_blocks),
        "tensor_bytes": list(found.tensor_bytes),
        "tokens": list(found.tokens),
        "max_model_len": length,
        "max_concurrency": None if length is None else found.max_concurrency(length, step),
        "num_cpu_blocks": None if swap is None else found.num_cpu_blocks(swap),
    }


def _lines(found: CacheSize, value: JsonObject) -> list[str]:
    model, groups = found.model, found.high.kv_cache_groups
    kept = (
        f"a latent vector of {model.latent_dim}"
        if model.is_mla
        else f"{_kv_heads(found)} KV heads of {model.head_dim}"
    )
    layers = f"{found.num_layers} layers" + (
        "" if found.num_layers == model.num_layers else f" of {model.num_layers}"
    )
    tensors = len(found.high.kv_cache_tensors)
    rows = [
        (model.name, f"{layers}, {kept}, {found.dtype} ({model.source})"),
        ("a token", f"{found.bytes_per_token:,} bytes in all layers"),
        ("per layer", f"{found.page_bytes:,} bytes for a block of {found.block_size} slots"),
        ("a block", f"{found.block_bytes:,} bytes in {tensors} tensors"),
        ("GPU blocks", _range(found.num_gpu_blocks)),
        ("tensors", f"{tensors} of {_range(found.tensor_bytes)} bytes"),
        ("tokens", _range(found.tokens)),
    ]
    if len(groups) > 1:
        rows.insert(4, ("groups", f"{len(groups)}: a sequence has blocks in each"))
    if found.engine == "v1":
        rows.insert(-2, ("usable", f"{_range(found.usable_blocks)}: block 0 is the null block"))
    if value["max_concurrency"] is not None:
        sequences = f"{value['max_concurrency']:.2f} sequences of {value['max_model_len']:,} tokens"
        rows.append(("at once", sequences))
    if value["num_cpu_blocks"] is not None:
        rows.append(("CPU blocks", f"{value['num_cpu_blocks']:,}"))
    width = max(len(name) for name, _ in rows) + 2
    return [f"{name:<{width}}{text}" for name, text in rows]


def _kv_heads(found: CacheSize) -> int:
    """The KV heads of a layer on one GPU."""
    every = (spec for group in found.high.kv_cache_groups for _, spec in group.layer_specs())
    return next((spec.num_kv_heads for spec in every if isinstance(spec, AttentionSpec)), 0)


def _range(pair: tuple[int, int]) -> str:
    low, high = pair
    return f"{high:,}" if low == high else f"{low:,} to {high:,}"
