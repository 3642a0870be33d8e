"""Times of a run: when each token came, what each step took, on a clock that never waits."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch


class Clock:
    """Seconds of work since it was made.

    On a CPU the time of this process, because a shared machine's wall clock says more about its
    neighbours; on a GPU wall time, after waiting for the GPU. :meth:`skip` sets the clock forward:
    an engine with nothing to do is not waited for.
    """

    def __init__(self, device: str = "cpu") -> None:
        self._gpu = device != "cpu"
        self._skipped = -self._read()

    def now(self) -> float:
        return self._read() + self._skipped

    def skip(self, until: float) -> None:
        self._skipped += max(0.0, until - self.now())

    def _read(self) -> float:
        if not self._gpu:
            return time.process_time()
        torch.cuda.synchronize()
        return time.perf_counter()


@dataclass(slots=True)
class Meter:
    """Told by a row, step by step, which request got which token."""

    num_requests: int
    clock: Clock
    arrivals: Sequence[float] = ()
    answers: list[list[int]] = field(init=False)
    times: list[list[float]] = field(init=False)
    steps: list[tuple[float, int, bool]] = field(default_factory=list)
    """Seconds, tokens, and whether the step did nothing but decode."""
    model: float = 0.0
    """Seconds in the model; the rest of a step is scheduling, metadata and sampling."""
    decoded: tuple[float, int] = (0.0, 0)
    """Of decode steps: seconds in the model, and the tokens whose K and V it read."""
    gather: float = 0.0
    """Seconds of gathering pages, if the row timed it."""
    tables: Any = None
    """The largest block tables that were seen."""
    began: float = field(init=False)
    _last: float = field(init=False)

    def __post_init__(self) -> None:
        self.answers = [[] for _ in range(self.num_requests)]
        self.times = [[] for _ in range(self.num_requests)]
        self.began = self._last = self.clock.now()

    def begin(self) -> None:
        """The run begins now: what came before was preparation."""
        self.began = self._last = self.clock.now()

    def has_arrived(self, request: int) -> bool:
        """Whether a request is there; without arrivals all are there from the beginning."""
        return not self.arrivals or self.began + self.arrivals[request] <= self.clock.now()

    def skip_to(self, request: int) -> None:
        """There is nothing to do before this request arrives."""
        self.clock.skip(self.began + self.arrivals[request])
        self._last = self.clock.now()

    def step(self, tokens: Mapping[int, int], decode: bool) -> None:
        """A step has ended: these requests have these tokens."""
        now = self.clock.now()
        self.steps.append((now - self._last, len(tokens), decode))
        self._last = now
        for request, token in tokens.items():
            self.answers[request].append(token)
            self.times[request].append(now)

    def ran_model(self, seconds: float, batch: Any) -> None:
        """The model has run on a batch."""
        self.model += seconds
        if self.tables is None or batch.block_tables.size > self.tables.size:
            self.tables = batch.block_tables
        if not batch.num_prefills:
            self.decoded = self.decoded[0] + seconds, self.decoded[1] + int(batch.seq_lens.sum())

    @property
    def seconds(self) -> float:
        """Of all steps."""
        return sum(seconds for seconds, _, _ in self.steps)

    @property
    def host(self) -> float | None:
        """The share of time outside the model, if it was told."""
        return 1 - self.model / self.seconds if self.model else None

    @property
    def total(self) -> float:
        """Tokens a second."""
        return sum(map(len, self.answers)) / self.seconds

    @property
    def decode(self) -> float:
        """Tokens a second in the steps that did nothing but decode; 0 without any."""
        alone = [(seconds, tokens) for seconds, tokens, decode in self.steps if decode]
        return sum(tokens for _, tokens in alone) / sum(s for s, _ in alone) if alone else 0.0

    @property
    def step_ms(self) -> tuple[float, float]:
        """A decode step in ms: the median and the 95th percentile."""
        return percentiles([1e3 * seconds for seconds, _, decode in self.steps if decode])

    @property
    def ttft_ms(self) -> tuple[float, float]:
        """From a request's arrival to its first token."""
        arrivals = self.arrivals or [0.0] * self.num_requests
        pairs = zip(self.times, arrivals, strict=True)
        return percentiles([1e3 * (times[0] - self.began - at) for times, at in pairs if times])

    @property
    def tpot_ms(self) -> tuple[float, float]:
        """Time per output token after the first, the mean of each request."""
        many = [times for times in self.times if len(times) > 1]
        return percentiles([1e3 * (t[-1] - t[0]) / (len(t) - 1) for t in many])

    @property
    def adjacent(self) -> float:
        """The share of pages that lie behind their predecessor: 1 if none is permuted."""
        before, after = self.tables[:, :-1], self.tables[:, 1:]
        return float((after == before + 1)[after >= 0].mean())


def percentiles(numbers: Sequence[float]) -> tuple[float, float]:
    """The median and the 95th percentile; nan without numbers."""
    if len(numbers) < 2:
        return (numbers[0], numbers[0]) if numbers else (float("nan"), float("nan"))
    return statistics.median(numbers), statistics.quantiles(numbers, n=20, method="inclusive")[-1]
