"""What it takes to load a prefix from a second tier, and to compute it again.

`pagesim.studies.crossover` says why, and compares models.
"""

import math
from dataclasses import dataclass

from pagesim.errors import UsageError
from pagesim.sizing.cost_model import Roofline
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
