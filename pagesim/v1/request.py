"""A request: its tokens, how far they are computed, and the hashes of its full blocks.

Source: vLLM 0.33.0, ``vllm/v1/request.py``, as far as blocks and scheduling need it.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Iterable

from pagesim.checks import check_bool, check_int, check_time, check_token_ids, explained
from pagesim.errors import UsageError
from pagesim.journal.effects import Name, is_name, show
from pagesim.v1.engine import FinishReason
from pagesim.v1.kv_cache_utils import BlockHash, hash_block_tokens


class RequestStatus(enum.IntEnum):
    """The status of a request; everything after PREEMPTED is finished.

    While it is WAITING_FOR_REMOTE_KVS, its blocks are being loaded. vLLM has two more states
    between WAITING and RUNNING, for features that pagesim leaves out.
    """

    WAITING = enum.auto()
    WAITING_FOR_REMOTE_KVS = enum.auto()
    RUNNING = enum.auto()
    PREEMPTED = enum.auto()
    FINISHED_STOPPED = enum.auto()
    FINISHED_LENGTH_CAPPED = enum.auto()
    FINISHED_ABORTED = enum.auto()
    FINISHED_IGNORED = enum.auto()
    FINISHED_ERROR = enum.auto()
    FINISHED_REPETITION = enum.auto()

    @staticmethod
    @explained
    def is_finished(status: RequestStatus) -> bool:
        """Whether this status means that the request will not run again."""
        return status > RequestStatus.PREEMPTED

    @staticmethod
    @explained
    def get_finished_reason(status: RequestStatus) -> FinishReason | None:
        """What a client is told; None while the request is not finished."""
        return _REASONS.get(status)


_REASONS = {
    RequestStatus.FINISHED_STOPPED: FinishReason.STOP,
    RequestStatus.FINISHED_LENGTH_CAPPED: FinishReason.LENGTH,
    RequestStatus.FINISHED_ABORTED: FinishReason.ABORT,
    RequestStatus.FINISHED_IGNORED: FinishReason.LENGTH,
    RequestStatus.FINISHED_ERROR: FinishReason.ERROR,
    RequestStatus.FINISHED_REPETITION: FinishReason.REPETITION,
}


def check_tokens(name: str, token_ids: Iterable[int]) -> list[int]:
    """`check_token_ids`, and UsageError for one beyond the 64 bits of a timeline."""
    tokens = check_token_ids(name, token_ids)
    check_bits(name, tokens)
    return tokens


def check_bits(name: str, tokens: list[int]) -> None:
    """UsageError for a token beyond the 64 bits of a timeline."""
    for token in tokens:
        if not -(1 << 63) <= token < 1 << 63:
            raise UsageError(f"{name} must be ints of at most 64 bits, not {token}")


def check_block_size(request: Request, block_size: int) -> None:
    """UsageError for a request whose hashes are of blocks of another size."""
    if request.block_size is not None and request.block_size != block_size:
        raise UsageError(
            f"request {request.request_id!r} has hashes of blocks of {request.block_size} "
            f"tokens, but the cache has blocks of {block_size}: make it with the same block_size"
        )


class Request:
    """One prompt and its output of at most ``max_tokens`` tokens.

    ``request_id`` is a text, as in vLLM, or a number; a timeline shows the number 0 as s0, as it
    does for V0. ``block_size`` is that of the cache: every full block of tokens, output included,
    has an entry in ``block_hashes``. None means that the request does not use prefix caching.
    Requests with different ``cache_salt`` share no block; "" is no salt. TypeError or UsageError
    names the argument.
    """

    __slots__ = (
        "__weakref__",
        "_next_block_end",
        "all_token_ids",
        "arrival_time",
        "block_hashes",
        "block_size",
        "cache_salt",
        "discard_stale_output",
        "is_prefill_chunk",
        "max_tokens",
        "num_computed_tokens",
        "num_in_flight_tokens",
        "num_output_placeholders",
        "num_preemptions",
        "num_prompt_tokens",
        "num_stale_output_tokens",
        "priority",
        "request_id",
        "shared_prefix_boundary",
        "skip_reading_prefix_cache",
        "status",
        "stop_token_ids",
    )

    def __init__(
        self,
        request_id: Name,
        prompt_token_ids: Iterable[int],
        *,
        block_size: int | None = None,
        max_tokens: int = 16,
        stop_token_ids: Iterable[int] = (),
        priority: int = 0,
        arrival_time: float = 0.0,
        cache_salt: str | None = None,
        skip_reading_prefix_cache: bool = False,
    ) -> None:
        if type(request_id) is not int and not isinstance(request_id, str):
            raise TypeError(f"request_id must be a string or an int, not {request_id!r}")
        if not is_name(request_id):
            raise UsageError(
                f"request_id must be text that a file can hold, not {show(request_id)}"
            )
        if not isinstance(cache_salt, str | None):
            raise TypeError(f"cache_salt must be a string or None, not {cache_salt!r}")
        check_bool("skip_reading_prefix_cache", skip_reading_prefix_cache)
        self.request_id = request_id
        self.all_token_ids = check_token_ids("prompt_token_ids", prompt_token_ids)
        """Prompt and output in one live list: read it only."""
        self.num_prompt_tokens = len(self.all_token_ids)
        self.max_tokens = check_int("max_tokens", max_tokens, 1)
        self.stop_token_ids = frozenset(check_token_ids("stop_token_ids", stop_token_ids))
        self.priority = check_int("priority", priority, -sys.maxsize)
        self.arrival_time = check_time("arrival_time", arrival_time)
        self.cache_salt = cache_salt
        self.skip_reading_prefix_cache = skip_reading_prefix_cache
        self.status = RequestStatus.WAITING
        self.num_computed_tokens = 0
        """Tokens that are scheduled to be computed, or computed."""
        self.num_preemptions = 0
        self.is_prefill_chunk = False
        """Whether its last step leaves tokens to compute, so that it samples none."""
        self.num_in_flight_tokens = 0
        """Tokens of steps that are scheduled, and whose output is not known yet."""
        self.num_output_placeholders = 0
        """Asynchronously: tokens to be sampled by steps in flight, which later steps count on."""
        self.num_stale_output_tokens = 0
        """Asynchronously: how many tokens were in flight when it was preempted last."""
        self.discard_stale_output = False
        """Whether what these sample is thrown away."""
        self.shared_prefix_boundary = 0
        """After how many tokens a hit would have ended that only some groups had; 0 if none."""
        self.block_size = None if block_size is None else check_int("block_size", block_size, 1)
        self.block_hashes: list[BlockHash] = []
        self._next_block_end = block_size or sys.maxsize
        if self.num_prompt_tokens >= self._next_block_end:
            self._update_block_hashes()

    @property
    def num_tokens(self) -> int:
        """The number of tokens of prompt and output."""
        return len(self.all_token_ids)

    @property
    def prompt_token_ids(self) -> list[int]:
        """The tokens of the prompt."""
        return self.all_token_ids[: self.num_prompt_tokens]

    @property
    def output_token_ids(self) -> list[int]:
        """The tokens that were generated."""
        return self.all_token_ids[self.num_prompt_tokens :]

    @property
    def num_output_tokens(self) -> int:
        """The number of tokens generated."""
        return len(self.all_token_ids) - self.num_prompt_tokens

    @property
    def prefill_end(self) -> int:
        """From where the request decodes; one that was preempted computes its output again."""
        return max(self.num_prompt_tokens, self.num_tokens - 1)

    def append_output_token_ids(self, token_ids: int | Iterable[int]) -> None:
        """Add a generated token, or several."""
        tokens = self.all_token_ids
        if type(token_ids) is int:
            tokens.append(token_ids)
        else:
            tokens += check_token_ids("token_ids", token_ids)
        if len(tokens) >= self._next_block_end:
            self._update_block_hashes()

    def _update_block_hashes(self) -> None:
        """Hash the blocks that are full and have none yet, each behind its predecessor."""
        tokens, hashes, size = self.all_token_ids, self.block_hashes, self.block_size
        assert size is not None
        parent = hashes[-1] if hashes else None
        for end in range(self._next_block_end, len(tokens) + 1, size):
            salt = (self.cache_salt,) if end == size and self.cache_salt else None
            parent = hash_block_tokens(parent, tokens[end - size : end], salt)
            hashes.append(parent)
        self._next_block_end = (len(hashes) + 1) * size

    def is_finished(self) -> bool:
        """Whether the request will not run again."""
        return self.status > RequestStatus.PREEMPTED

    def get_finished_reason(self) -> FinishReason | None:
        """Return the reason that a client is told, or None while the request is not finished."""
        return _REASONS.get(self.status)

    def __repr__(self) -> str:
        return f"Request({self.request_id!r}, {self.status.name}, {self.num_tokens} tokens)"


def check_stop(request: Request, last_token_id: int, max_model_len: int) -> bool:
    """Whether a request ends with this token; its status says why.

    Source: vLLM 0.33.0, ``vllm/v1/core/sched/utils.py``.
    """
    most = min(max_model_len, request.num_prompt_tokens + request.max_tokens)
    if last_token_id in request.stop_token_ids:
        request.status = RequestStatus.FINISHED_STOPPED
    elif len(request.all_token_ids) >= most:
        request.status = RequestStatus.FINISHED_LENGTH_CAPPED
    return request.status > RequestStatus.PREEMPTED


def append_until_stop(request: Request, sampled: Iterable[int], max_model_len: int) -> list[int]:
    """Add sampled tokens up to the one with which the request ends; returns what was added."""
    new: list[int] = []
    for token in sampled:
        request.append_output_token_ids(token)
        new.append(token)
        if check_stop(request, token, max_model_len):
            break
    return new
