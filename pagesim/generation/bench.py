"""How much faster do pages make a language model, and compared with what?

    python -m pagesim.generation.bench                     on a CPU about a minute
    python -m pagesim.generation.bench --size 0.08M,3M,19M
    python -m pagesim.generation.bench --check             exit code 1 below `BOUNDS`

The same requests are answered in three ways:

* naive: one by one, each with a contiguous cache. Pages ÷ naive is what serving gains: continuous
  batching on pages;
* copy: batches on pages, which a loop in Python copies together, block by block, before it attends.
  Pages ÷ copy is what reading the pages at once gains: both rows serve the same batches;
* pages: the same with a backend of the engine.

The rules that make the figures meaningful: every row must give the same tokens as the naive one;
rows run in turn, so that all meet the same neighbours; a ratio is the median of the rounds' ratios;
on a CPU the time is that of one thread of this process, after a warm-up.
"""

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pagesim.cache import AttentionMetadata
from pagesim.files.jsonl import JsonObject
from pagesim.kernels.runtime import mode

if not mode.has_torch():
    mode.require_torch("pagesim.generation.bench")

import numpy as np
import torch
from torch import Tensor

from pagesim import simulation
from pagesim.generation.engine import Engine
from pagesim.generation.setup import engine_on_pages
from pagesim.kernels.tiny_llm import Config, Contiguous, Model, SamplingParams
from pagesim.kernels.tiny_llm.config import shapes
from pagesim.kernels.tiny_llm.paged_attend import BACKENDS, Backend, Span, Torch

BOUNDS = {"total": 1.5, "decode": 2.5}
"""What --check asks of pages ÷ naive."""
SIZES = {  # layers, hidden, MLP, query heads, KV heads, head_dim, vocabulary
    "0.08M": (2, 64, 128, 4, 2, 16, 66),
    "3M": (4, 256, 704, 8, 2, 32, 512),
    "19M": (6, 512, 1536, 8, 2, 64, 512),
    "110M": (12, 768, 3072, 12, 4, 64, 8192),
}


class WrongAnswerError(Exception):
    """A row did not answer what the naive row answers."""


@dataclass(frozen=True, slots=True)
class Work:
    """A prompt, and how many tokens are asked for."""

    prompt: list[int]
    max_tokens: int


@dataclass
class Meter:
    """Told by a row, step by step, which request got which token, and whether it only decoded.

    On a CPU it counts the time of this process, because a shared machine's wall clock says more
    about its neighbours; on a GPU wall time, after waiting for the GPU.
    """

    answers: list[list[int]]
    gpu: bool
    seconds: dict[str, float] = field(default_factory=lambda: {"total": 0.0, "decode": 0.0})
    tokens: dict[str, int] = field(default_factory=lambda: {"total": 0, "decode": 0})

    def start(self) -> None:
        """The run begins now: what came before was preparation."""
        self._last = self.now()

    def step(self, tokens: Mapping[int, int], decode: bool) -> None:
        """A step has ended: these requests have these tokens."""
        now = self.now()
        for name in ("total", "decode") if decode else ("total",):
            self.seconds[name] += now - self._last
            self.tokens[name] += len(tokens)
        self._last = now
        for request, token in tokens.items():
            self.answers[request].append(token)

    def speed(self, name: str) -> float:
        """Tokens a second; of "decode", in the steps that did nothing else."""
        return self.tokens[name] / self.seconds[name] if self.seconds[name] else float("nan")

    def now(self) -> float:
        """Seconds."""
        if not self.gpu:
            return time.process_time()
        torch.cuda.synchronize()
        return time.perf_counter()


Row = Callable[[Model, Sequence[Work], Meter], None]


def naive(model: Model, work: Sequence[Work], meter: Meter) -> None:
    """One by one, keys and values in one reserved contiguous piece."""
    meter.start()
    for request, one in enumerate(work):
        cache = Contiguous(model, len(one.prompt) + one.max_tokens)
        new = one.prompt
        for step in range(one.max_tokens):
            new = [int(cache.logits(new).argmax())]
            meter.step({request: new[0]}, decode=step > 0)


class Copied(Torch):
    """Python copies a decode's blocks one by one before it attends."""

    def _gather(self, cache: Tensor, span: Span) -> Tensor:
        if span.mask.shape[2] > 1:  # a prompt
            return super()._gather(cache, span)
        tables = span.blocks.view(span.sequences, -1)
        lens = span.mask[:, 0, -1].sum(-1).tolist()
        out = cache.new_zeros(*tables.shape, *cache.shape[1:])
        size = cache.shape[1]
        for row, (table, length) in enumerate(zip(tables.tolist(), lens, strict=True)):
            for place, block in enumerate(table[: -(-length // size)]):
                filled = min(size, length - place * size)
                out[row, place, :filled] = cache[block, :filled]
        return out.flatten(1, 2).transpose(1, 2)


class Deciding(Engine):
    """An engine that knows whether its last step did nothing but decode."""

    decodes = False

    def forward(self, batch: AttentionMetadata) -> Tensor:
        self.decodes = batch.num_prefills == 0
        return super().forward(batch)


def on_pages(backend: str | Backend, model: Model, work: Sequence[Work], meter: Meter) -> None:
    """Continuous batching on pages, 32 sequences at once, by V0's scheduler."""
    longest = max(len(one.prompt) + one.max_tokens for one in work)
    engine = engine_on_pages(
        model,
        simulation.Paged(16, watermark=0.0),
        blocks=32 * -(-longest // 16),
        limits=simulation.Limits(longest, 32, max(512, longest)),
        backend=backend,
        engine=Deciding,
    )
    for one in work:
        engine.add(one.prompt, SamplingParams(max_tokens=one.max_tokens, stop=()))
    meter.start()
    while (tokens := engine.step()) is not None:
        meter.step({token.answer: token.token for token in tokens}, engine.decodes)


def random_model(size: str, dtype: torch.dtype, device: str) -> Model:
    """A Llama of random weights: its answers mean nothing, and are the same in every row."""
    layers, hidden, inner, heads, kv_heads, head_dim, vocabulary = SIZES[size]
    config = Config("llama", layers, hidden, inner, heads, kv_heads, head_dim, vocabulary)
    random = torch.Generator().manual_seed(0)
    weights = {
        name: torch.randn(shape, generator=random) / shape[1] ** 0.5
        if len(shape) == 2
        else torch.ones(shape)
        for name, shape in shapes(config).items()
    }
    return Model(config, {name: w.to(device, dtype) for name, w in weights.items()})


def requests(number: int, vocabulary: int, prompt: tuple[int, int] = (64, 256)) -> list[Work]:
    """Prompts of uniform and answers of exponential lengths, 8 to 160 tokens and 48 on average."""
    random = np.random.default_rng(0)
    work = []
    for _ in range(number):
        tokens = random.integers(0, vocabulary, int(random.integers(*prompt))).tolist()
        work.append(Work(tokens, int(np.clip(random.exponential(48), 8, 160))))
    return work


def run(model: Model, row: Row, work: Sequence[Work]) -> Meter:
    """A row once."""
    meter = Meter([[] for _ in work], model.head.is_cuda)
    with torch.inference_mode():
        row(model, work, meter)
    return meter


def measure(model: Model, work: Sequence[Work], rounds: int, backend: str) -> JsonObject:
    """All rows of one model, as plain data: tokens a second, and how pages compare."""
    rows: dict[str, Row] = {
        "naive: one by one, contiguous": naive,
        "copy: pages, block by block": partial(on_pages, Copied),
        f"pages, {backend}": partial(on_pages, backend),
    }
    few = [Work(one.prompt[:24], min(one.max_tokens, 3)) for one in work[:4]]
    for row in rows.values():
        run(model, row, work if model.head.is_cuda else few)  # a GPU compiles for each shape
    meters = [{name: run(model, row, work) for name, row in rows.items()} for _ in range(rounds)]
    first, *_, pages = rows
    report: JsonObject = {}
    for name in rows:
        pairs = zip(meters[0][name].answers, meters[0][first].answers, strict=True)
        equal = sum(mine == right for mine, right in pairs)
        if equal < len(work) and model.head.dtype == torch.float32:
            raise WrongAnswerError(f"{name}: {len(work) - equal} of {len(work)} are wrong")
        speeds = {what: [each[name].speed(what) for each in meters] for what in BOUNDS}
        best = {what: [each[pages].speed(what) for each in meters] for what in BOUNDS}
        ratios = {w: [b / s for b, s in zip(best[w], speeds[w], strict=True)] for w in BOUNDS}
        report[name] = {
            "equal": equal,
            **{what: statistics.median(speeds[what]) for what in BOUNDS},
            "pages_by": {what: statistics.median(ratios[what]) for what in BOUNDS},
        }
    return report


def lines(report: JsonObject) -> list[str]:
    """The report as text."""
    found = [f"{'':32}{'tokens/s: total':>16}{'decode':>9}{'equal':>7}{'pages are':>22}"]
    for name, row in report.items():
        by = "{total:.2f}x, decode {decode:.2f}x".format(**row["pages_by"])
        found.append(
            f"{name:32}{row['total']:>16,.0f}{row['decode']:>9,.0f}{row['equal']:>7}{by:>22}"
        )
    return found


def missed(report: JsonObject) -> list[str]:
    """The bounds that pages ÷ naive does not reach."""
    found = next(iter(report.values()))["pages_by"]
    return [
        f"check: pages ÷ naive, {what}: {found[what]:.2f}x is less than {least}x"
        for what, least in BOUNDS.items()
        if found[what] < least
    ]


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options; on a GPU a larger model in bfloat16, read by the kernels."""
    gpu = mode.decide().mode == "compiled"
    parser = argparse.ArgumentParser(prog="python -m pagesim.generation.bench", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add, default = parser.add_argument, "110M" if gpu else "3M"
    add("--size", default=default, help=f"of {', '.join(SIZES)}; default {default}")
    dtypes = ("float32", "float16", "bfloat16")
    add("--dtype", choices=dtypes, default="bfloat16" if gpu else "float32")
    add("--backend", choices=list(BACKENDS), default="triton" if gpu else "torch")
    add("--requests", type=int, default=32, help="how many; 32 run at once")
    add("--rounds", type=int, default=3, help="how often each row runs")
    add("--check", action="store_true", help="fail below the bounds")
    add("--out", type=Path, help="write the figures to this JSON file")
    options = parser.parse_args(arguments)
    options.size = options.size.split(",")
    if unknown := [name for name in options.size if name not in SIZES]:
        parser.error(f"--size {unknown[0]}: the sizes are {', '.join(SIZES)}")
    for name in ("requests", "rounds"):
        if (number := getattr(options, name)) < 1:
            parser.error(f"--{name} {number}: it must be at least 1")
    if options.out and options.out.is_dir():
        parser.error(f"--out {options.out}: it is a folder: name a file")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 0 = done, 1 = a row answers wrongly, or is too slow for --check."""
    options = parsed(arguments)
    torch.set_num_threads(1)
    device = platform.processor() or platform.machine()
    if mode.device() != "cpu":
        device = torch.cuda.get_device_name()
    print(f"{device}, torch {torch.__version__}, {options.dtype}")
    reports = {}
    for size in options.size:
        model = random_model(size, getattr(torch, options.dtype), mode.device())
        work = requests(options.requests, model.config.vocab_size)
        try:
            reports[size] = measure(model, work, options.rounds, options.backend)
        except WrongAnswerError as error:
            print(f"pagesim.generation.bench: {error}")
            return 1
        print(f"{size} parameters, {len(work)} requests", *lines(reports[size]), sep="\n")
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(reports, indent=1) + "\n")
    too_slow = [line for report in reports.values() for line in missed(report)]
    if options.check:
        print(*(too_slow or ["check: passed"]), sep="\n")
    return int(options.check and bool(too_slow))


if __name__ == "__main__":
    sys.exit(main())
