"""What became of every request: its times, latencies and preemptions.

Servers write the columns; ``requests[i]`` is row ``i`` of each.
"""

import math
import os
from array import array
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from pagesim.errors import UsageError
from pagesim.simulation.report import html_table, save_csv
from pagesim.simulation.tier_use import TierUse
from pagesim.workload.request import Request

NAN = float("nan")

BEHIND = ("it waits behind ", "it arrives when ")
"""How it begins, if a request is stuck only because others are."""

LATENCIES = (
    *("queueing", "time_to_first_token", "time_per_output_token", "inter_token"),
    *("normalized", "end_to_end"),
)
"""The latencies of :meth:`Outcomes.latency`."""


COLUMNS = (
    *("request_id", "arrival_s", "prompt_tokens", "output_tokens", "state", "preemptions"),
    *("queueing_s", "ttft_s", "tpot_s", "end_to_end_s", "hit_tokens", "refound_tokens", "why"),
)
"""The columns of a request's row; what has not happened is empty."""


LOST = "lost_tokens"
"""One more column where there are several groups of layers."""

LOADED = ("loaded_tokens", "load_s")
"""More columns where there is a second tier: what was loaded from it, and the wait for that."""


class Outcomes:
    """One row per request, in the order of the workload; times are in seconds from the start.

    The time of something that has not happened is NaN: a request that is ignored never starts.
    """

    def __init__(self, requests: Sequence[Request]) -> None:
        n = len(requests)
        self.requests = requests
        self.arrival = array("d", [request.arrival_s for request in requests])
        self.first_scheduled = array("d", [NAN]) * n
        """When the first iteration that held the request in memory began."""
        self.first_token = array("d", [NAN]) * n
        """When the iteration that gave its first output token ended."""
        self.finished = array("d", [NAN]) * n
        """When the iteration that gave its last output token ended."""
        self.decodes = array("d")
        """When each iteration with decodes ended."""
        self.preemptions = array("q", [0]) * n
        """How often it was preempted."""
        self.num_preemptions = 0
        """The number of preemptions, over all requests."""
        self.hits = array("q", [0]) * n
        """Tokens that it did not have to compute, since they were found in the cache."""
        self.refound = array("q", [0]) * n
        """The same when it came back after a preemption: mostly what it had computed itself."""
        self.lost: dict[int, int] = {}
        """By row: tokens that it had to compute although some groups of layers had them."""
        self.has_groups = False
        """Whether there are several groups of layers, so that something may be lost."""
        self.tier: TierUse | None = None
        """What was copied to the second tier and back, if there is one."""
        self.ignored = bytearray(n)
        """1 where a request can never be served: longer than the model or the pool allows."""
        self.why: dict[int, str] = {}
        """By row: why a request was ignored, or is stuck."""

    # -- written by a server ---------------------------------------------------------------------

    def schedule(self, row: int, seconds: float) -> None:
        """Record that the step now beginning includes the request; only the first call counts."""
        if self.first_scheduled[row] != self.first_scheduled[row]:
            self.first_scheduled[row] = seconds

    def answer(self, row: int, seconds: float) -> None:
        """Record that a prefill produced a token at ``seconds``; only the first call counts."""
        if self.first_token[row] != self.first_token[row]:
            self.first_token[row] = seconds

    def finish(self, row: int, seconds: float) -> None:
        """Record that the step ending at ``seconds`` produced the request's last token."""
        self.finished[row] = seconds

    def preempt(self, row: int) -> None:
        """Record that the request was preempted: it lost its memory and resumes later."""
        self.preemptions[row] += 1
        self.num_preemptions += 1

    def find(self, row: int, tokens: int) -> None:
        """Record that the request found its first ``tokens`` tokens in the cache."""
        (self.refound if self.preemptions[row] else self.hits)[row] += tokens

    def lose(self, row: int, tokens: int) -> None:
        """Record that only some groups of layers had ``tokens`` more, which it computes again."""
        self.lost[row] = self.lost.get(row, 0) + tokens

    def ignore(self, row: int, why: str = "") -> None:
        """Record that the request can never be served."""
        self.ignored[row] = 1
        self.why[row] = why

    # -- read ------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.requests)

    @property
    def num_ignored(self) -> int:
        """The number of requests that could never be served."""
        return sum(self.ignored)

    @property
    def num_finished(self) -> int:
        """The number of requests that got their last token."""
        return int(np.isfinite(np.array(self.finished)).sum())

    @property
    def num_stuck(self) -> int:
        """Requests that still waited when nothing could move any longer."""
        return len(self) - self.num_finished - self.num_ignored

    def stuck(self) -> list[int]:
        """The rows of the requests that still waited when nothing could move any longer."""
        ends = zip(self.finished, self.ignored, strict=True)
        return [row for row, (end, ignored) in enumerate(ends) if end != end and not ignored]

    @property
    def waits_forever(self) -> dict[str, str]:
        """By id, why a request waits forever; requests that only wait behind it are left out."""
        why = {self.requests[row].request_id: self.why[row] for row in self.stuck()}
        return {name: words for name, words in why.items() if not words.startswith(BEHIND)}

    def latency(self, name: str = "normalized") -> NDArray[np.float64]:
        """Return a latency of every finished request, in the order of the workload.

        "queueing": arrival to first scheduled; "time_to_first_token" (TTFT): arrival to first
        token; "time_per_output_token" (TPOT): the mean gap after that, of requests with more than
        one output token; "end_to_end": arrival to last token, all in seconds; "normalized":
        end-to-end seconds divided by output tokens, the paper's measure (section 6.1).
        "inter_token" (ITL) has every gap between two tokens instead of one number per request;
        requests that were preempted are left out.
        """
        if name not in LATENCIES:
            raise UsageError(f"no such latency: {name!r}; there are {', '.join(LATENCIES)}")
        if name == "inter_token":
            return self._gaps()
        values = self.times()[name]
        return np.asarray(values[np.isfinite(self.finished) & np.isfinite(values)])

    def times(self) -> dict[str, NDArray[np.float64]]:
        """Return every latency except "inter_token", as arrays ``[n]``; NaN where it is unknown."""
        arrival, first, last = map(np.array, (self.arrival, self.first_token, self.finished))
        outputs = np.array([request.output_tokens for request in self.requests])
        gaps = (last - first) / np.maximum(outputs - 1, 1)
        return {
            "queueing": np.array(self.first_scheduled) - arrival,
            "time_to_first_token": first - arrival,
            "time_per_output_token": np.where(outputs > 1, gaps, NAN),
            "normalized": (last - arrival) / outputs,
            "end_to_end": last - arrival,
        }

    def _gaps(self) -> NDArray[np.float64]:
        """Seconds from a token to the next one, over all requests that were never preempted.

        Each of them gets a token in every iteration with decodes, from its first to its last: the
        budget of a step is at least its sequences, and a chunk in front never grows.
        """
        ends = np.array(self.decodes)
        found = [np.zeros(0)]
        rows = zip(self.preemptions, self.first_token, self.finished, strict=True)
        for preemptions, first, last in rows:
            if last == last and not preemptions:
                start, stop = np.searchsorted(ends, (first, last), side="right")
                found.append(np.diff(ends[start:stop], prepend=first))
        return np.concatenate(found)

    def _repr_html_(self) -> str:
        rows = list(islice(request_rows(self), 20))
        return html_table(
            columns(self), rows, f"{len(rows)} of {len(self)} requests; save_csv(path) writes all"
        )

    def save_csv(self, path: str | os.PathLike[str]) -> None:
        """Write one row per request; see `COLUMNS`, `LOST`, `LOADED`. OSError if it fails."""
        save_csv(path, columns(self), request_rows(self))

    def percentiles(
        self, name: str = "normalized", of: Sequence[float] = (50, 90, 99)
    ) -> dict[str, float]:
        """Return the mean and the percentiles of a latency; all NaN if no request has finished."""
        values = self.latency(name)
        if not values.size:
            return {"mean": NAN} | {f"p{q:g}": NAN for q in of}
        found = np.percentile(values, list(of))
        return {"mean": float(values.mean())} | {
            f"p{q:g}": float(value) for q, value in zip(of, found, strict=True)
        }


def columns(outcomes: Outcomes) -> tuple[str, ...]:
    """The columns of a request's row in this run."""
    of_groups = (LOST,) if outcomes.has_groups else ()
    return (*COLUMNS, *of_groups, *(LOADED if outcomes.tier else ()))


def request_rows(outcomes: Outcomes) -> Iterator[tuple[str | float | None, ...]]:
    """A row of :func:`columns` for every request, in the order of the workload."""
    found = outcomes.times()
    shown = ("queueing", "time_to_first_token", "time_per_output_token", "end_to_end")
    times = zip(*(found[name].tolist() for name in shown), strict=True)
    for i, (request, known) in enumerate(zip(outcomes.requests, times, strict=True)):
        is_finished = not math.isnan(outcomes.finished[i])
        state = "ignored" if outcomes.ignored[i] else "finished" if is_finished else "stuck"
        yield (
            *(request.request_id, request.arrival_s, request.prompt_tokens, request.output_tokens),
            *(state, outcomes.preemptions[i]),
            *(None if math.isnan(value) else value for value in known),
            *(outcomes.hits[i], outcomes.refound[i], outcomes.why.get(i)),
            *([outcomes.lost.get(i, 0)] if outcomes.has_groups else ()),
            *(outcomes.tier.loads.get(i, (0, 0.0)) if outcomes.tier else ()),
        )
