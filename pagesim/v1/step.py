"""A step while it is being decided, and what a request that is to begin has found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from pagesim.journal.effects import Name
from pagesim.v1.kv_cache_manager import KVCacheBlocks
from pagesim.v1.output import CachedRequestData, NewRequestData, SchedulerOutput
from pagesim.v1.request import Request

Blocks = tuple[list[int], ...] | None


@dataclass(slots=True)
class Step:
    """A step while it is being decided."""

    budget: int
    threshold: int
    running: list[Request] = field(default_factory=list)
    new: list[Request] = field(default_factory=list)
    resumed: list[Request] = field(default_factory=list)
    num_tokens: dict[Name, int] = field(default_factory=dict)
    new_blocks: dict[Name, Blocks] = field(default_factory=dict)
    has_preempted: bool = False
    passed_over: list[Request] = field(default_factory=list)
    """Waiting requests that cannot begin in this step, though those behind them may."""

    def add(self, request: Request, num_tokens: int, new_blocks: Blocks) -> None:
        """A request takes part, with this many tokens."""
        self.num_tokens[request.request_id] = num_tokens
        self.new_blocks[request.request_id] = new_blocks
        self.budget -= num_tokens

    def strike(self, request: Request) -> None:
        """A running request was preempted: if it took part, it does not any more."""
        self.has_preempted = True
        if request.request_id in self.num_tokens:
            self.running.remove(request)
            self.budget += self.num_tokens.pop(request.request_id)

    def limit(self, num_tokens: int, may_be_cut: bool = True) -> int:
        """How many of ``num_tokens`` a request may compute; if they must not be cut, all or 0.

        The threshold cuts them nevertheless.
        """
        if 0 < self.threshold < num_tokens:
            num_tokens = self.threshold
        if num_tokens > self.budget:
            return self.budget if may_be_cut else 0
        return num_tokens

    def output(self, preempted_req_ids: set[Name], finished_req_ids: set[Name]) -> SchedulerOutput:
        """What the workers are told of the step."""
        new = [
            NewRequestData(
                request.request_id,
                request.prompt_token_ids,
                self.new_blocks[request.request_id] or (),
                request.num_computed_tokens,
            )
            for request in self.new
        ]
        known = self.running + self.resumed
        cached = CachedRequestData(
            [request.request_id for request in known],
            {request.request_id for request in self.resumed},
            [self.new_blocks[request.request_id] for request in known],
            [request.num_computed_tokens for request in known],
            [request.num_output_tokens + request.num_output_placeholders for request in known],
        )
        total = sum(self.num_tokens.values())
        ids = preempted_req_ids, finished_req_ids
        return SchedulerOutput(new, cached, self.num_tokens, total, *ids)


class Found(NamedTuple):
    """What a request need not compute: hits on the GPU, and what a connector can load."""

    hits: KVCacheBlocks | None
    num_hits: int
    num_computed: int
    num_external: int = 0
    must_wait: bool = False
    """Whether the request waits for its load, instead of the step."""
