"""`pagesim size`: the blocks and tokens that a model's KV cache has in an amount of memory."""

import inspect
from collections.abc import Callable
from typing import Any

import click

from pagesim.commands.common import (
    INPUT_FILE,
    OUTPUT_FILE,
    Answer,
    BadInput,
    Options,
    answering,
    blaming,
)
from pagesim.commands.size_rows import lines_of, value_of
from pagesim.errors import UsageError
from pagesim.sizing import ByteRange, CacheSize, ModelSpec, size_v0, size_v1
from pagesim.sizing.amount import parse_bytes
from pagesim.sizing.fp8 import fp8_gain
from pagesim.sizing.v0 import kv_cache_memory

COUNT = click.IntRange(1, 2**31)
LENGTH = click.IntRange(-1, 2**31)
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
@click.option(
    "--block-size", type=COUNT, default=16, help="Slots per block; beside states at least so many."
)
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
    "--max-model-len",
    type=LENGTH,
    help="Maximum tokens per sequence; -1: as many as fit.  [default: the model's own]",
)
@click.option(
    "--max-num-batched-tokens",
    type=COUNT,
    default=2048,
    help="Maximum tokens per step; matters only for models with sliding windows or chunks.",
)
@click.option(
    "--async-scheduling/--no-async-scheduling",
    default=True,
    help="Schedule a step while another one is computed (v1): twice the tokens are in flight.",
)
@click.option(
    "--enable-prefix-caching/--no-enable-prefix-caching",
    default=True,
    help="Keep what later requests may find again (v1); matters only for models with states.",
)
@click.option(
    "--mamba-cache-mode",
    help="Which states are kept (v1): align or none.  [default: align; none without prefix "
    "caching]",
)
@click.option(
    "--mamba-ssm-cache-dtype",
    default="auto",
    help="The dtype of the states (v1): float32, float16, bfloat16, or auto (as in the config, or "
    "the model's).",
)
@click.option(
    "--disable-hybrid-kv-cache-manager",
    is_flag=True,
    help="Give all layers the same blocks, as if none had a window or chunks (v1).",
)
@click.option("--swap-space", type=float, help="GiB of CPU memory per GPU for swapping (v0).")
@click.option(
    "--num-gpu-blocks-override", type=COUNT, help="Number of blocks, regardless of the memory."
)
@click.option(
    "-o",
    "--out",
    type=OUTPUT_FILE,
    help="Draw the groups of layers into a .svg, .png or .pdf file.",
)
def size(**options: Any) -> Answer:
    """Say how many blocks, tokens and sequences a KV cache holds.

    The names of the options are vLLM's. All figures are for one GPU: the one that stores the most.
    An amount such as 38.48GiB, as vLLM prints it, is rounded, so the result is a range. Exit code 2
    when the model cannot be split over that many GPUs, or when not even one block fits, or (v1) no
    sequence of --max-model-len tokens.
    """
    out = options["out"]
    if out is not None and out.suffix.lower() not in (".svg", ".png", ".pdf"):
        raise BadInput(f"--out {out}: must end in .svg, .png or .pdf")
    try:
        found = _size(options)
        value = value_of(found, options) | {"fp8_gain": _fp8_gain(found, options)}
    except (UsageError, TypeError, OSError) as error:
        raise BadInput(str(error)) from error
    lines = lines_of(found, value)
    if out is not None:
        from pagesim import figures

        with blaming(out):
            figures.save(figures.kv_groups(found), out)
        value["out"] = str(out)
        lines.append(f"{out} shows the groups.")
    return Answer(True, "\n".join(lines), value)


def _flags(size_of: Callable[..., CacheSize]) -> Options:
    """The options that it takes under the same names, and their defaults."""
    given = inspect.signature(size_of).parameters.values()
    return {one.name: one.default for one in given if one.kind is one.KEYWORD_ONLY}


FLAGS, ALL_FLAGS = _flags(size_v0), _flags(size_v1)
V1_FLAGS = {flag: ALL_FLAGS[flag] for flag in ALL_FLAGS if flag not in FLAGS}
SHARED = ("max_model_len", "max_num_batched_tokens")
"""Those among them that also say something of V0, or do no harm there."""


def _size(options: Options) -> CacheSize:
    engine = options["engine"]
    if engine not in ("v0", "v1"):
        raise BadInput(f"--engine must be v0 or v1, not {engine!r}")
    if options["max_model_len"] == 0:
        raise BadInput("--max-model-len must be -1 or at least 1, not 0")
    name, config = options["model"], options["config"]
    if (name is None) == (config is None):
        raise BadInput("give one of --model NAME and --config PATH")
    model = ModelSpec.from_config(config) if config else ModelSpec.preset(name)
    if engine == "v1":
        return size_v1(model, _memory(options), **{flag: options[flag] for flag in ALL_FLAGS})
    for flag, default in V1_FLAGS.items():
        if flag not in SHARED and options[flag] != default:
            raise BadInput(f"--{flag.replace('_', '-')} is for --engine v1")
    if options["max_model_len"] == -1:
        raise BadInput("--max-model-len -1 is for --engine v1")
    return size_v0(model, _memory(options), **{flag: options[flag] for flag in FLAGS})


def _fp8_gain(found: CacheSize, options: Options) -> list[float] | None:
    """The factor for the longest sequences and for those of one block; None if there is none."""
    length = found.max_model_len
    given = options["num_gpu_blocks_override"], options["kv_cache_dtype"]
    if found.engine == "v0" or length is None or given != (None, "auto"):
        return None
    flags = {flag: options[flag] for flag in ALL_FLAGS} | {"max_model_len": None}
    try:
        return [
            fp8_gain(found.model, _memory(options), tokens, **flags)
            for tokens in (length, min(found.block_size, length))
        ]
    except UsageError:
        return None


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
