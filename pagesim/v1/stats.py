"""What is counted of the lookups in the prefix cache.

Source: vLLM 0.33.0, ``vllm/v1/metrics/stats.py``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class PrefixCacheStats:
    """Requests admitted, the tokens they had then, and those of them that were found.

    What comes back after a preemption is counted apart: it finds its own blocks.
    """

    requests: int = 0
    queries: int = 0
    hits: int = 0
    preempted_requests: int = 0
    preempted_queries: int = 0
    preempted_hits: int = 0

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
