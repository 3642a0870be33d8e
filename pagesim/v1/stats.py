"""What is counted of the lookups in the prefix cache.

Source: vLLM 0.33.0, ``vllm/v1/metrics/stats.py``.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from pagesim.checks import check_int


@dataclass(slots=True)
class PrefixCacheStats:
    """Requests admitted, the tokens they had then, and those of them that were found.

    What comes back after a preemption is counted apart: it finds its own blocks. ``reset`` says
    that the cache was reset in the meantime.
    """

    requests: int = 0
    queries: int = 0
    hits: int = 0
    preempted_requests: int = 0
    preempted_queries: int = 0
    preempted_hits: int = 0
    reset: bool = False

    def record(self, num_tokens: int, num_hits: int, preempted: bool) -> None:
        """One request is admitted."""
        if preempted:
            self.preempted_requests += 1
            self.preempted_queries += num_tokens
            self.preempted_hits += num_hits
        else:
            self.requests += 1
            self.queries += num_tokens
            self.hits += num_hits


class CachingMetrics:
    """The hit rate over the most recent requests, as it is logged.

    Requests that were admitted in one step are forgotten together, so the rate is over
    ``max_recent_requests`` requests or a few less, and over more if one step admitted more.
    """

    def __init__(self, max_recent_requests: int = 1000) -> None:
        self.max_recent_requests = check_int("max_recent_requests", max_recent_requests, 1)
        self._steps: deque[tuple[int, int, int]] = deque()
        """Requests, tokens and hits of each step that is not forgotten."""
        self._requests = self._queries = self._hits = 0

    def observe(self, stats: PrefixCacheStats) -> None:
        """Add what was counted since the last call."""
        if stats.reset:
            self._steps.clear()
            self._requests = self._queries = self._hits = 0
        if not stats.requests:
            return
        self._add(stats.requests, stats.queries, stats.hits)
        self._steps.append((stats.requests, stats.queries, stats.hits))
        while len(self._steps) > 1 and self._requests > self.max_recent_requests:
            requests, queries, hits = self._steps.popleft()
            self._add(-requests, -queries, -hits)

    def _add(self, requests: int, queries: int, hits: int) -> None:
        self._requests += requests
        self._queries += queries
        self._hits += hits

    @property
    def hit_rate(self) -> float:
        """Tokens found, as a fraction of the tokens that were looked up; 0 if there are none."""
        return self._hits / self._queries if self._queries else 0.0
