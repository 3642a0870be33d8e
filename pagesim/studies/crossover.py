"""When does loading a prefix from the CPU beat computing it again? From which length on.

To load ``n`` tokens, a request waits for a step to notice them, and then for ``n`` times the bytes
of a token over the link. To compute them again takes two operations per parameter and token, and
for each pair of tokens of which one attends to the other, four per layer and hidden dimension. So
what decides is how many operations a token costs per byte that it leaves in the cache: models whose
query heads share keys and values gain from a second tier, those in which they do not hardly gain.

    python -m pagesim.studies.crossover         the table, and an issue of LMCache explained

A GPU does not reach the operations of its data sheet: `SHARE` of them is assumed, and `WAIT`.
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pagesim.simulation import Limits, Roofline, Simulation, simulate
from pagesim.sizing.load_or_compute import SHARE as SHARE
from pagesim.sizing.load_or_compute import WAIT as WAIT
from pagesim.sizing.load_or_compute import LoadOrCompute as LoadOrCompute
from pagesim.sizing.model import ModelSpec
from pagesim.workload import Request

MODELS = (("llama-2-7b", 1, WAIT), ("llama-3.1-8b", 1, WAIT), ("llama-3.1-70b", 4, 2 * WAIT))
"""What the table compares: models, GPUs, and how long a step of them takes."""

LENGTH = 3_072
"""Tokens of the table's last columns."""


def table(link: str = "pcie4", gpu: str = "h100") -> list[LoadOrCompute]:
    """The models of the table on one link."""
    return [LoadOrCompute.of(name, gpu, link, tp, wait_seconds=wait) for name, tp, wait in MODELS]


# -- an issue of LMCache ---------------------------------------------------------------------------

SOURCE = "github.com/LMCache/LMCache, issue 970"


@dataclass(frozen=True, slots=True)
class Measured:
    """What a user measured with a tier on the CPU and without, and what follows from it.

    835 prompts of 2,560 to 3,560 tokens were sent five times each, to Llama-2-7B on an H100. All of
    them together do not fit into the GPU's memory, so without a tier all are computed every time.
    """

    model: str = "llama-2-7b"
    alone: float = 14.68
    """Requests a second without a tier."""
    tiered: float = 13.13
    """Requests a second with the tier."""
    prefilled: float = 44_025.28
    """Prompt tokens a second without a tier."""
    passes: int = 5
    """How often each prompt came."""

    @property
    def num_tokens(self) -> float:
        """The mean tokens of a prompt."""
        return self.prefilled / self.alone

    @property
    def bytes_per_prompt(self) -> float:
        """What a prompt leaves in the cache."""
        return self.num_tokens * ModelSpec.preset(self.model).kv_bytes_per_token

    @property
    def needed(self) -> float:
        """Bytes a second at which loading a prompt takes as long as computing it."""
        return self.prefilled * ModelSpec.preset(self.model).kv_bytes_per_token

    def expected(self, bytes_per_second: float) -> float:
        """Requests a second with the tier, if every copy is waited for.

        A prompt is computed and copied out when it comes first, and copied in every other time: so
        a request costs one copy either way, and a share of the computing.
        """
        copied = self.bytes_per_prompt / bytes_per_second
        return 1 / (1 / self.alone / self.passes + copied)

    @property
    def copied_at(self) -> float:
        """The bytes a second of the copies, if every one was waited for in what was measured."""
        return self.bytes_per_prompt / (1 / self.tiered - 1 / self.alone / self.passes)


PROMPTS, PASSES, OUTPUT = 40, 5, 9
"""Of the simulation: prompts, how often they come, and the tokens that each request generates.

The user's 835 prompts would give the same: in both cases the GPU has lost a prompt when it comes
again.
"""

ROOM = 47_000
"""Slots of the GPU: what half of its memory leaves after the weights."""

REACHED = 0.64
"""The share of the H100's operations per second with which the simulation computes as measured."""


def served(link: str | None) -> Simulation:
    """Such prompts under V1, with a tier over a link, or without a tier.

    V1's copies run beside the steps. But it loads whatever it finds, and does not ask whether
    computing would be faster.
    """
    draw = random.Random(0)
    lengths = [draw.randint(2_560, 3_560) for _ in range(PROMPTS)]
    asked = [
        Request(f"{number}, pass {each}", 0.0, length, OUTPUT, (), (number,) * length)
        for each in range(PASSES)
        for number, length in enumerate(lengths)
    ]
    clock = Roofline.for_model("llama-2-7b", "h100")
    clock = replace(clock, flops_per_second=REACHED * clock.flops_per_second)
    limits = Limits(4_096, max_num_batched_tokens=8_192)
    tier = {} if link is None else {"cpu_blocks": sum(lengths) // 16, "link": link}
    means: dict[str, Any] = {"pool": ROOM, "limits": limits, "cost_model": clock} | tier
    return simulate(asked, policy="v1", progress=False, **means)


def rate(run: Simulation) -> float:
    """Requests a second."""
    return len(run.requests) / run.seconds


# -- as text ---------------------------------------------------------------------------------------


def shown(num_tokens: float) -> str:
    """A crossover as text."""
    return f"{num_tokens:,.0f}" if math.isfinite(num_tokens) else "never"


def report() -> Iterator[str]:
    """The lines of the table, and of what follows from the issue."""
    yield f"On H100s that use {SHARE:.0%} of their operations; a load waits for a step of 15 ms, of"
    yield "30 ms for the model on 4 GPUs. Crossover: from so many tokens on loading is faster."
    for link in ("pcie4", "pcie5"):
        found = table(link)
        yield f"\n{link}, {found[0].link.in_bytes_per_second / 1e9:g} GB/s for each GPU"
        yield (
            f"{'':<16}{'bytes a token':>14}{'load':>10}{'compute':>10}{'crossover':>12}"
            f"{'without n*n':>13}{f'{LENGTH:,} tokens: load, compute':>32}"
        )
        for one in found:
            each = f"{1e6 * one.load_per_token:>7.1f} us{1e6 * one.compute_per_token:>7.1f} us"
            both = f"{1e3 * one.load(LENGTH):.0f} ms, {1e3 * one.compute(LENGTH):.0f} ms"
            yield (
                f"{one.model:<16}{one.bytes_per_token:>14,.0f}{each}"
                f"{shown(one.crossover()):>12}{shown(one.crossover(pairs=False)):>13}{both:>32}"
            )
    it = Measured()
    yield f"\n{SOURCE}: {it.alone} requests a second alone, {it.tiered} with a tier on the CPU."
    yield (
        f"{it.prefilled:,.0f} tokens a second were computed, {1e6 / it.prefilled:.1f} us each. To "
        f"load as fast takes {it.needed / 1e9:.1f} GB/s."
    )
    yield f"Besides, every prompt has to go out once: {it.bytes_per_prompt / 1e9:.1f} GB."
    yield (
        "If every copy is waited for, at 25 GB/s "
        f"{it.expected(25e9):.2f} requests a second are left, at 50 GB/s {it.expected(50e9):.2f}."
    )
    yield f"What was measured is that of copies at {it.copied_at / 1e9:.1f} GB/s."
    rates = {link: rate(served(link)) for link in (None, "pcie3", "pcie4", "pcie5")}
    words = ", ".join(f"{link or 'no tier'} {value:.2f}" for link, value in rates.items())
    yield f"V1's copies run beside the steps. Simulated, requests a second: {words}."


def main() -> None:
    """Print the table."""
    for line in report():
        print(line)


if __name__ == "__main__":
    main()
