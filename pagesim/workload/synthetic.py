"""Request streams generated from a seed: lengths of a chosen mean and spread, Poisson arrivals.

Prompts, answers and arrivals each have their own generator, so a longer stream of the same seed
begins with the shorter one. A test pins the streams; NumPy 2.0.2 and 2.4.6 give the same ones.
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pagesim.checks import check_int, check_time
from pagesim.errors import UsageError
from pagesim.workload.request import Request, Workload, poisson_arrivals

Lengths = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int, float, float], Floats]

PAPER = "Kwon et al., PagedAttention, SOSP '23"
PAPER_PROMPT_CV, PAPER_OUTPUT_CV = 1.3, 0.87
"""The spread of the paper's streams. The paper gives only means: the spread of outputs was derived
from the reserved share of Orca (Max) in its Figure 2, and that of prompts is a choice."""


def gamma(
    n: int,
    prompt_mean: float,
    prompt_cv: float,
    output_mean: float,
    output_cv: float,
    rate: float | None = None,
    seed: int = 0,
    max_len: int = 2048,
) -> Workload:
    """Draw ``n`` requests whose prompts and outputs have gamma-distributed lengths.

    A ``cv`` is the standard deviation ÷ the mean; 0 makes all lengths equal. ``rate`` is in
    requests per second; with None, all requests arrive at once. Lengths are rounded to whole
    tokens, at least 1, and cut so that prompt and output together fit into ``max_len``, which
    lowers the means slightly.
    """
    drawn = (prompt_mean, prompt_cv, output_mean, output_cv)
    return _workload("gamma", _gamma, n, drawn, rate, seed, max_len)


def lognormal(
    n: int,
    prompt_mean: float,
    prompt_cv: float,
    output_mean: float,
    output_cv: float,
    rate: float | None = None,
    seed: int = 0,
    max_len: int = 2048,
) -> Workload:
    """Do as :func:`gamma`, but with lognormal lengths: more short ones, and a few much longer."""
    drawn = (prompt_mean, prompt_cv, output_mean, output_cv)
    return _workload("lognormal", _lognormal, n, drawn, rate, seed, max_len)


def paper_sharegpt(n: int, seed: int = 0, rate: float | None = 2.0) -> Workload:
    """Draw gamma lengths with the PagedAttention paper's means for ShareGPT, at 2 per second.

    The means are 161.31 prompt and 337.99 output tokens; prompt and output have at most 2,048.
    """
    return _of_paper("paper-sharegpt", 161.31, 337.99, n, seed, rate)


def paper_alpaca(n: int, seed: int = 0, rate: float | None = 30.0) -> Workload:
    """Draw gamma lengths with the PagedAttention paper's means for Alpaca, at 30 per second.

    The means are 19.31 prompt and 58.45 output tokens; their spread is assumed to be ShareGPT's.
    """
    return _of_paper("paper-alpaca", 19.31, 58.45, n, seed, rate)


def generators(seed: int, count: int) -> list[np.random.Generator]:
    """``count`` independent generators from one seed."""
    return np.random.default_rng(check_int("seed", seed, minimum=0)).spawn(count)


def requests_of(
    prompts: Lengths, outputs: Lengths, arrivals: np.random.Generator, rate: float | None
) -> tuple[Request, ...]:
    """Requests with these lengths, numbered from 0, at the times drawn by ``arrivals``."""
    n = len(prompts)
    times = [0.0] * n if rate is None else poisson_arrivals(arrivals, n, rate)
    rows = zip(times, prompts.tolist(), outputs.tolist(), strict=True)
    return tuple(Request(str(i), *row) for i, row in enumerate(rows))


def _of_paper(
    name: str, prompt: float, output: float, n: int, seed: int, rate: float | None
) -> Workload:
    workload = gamma(n, prompt, PAPER_PROMPT_CV, output, PAPER_OUTPUT_CV, rate, seed)
    source = f"mean lengths of {PAPER}; {workload.source}"
    return Workload(name, source, workload.requests)


def _workload(
    kind: str,
    draw: Draw,
    n: int,
    lengths: tuple[float, float, float, float],
    rate: float | None,
    seed: int,
    max_len: int,
) -> Workload:
    check_int("n", n, minimum=1)
    check_int("max_len", max_len, minimum=2)
    for name, value, least in zip(
        ("prompt_mean", "prompt_cv", "output_mean", "output_cv"), lengths, (1, 0, 1, 0), strict=True
    ):
        if not least <= check_time(name, value) < math.inf:
            raise UsageError(f"{name} must be at least {least} and finite, not {value}")
    of_prompts, of_outputs, of_arrivals = generators(seed, 3)
    prompts = _whole(draw(of_prompts, n, *lengths[:2]), np.full(n, max_len - 1))
    outputs = _whole(draw(of_outputs, n, *lengths[2:]), max_len - prompts)
    source = "{} lengths, prompt {:g} (CV {:g}), output {:g} (CV {:g}), seed {}".format(
        kind, *lengths, seed
    )
    return Workload(kind, source, requests_of(prompts, outputs, of_arrivals, rate))


def _whole(lengths: Floats, most: Lengths) -> Lengths:
    """Lengths in whole tokens, at least 1 and at most ``most``."""
    return np.clip(np.rint(lengths), 1, most).astype(np.int64)


def _gamma(generator: np.random.Generator, n: int, mean: float, cv: float) -> Floats:
    if cv == 0:
        return np.full(n, float(mean))
    return generator.gamma(1 / cv**2, mean * cv**2, n)


def _lognormal(generator: np.random.Generator, n: int, mean: float, cv: float) -> Floats:
    variance = math.log1p(cv**2)
    return generator.lognormal(math.log(mean) - variance / 2, math.sqrt(variance), n)
