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
from collections.abc import Iterator
from dataclasses import dataclass

from pagesim.errors import UsageError
from pagesim.simulation.cost_model import Roofline
from pagesim.sizing.link import Link, link_of
from pagesim.sizing.model import ModelSpec

SHARE = 0.45
"""The share of a GPU's operations per second that a long prompt uses."""

WAIT = 0.015
"""Seconds until a load begins: it is decided in a step, and begins with it."""


@dataclass(frozen=True, slots=True)
class LoadOrCompute:
    """A prefix in a model, on GPUs with a link: what it takes to load it, or to compute it."""

    model: str
    link: Link
    bytes_per_token: float
    flops_per_token: float
    flops_per_pair: float
    """For each pair of tokens, of which one attends to the other; a token also to itself."""
    flops_per_second: float
    wait_seconds: float = WAIT
    longest: int | None = None
    """The longest sequence of the model, if it is known."""

    @classmethod
    def of(
        cls,
        model: str,
        gpu: str = "h100",
        link: str | Link = "pcie4",
        tp: int = 1,
        *,
        share: float = SHARE,
        wait_seconds: float = WAIT,
    ) -> "LoadOrCompute":
        """A preset on ``tp`` GPUs, each with a link of its own.

        UsageError for what is unknown, a share that is not above 0 and at most 1, a wait below 0,
        and models in which some layers keep other things than the keys and values of all tokens:
        vLLM's tier refuses these.
        """
        spec, clock = ModelSpec.preset(model), Roofline.for_model(model, gpu, tp)
        if spec.sliding_layers or spec.chunked_layers or spec.state_layers:
            raise UsageError(
                f"{spec.name} has layers with windows, chunks or states: a tier on "
                "the CPU takes models in which all layers attend to all tokens"
            )
        if not 0 < share <= 1:
            raise UsageError(f"share must be above 0 and at most 1, not {share!r}")
        if not 0 <= wait_seconds < math.inf:
            raise UsageError(f"wait_seconds must be a number of at least 0, not {wait_seconds!r}")
        return cls(
            spec.name,
            link_of(link).times(tp),
            clock.kv_bytes_per_token,
            clock.flops_per_token,
            4.0 * spec.num_layers * spec.num_heads * spec.head_dim,
            share * clock.flops_per_second,
            wait_seconds,
            spec.max_model_len,
        )

    def load(self, num_tokens: float) -> float:
        """Seconds until so many tokens are loaded."""
        return self.wait_seconds + self.link.seconds(num_tokens * self.bytes_per_token, out=False)

    def compute(self, num_tokens: float, *, pairs: bool = True) -> float:
        """Seconds until so many tokens are computed; without ``pairs``, attention is free."""
        attention = self.flops_per_pair * num_tokens**2 / 2 if pairs else 0.0
        return (self.flops_per_token * num_tokens + attention) / self.flops_per_second

    @property
    def load_per_token(self) -> float:
        """Seconds that each token adds to a load."""
        return self.bytes_per_token / self.link.in_bytes_per_second

    @property
    def compute_per_token(self) -> float:
        """Seconds that each token adds to a short prompt."""
        return self.compute(1, pairs=False)

    def crossover(self, *, pairs: bool = True) -> float:
        """From how many tokens on loading is faster; infinity if never.

        Without ``pairs`` it is the wait divided by what a token gains, so a link that is slower
        than computing never wins. With them every link wins in the end, since attention grows with
        the square of the length: it is the positive root of a quadratic equation.
        """
        wait, gain = self.load(0), self.compute_per_token - self.load_per_token
        if not pairs:
            return wait / gain if gain > 0 else math.inf
        square = self.flops_per_pair / 2 / self.flops_per_second
        return (math.sqrt(gain**2 + 4 * square * wait) - gain) / (2 * square)


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


def main() -> None:
    """Print the table."""
    for line in report():
        print(line)


if __name__ == "__main__":
    main()
