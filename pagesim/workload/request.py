"""The work of a server: a stream of requests with lengths and arrival times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import overload

import numpy as np

from pagesim.checks import check_int, check_time
from pagesim.errors import UsageError

HASH_BLOCK_TOKENS = 512
"""Tokens per hash id where nothing else is said, as in the Mooncake traces."""


def hash_blocks(prompt_tokens: int, hash_block_tokens: int = HASH_BLOCK_TOKENS) -> int:
    """The number of hash ids of a prompt: its last block counts even if it is partial."""
    return -(-prompt_tokens // hash_block_tokens)


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """Where a request stands in its chat, in a trace that says so.

    ``parent_chat_id`` is the ``chat_id`` of the turn before; None begins a chat. ``turn`` counts
    from 1, and ``type`` is the trace's word for the kind of request, such as "text" or "search".
    """

    chat_id: int
    parent_chat_id: int | None
    turn: int
    type: str


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt and the length of its output, which a simulation knows in advance.

    ``arrival_s`` counts seconds from the start of the stream; both lengths are in tokens, at least
    1. ``hash_ids`` has one id for each block of ``hash_block_tokens`` of the prompt if the trace
    has them (the last block may be partial): where two prompts have equal ids up to a block, their
    text up to there is equal. ``token_ids`` are the tokens of the prompt, if known, and ``chat`` is
    its place in a conversation. TypeError or UsageError for anything else.
    """

    request_id: str
    arrival_s: float
    prompt_tokens: int
    output_tokens: int
    hash_ids: tuple[int, ...] = ()
    token_ids: tuple[int, ...] = ()
    hash_block_tokens: int = HASH_BLOCK_TOKENS
    chat: ChatTurn | None = None

    def __post_init__(self) -> None:
        check_int("prompt_tokens", self.prompt_tokens, minimum=1)
        check_int("output_tokens", self.output_tokens, minimum=1)
        if not 0 <= check_time("arrival_s", self.arrival_s) < math.inf:
            raise UsageError(f"arrival_s must be at least 0 and finite, not {self.arrival_s}")
        check_int("hash_block_tokens", self.hash_block_tokens, minimum=1)
        needed = hash_blocks(self.prompt_tokens, self.hash_block_tokens)
        if self.hash_ids and len(self.hash_ids) != needed:
            raise UsageError(
                f"hash_ids must be {needed} ids, one per {self.hash_block_tokens} of "
                f"{self.prompt_tokens} prompt tokens, not {len(self.hash_ids)}"
            )
        if self.token_ids:
            if self.hash_ids:
                raise UsageError("give one of hash_ids and token_ids: both describe the prompt")
            if len(self.token_ids) != self.prompt_tokens:
                raise UsageError(
                    f"token_ids must be {self.prompt_tokens} ids, as many as prompt_tokens, "
                    f"not {len(self.token_ids)}"
                )

    @property
    def total_tokens(self) -> int:
        """The number of tokens of prompt and output together."""
        return self.prompt_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Workload(Sequence[Request]):
    """A stream of requests in order of arrival, with its ``source`` for citing it.

    It has at least one request, the ids are unique, and all hash ids stand for blocks of the same
    size. A slice is also a Workload.
    """

    name: str
    source: str
    requests: tuple[Request, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "requests", tuple(self.requests))
        if not self.requests:
            raise UsageError(f"workload {self.name!r} must have at least one request")
        for i, request in enumerate(self.requests):
            if not isinstance(request, Request):
                raise TypeError(
                    f"requests[{i}] of workload {self.name!r} must be a Request, not {request!r} "
                    f"({type(request).__name__})"
                )
        seen: set[str] = set()
        hashed: Request | None = None
        before = self.requests[0]
        for request in self.requests:
            if request.arrival_s < before.arrival_s:
                raise UsageError(
                    f"workload {self.name!r} must be sorted by arrival_s: {request.request_id!r} "
                    f"at {request.arrival_s} s follows {before.request_id!r} at "
                    f"{before.arrival_s} s"
                )
            if request.request_id in seen:
                raise UsageError(
                    f"workload {self.name!r} has two requests {request.request_id!r}: "
                    "ids must be unique"
                )
            if request.hash_ids:
                hashed = hashed or request
                if request.hash_block_tokens != hashed.hash_block_tokens:
                    raise UsageError(
                        f"workload {self.name!r} has hash ids for {hashed.hash_block_tokens} "
                        f"tokens in {hashed.request_id!r} and for {request.hash_block_tokens} in "
                        f"{request.request_id!r}: they cannot be compared"
                    )
            seen.add(request.request_id)
            before = request

    def __len__(self) -> int:
        return len(self.requests)

    @overload
    def __getitem__(self, index: int) -> Request: ...
    @overload
    def __getitem__(self, index: slice) -> Workload: ...
    def __getitem__(self, index: int | slice) -> Request | Workload:
        if isinstance(index, slice):
            return self._with(self.requests[index])
        return self.requests[index]

    def first(self, n: int) -> Workload:
        """Return the first ``n`` requests, or all if there are fewer."""
        return self[: check_int("n", n, minimum=1)]

    def saturated(self) -> Workload:
        """Return the same requests, all arriving at once, so that the queue never runs empty."""
        return self._with([replace(request, arrival_s=0.0) for request in self.requests])

    def at_rate(self, requests_per_s: float, seed: int = 0) -> Workload:
        """Return the same requests in the same order, arriving in a seeded Poisson process."""
        arrivals = poisson_arrivals(np.random.default_rng(seed), len(self), requests_per_s)
        return self._with(
            [replace(r, arrival_s=s) for r, s in zip(self.requests, arrivals, strict=True)]
        )

    def split_samples(self, n: int) -> Workload:
        """Return ``n`` requests of the same prompt in place of each, named as vLLM names them.

        Since 0.6.4, vLLM serves ``n`` samples in this way: they share blocks only by prefix
        caching. Prompts whose content is not known get hash ids, so that caching finds them alike.
        """
        check_int("n", n, minimum=1)
        size = self.hash_block_tokens
        unused = count(max((max(r.hash_ids, default=0) for r in self.requests), default=0) + 1)
        split = []
        for request in self.requests:
            ids = request.hash_ids
            if not (ids or request.token_ids):
                ids = tuple(islice(unused, hash_blocks(request.prompt_tokens, size)))
            split += [
                replace(
                    request,
                    request_id=f"{request.request_id}_parallel_sample_{sample}",
                    hash_ids=ids,
                    hash_block_tokens=size,
                )
                for sample in range(n)
            ]
        return self._with(split)

    @property
    def hash_block_tokens(self) -> int:
        """The number of tokens that a hash id stands for."""
        hashed = (request for request in self.requests if request.hash_ids)
        return next(hashed, self.requests[0]).hash_block_tokens

    @property
    def mean_prompt(self) -> float:
        """The mean number of tokens in a prompt."""
        return sum(request.prompt_tokens for request in self.requests) / len(self)

    @property
    def mean_output(self) -> float:
        """The mean number of tokens in an output."""
        return sum(request.output_tokens for request in self.requests) / len(self)

    @property
    def requests_per_s(self) -> float:
        """The arrivals per second, from the first to the last; infinite if all come at once."""
        span = self.requests[-1].arrival_s - self.requests[0].arrival_s
        return (len(self) - 1) / span if span > 0 else math.inf

    def summary(self) -> str:
        """Return one line of text: the number of requests, their lengths and their rate."""
        pace = "all at once"
        if self.requests_per_s < math.inf:
            pace = f"{self.requests_per_s:.3g} requests/s"
        return (
            f"{self.name}: {len(self):,} requests, on average {self.mean_prompt:,.2f} prompt and "
            f"{self.mean_output:,.2f} output tokens, {pace}"
        )

    def _with(self, requests: Sequence[Request]) -> Workload:
        return Workload(self.name, self.source, tuple(requests))


def poisson_arrivals(generator: np.random.Generator, n: int, rate: float) -> list[float]:
    """``n`` arrival times in seconds, the gaps exponential with a mean of 1 / ``rate``."""
    if not 0 < check_time("requests_per_s", rate) < math.inf:
        raise UsageError(
            f"requests_per_s must be more than 0 and finite, not {rate}; "
            "Workload.saturated() lets all requests arrive at once"
        )
    return [float(second) for second in np.cumsum(generator.exponential(1 / rate, n))]
