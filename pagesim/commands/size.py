"""`pagesim size`: the blocks and tokens that a model's KV cache has in an amount of memory."""

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
from pagesim.commands.size_case import (
    AMOUNT,
    gain_of_fp8,
    size_of,
    verdict_of,
    verdict_of_lines,
    without_latents,
)
from pagesim.commands.size_lines import lengths, with_facts
from pagesim.commands.size_rows import lines_of, lines_of_log, value_of, value_of_log
from pagesim.errors import UsageError
from pagesim.sizing.start_lines import Facts, read_start_lines

COUNT = click.IntRange(1, 2**31)
LENGTH = click.IntRange(-1, 2**31)


@answering("pagesim size --model qwen2-1.5b --memory 38.48GiB")
@click.option("--model", help="The name of a known model, such as llama-3.1-8b.")
@click.option("--config", type=INPUT_FILE, help="The config.json of any other model.")
@click.option("--memory", help=f"Memory for the cache on each GPU: {AMOUNT}.")
@click.option(
    "--line",
    multiple=True,
    help="A line that vLLM logged, such as 'GPU KV cache size: 76,640 tokens'. May be repeated; "
    "needs no model.",
)
@click.option(
    "--length",
    callback=lengths,
    help="Also say how many requests of these lengths fit: 2000,1000+4000 (tokens, or a prompt and "
    "its output).",
)
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
    "--data-parallel-size",
    "-dp",
    type=COUNT,
    default=1,
    help="Number of replicas, each with GPUs and a cache of its own.",
)
@click.option(
    "--max-num-seqs",
    type=COUNT,
    help="Also say what so many sequences can use at most.  [default: none]",
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
@click.option(
    "--mla/--no-mla",
    default=True,
    help="Keep latent vectors; without (v0), the keys and values of all heads, as 0.6.4 did.",
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
    An amount such as 38.48GiB, as vLLM prints it, is rounded, so the result is a range. If a
    sequence of --max-model-len or a request of --length does not fit, the first lines say what is
    missing and what to change, and the exit code is 1. It is 2 when the model cannot be split over
    that many GPUs, or when not even one block fits.
    """
    out = options["out"]
    if out is not None and out.suffix.lower() not in (".svg", ".png", ".pdf"):
        raise BadInput(f"--out {out}: must end in .svg, .png or .pdf")
    try:
        facts = read_start_lines(options["line"])
        options = with_facts(options, facts, _given())
        if options["model"] is None and options["config"] is None and facts:
            if out is not None:
                raise BadInput("-o draws the groups of a model: give --model or --config")
            return _answer_of_lines(facts, options)
        found = size_of(options, facts)
        value = value_of(found, options) | {"fp8_gain": gain_of_fp8(found, options, facts)}
        verdict = verdict_of(found, options, facts)
    except (UsageError, TypeError, OSError) as error:
        raise BadInput(str(error)) from error
    value |= verdict.value()
    lines = lines_of(found, value, verdict)
    if latent := without_latents(found, options, facts):
        lines.append(f"With latent vectors: {latent}.")
    if out is not None:
        from pagesim import figures

        with blaming(out):
            figures.save(figures.kv_groups(found), out)
        value["out"] = str(out)
        lines.append(f"{out} shows the groups.")
    asked = options["max_model_len"] is not None or bool(options["length"])
    return Answer(verdict.fits or not asked, "\n".join(lines), value)


def _given() -> set[str]:
    """The options that are on the command line."""
    context = click.get_current_context()
    default = click.core.ParameterSource.DEFAULT
    return {name for name in context.params if context.get_parameter_source(name) != default}


def _answer_of_lines(facts: Facts, options: Options) -> Answer:
    """What the lines say without a model."""
    verdict = verdict_of_lines(facts, options)
    value = value_of_log(verdict, facts) | verdict.value()
    return Answer(verdict.fits, "\n".join(lines_of_log(verdict, facts)), value)
