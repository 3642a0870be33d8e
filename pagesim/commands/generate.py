"""`pagesim generate`: a language model whose keys and values lie in the simulator's pages."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pagesim.commands.common import (
    INPUT_FILE,
    OUTPUT_FILE,
    Answer,
    BadInput,
    Count,
    NamedInput,
    Options,
    answering,
    blaming,
)
from pagesim.commands.generate_memory import memory_of
from pagesim.files.jsonl import JsonObject

if TYPE_CHECKING:
    from pagesim.generation import engine as generation
    from pagesim.generation.shadow import ShadowedEngine
    from pagesim.generation.vocabulary import Vocabulary
    from pagesim.kernels.tiny_llm import SamplingParams

COUNT = Count()
MAX_PROMPTS = 2**26
"""The most bytes of a file of prompts: it may have no end."""


def _folder(model: str) -> Path:
    from pagesim.generation.setup import folder_of

    return folder_of(model)


@answering("pagesim generate walk --prompt 'a>k;k>c;c>.;?a' --record run.jsonl.gz")
@click.argument("model", type=NamedInput(_folder))
@click.option("--prompt", "prompts", multiple=True, help="A prompt; may be repeated.")
@click.option("--prompt-file", type=INPUT_FILE, help="A file with one prompt per line.")
@click.option(
    "--engine",
    type=click.Choice(["v0", "v1"]),
    default="v0",
    help="The engine of vLLM that schedules: V0 (release 0.6.4) or V1 (0.33.0).",
)
@click.option(
    "--backend",
    type=click.Choice(["torch", "triton", "fused", "numpy"]),
    default="torch",
    help="The implementation of attention that reads the pages.",
)
@click.option("--block-size", type=COUNT, default=16, help="Slots per block.")
@click.option(
    "--blocks", type=COUNT, help="Blocks in the pool.  [default: enough for all prompts at once]"
)
@click.option(
    "--preemption",
    type=click.Choice(["recompute", "swap"]),
    help="How a victim gives up its blocks (v0).  [default: recompute; swap with --n or --beams]",
)
@click.option(
    "--cpu-blocks",
    type=Count(0),
    help="Blocks on the CPU: for swapping (v0), or for a second tier that keeps copies of prompts "
    "(v1).  [default: as many as --blocks if v0 swaps, else 0]",
)
@click.option(
    "--prefix-caching/--no-prefix-caching",
    default=None,
    help="Reuse full blocks for equal prefixes.  [default: on for v1 only]",
)
@click.option("--max-num-seqs", type=COUNT, help="Maximum sequences in a batch.  [default: 256]")
@click.option(
    "--max-num-batched-tokens",
    type=COUNT,
    help="Maximum tokens per step; longer prompts are cut into chunks.  "
    "[default: whole prompts; 2048 for v1]",
)
@click.option("--max-tokens", type=COUNT, default=64, help="Maximum tokens of an output.")
@click.option(
    "--temperature",
    type=float,
    default=0.0,
    help="Randomness of the outputs; 0 always takes the likeliest token.",
)
@click.option(
    "--top-k",
    type=Count(0),
    default=0,
    help="Draw only from this number of likeliest tokens; 0: from all.",
)
@click.option(
    "--top-p",
    type=float,
    default=1.0,
    help="Draw only from the likeliest tokens whose probabilities add up to this.",
)
@click.option("--seed", type=Count(0), default=0, help="Seed for drawing tokens.")
@click.option("--n", type=COUNT, default=1, help="Number of outputs for each prompt.")
@click.option(
    "--beams",
    type=Count(0),
    default=0,
    help="Number of beams that search for the likeliest outputs (v0); 0: draw instead.",
)
@click.option(
    "--ignore-eos", is_flag=True, help="Keep generating after a token that ends an output."
)
@click.option(
    "--dtype",
    type=click.Choice(["float32", "float16", "bfloat16"]),
    default="float32",
    help="Type of the weights and of the cached keys and values.",
)
@click.option(
    "--device", help="Where torch computes: cpu, cuda, …  [default: where the kernels run]"
)
@click.option("--record", type=OUTPUT_FILE, help="Save the run, for pagesim play or pagesim.load.")
def generate(
    model: str,
    prompts: tuple[str, ...],
    prompt_file: Path | None,
    record: Path | None,
    **options: Any,
) -> Answer:
    """Answer prompts with MODEL, its keys and values in pages.

    MODEL is the folder of a Llama, Mistral, Qwen2, Qwen3 or Gemma 3 model in Hugging Face format.
    Or it is one of the two tiny built-in models, walk and by-hand, which follow a map: the prompt
    'a>k;k>c;c>.;?a' asks for the route from a.

    A prompt is a list of token ids, such as [1, 2, 3]. It may be text for a built-in model, or if
    the folder has a tokenizer.json and the package tokenizers is installed (pip install
    "pagesim[text]"). Outputs appear while they grow, in the order of the prompts. If stdout is
    not a terminal, a progress bar appears on stderr.

    Every slot that attention reads is compared with what was written there. vLLM 0.6.4 itself loses
    keys and values when chunking, prefix caching and preemption coincide; a last line then names
    the prompts that were answered wrongly.

    Exit code 0 when all prompts were answered, 1 when some were not or were answered wrongly, 2
    when MODEL, a prompt or an option cannot be used.
    """
    asked = list(_prompts(prompts, prompt_file))
    if not asked:
        raise BadInput("there is no prompt: give --prompt or --prompt-file")
    with _refusing():
        engine, words = _engine(model, asked, record is not None, options)
    seconds = _run(engine, words, model, options)
    value, lines = _report(engine, words, seconds, {"model": model, **options})
    if record is not None:
        _save(engine, words, model, record)
        value["record"] = str(record)
        lines.append(f"{record} holds the run: pagesim play {record} -o run.html")
    answered = all(answer.state == "finished" for answer in engine.answers)
    return Answer(answered and not value["misread"], "\n".join(lines), value)


def _engine(
    model: str, asked: list[tuple[str, str]], record: bool, options: Options
) -> tuple[ShadowedEngine, Vocabulary]:
    """An engine with all prompts in its queue, and the words of the model."""
    from pagesim.generation import engine_on_pages, load_model, vocabulary
    from pagesim.kernels.runtime.mode import require_torch

    require_torch("pagesim generate")
    from pagesim.generation.shadow import ShadowedEngine

    network, longest = load_model(model, options["dtype"], options["device"])
    words = vocabulary(model, _folder(model))
    params = _sampling(options)
    ids: list[list[int]] = []
    for where, text in asked:
        with _refusing(where):
            ids.append(_ids(text, words))
    policy, limits, blocks = memory_of(network, options, ids, longest)
    engine = engine_on_pages(
        network,
        policy,
        blocks=blocks,
        limits=limits,
        backend=options["backend"],
        record=record,
        engine=ShadowedEngine,
    )
    engine.vectors = {} if record else None
    for (where, _), tokens in zip(asked, ids, strict=True):
        with _refusing(where):
            engine.add(tokens, params)
    return engine, words


def _run(engine: ShadowedEngine, words: Vocabulary, title: str, options: Options) -> float:
    """Answer all prompts, and pass the answers on as they grow; how many seconds that took."""
    from pagesim.generation.stream import Stream

    as_json = click.get_current_context().params.get("as_json", False)
    start = time.perf_counter()
    try:
        Stream(engine, words, None if as_json else click.echo, title).run()
    except (MemoryError, RuntimeError) as error:
        if "no CPU swap space" in str(error):
            blocks = options["cpu_blocks"] or len(engine.cache.gpu.keys[0])
            raise BadInput(f"--cpu-blocks {blocks}: {error}") from error
        if isinstance(error, MemoryError) or "memory" in str(error):
            raise BadInput(
                f"a step needs more memory than there is: lower --max-num-batched-tokens or "
                f"--max-num-seqs ({str(error).splitlines()[0]})"
            ) from error
        raise
    except ArithmeticError as error:
        raise BadInput(str(error)) from error
    return time.perf_counter() - start


def _report(
    engine: ShadowedEngine, words: Vocabulary, seconds: float, options: Options
) -> tuple[JsonObject, list[str]]:
    """What became of all prompts, as an object and as lines."""
    misread = sorted({read.answer for read in engine.misread})
    blocks, block_size = len(engine.cache.gpu.keys[0]), options["block_size"]
    value: JsonObject = {
        **{name: options[name] for name in ("model", "engine", "backend", "block_size")},
        "blocks": blocks,
        "steps": engine.steps,
        "preemptions": engine.preemptions,
        "seconds": seconds,
        "misread": misread,
        "answers": [_value(answer, words) for answer in engine.answers],
    }
    count = sum(len(sample) for answer in engine.answers for sample in answer.samples)
    lines = [
        f"{count} tokens in {engine.steps} steps and {seconds:.2f} s, {engine.preemptions} "
        f"preemptions; {blocks} blocks of {block_size}"
    ]
    lines += _copied(engine, value)
    lines += _by_group(engine, value)
    if misread:
        lines.append(
            f"Wrong: {', '.join(map(str, misread))}. Their attention read slots that nothing had "
            f"written, as in vLLM 0.6.4 when chunking, prefix caching and preemption coincide; use "
            f"--engine v1"
        )
    return value, lines


def _copied(engine: ShadowedEngine, value: JsonObject) -> list[str]:
    """How many blocks went to the CPU and came back, which ``value`` is told too."""
    cache = engine.cache
    value |= {"blocks_out": cache.num_swapped_out, "blocks_in": cache.num_swapped_in}
    if not cache.cpu.num_blocks:
        return []
    return [
        f"  on the CPU: {cache.cpu.num_blocks} blocks; copied there: {cache.num_swapped_out}, and "
        f"back: {cache.num_swapped_in}"
    ]


def _by_group(engine: ShadowedEngine, value: JsonObject) -> list[str]:
    """What the groups of layers held, which ``value`` is told too; or why there are none."""
    from pagesim.generation.groups import held_by_group

    if held := held_by_group(engine):
        value["groups"] = [each._asdict() for each in held]
        return [
            f"  {each.name} ({each.layers} layer{'s' * (each.layers > 1)}): at most {each.blocks} "
            "blocks at once"
            for each in held
        ]
    if any(engine.model.config.windows) and value["engine"] == "v0":
        return [
            "  V0 has one table for all layers, so layers with a window keep all tokens as well; "
            "--engine v1 frees those behind the window"
        ]
    return []


def _prompts(prompts: tuple[str, ...], file: Path | None) -> Iterator[tuple[str, str]]:
    """Each prompt, after the words that name it."""
    for number, prompt in enumerate(prompts, 1):
        yield "--prompt" + (f" {number}" if len(prompts) > 1 else ""), prompt
    if file is not None:
        with blaming(file, UnicodeDecodeError), file.open("rb") as opened:
            raw = opened.read(MAX_PROMPTS + 1)
            if len(raw) > MAX_PROMPTS:
                raise BadInput(f"{file}: longer than {MAX_PROMPTS} bytes; split it into files")
            lines = raw.decode("utf-8-sig").splitlines()
        yield from ((f"{file}, line {i}", line) for i, line in enumerate(lines, 1) if line.strip())


def _ids(text: str, words: Vocabulary) -> list[int]:
    """A JSON list of whole numbers as it stands, anything else by the vocabulary."""
    with suppress(ValueError, RecursionError):
        if isinstance(given := json.loads(text), list):
            for token in given:
                if type(token) is not int:
                    raise BadInput(
                        f"{token!r} is not a token id: a prompt is a list of whole "
                        f"numbers, such as [1, 2, 3], or text"
                    )
            return given
    return words.encode(text)


def _sampling(options: Options) -> SamplingParams:
    from pagesim.kernels.tiny_llm import SamplingParams

    given = {one.name: options[one.name] for one in fields(SamplingParams) if one.name in options}
    return SamplingParams(**given, stop=() if options["ignore_eos"] else None)


def _value(answer: generation.Answer, words: Vocabulary) -> JsonObject:
    from pagesim.generation.stream import text_of

    samples = [
        {"tokens": sample, "text": text_of(words, answer, i)}
        for i, sample in enumerate(answer.samples)
    ]
    line = {"prompt": list(answer.prompt), "state": answer.state, "samples": samples}
    more = {"scores": answer.scores, "why": answer.why}
    return line | {name: value for name, value in more.items() if value}


def _save(engine: ShadowedEngine, words: Vocabulary, title: str, file: Path) -> None:
    """Write the recorded run, each token with its text, and the keys and values of the first."""
    from pagesim.generation.vectors import shape_of

    answers = engine.answers
    used = {token for one in answers for part in (one.prompt, *one.samples) for token in part}
    run = engine.server.finish()
    labels = {token: words.label(token) for token in sorted(used)}
    called = click.format_filename(Path(title).name)
    shown = f"The language model {called} writes"
    run.annotate(shown, labels, model=shape_of(called, engine))
    with blaming(file):
        run.save(file)


@contextmanager
def _refusing(where: str = "") -> Iterator[None]:
    """Turn what cannot be used into bad input; ``where`` names the prompt."""
    try:
        yield
    except (ImportError, MemoryError, OSError, ValueError, BadInput) as error:
        raise BadInput(f"{where}: {error}" if where else str(error)) from error
