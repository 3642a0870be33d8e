"""One step's batch as attention kernels take it: all tokens in a row, and where each belongs.

Prefills come before decodes, and the tokens of a sequence are adjacent. For example, two prompts of
5 and 3 tokens, the first with 2 tokens already computed, and a sequence of 9 that decodes:

    tokens             2  3  4 | 0  1  2 | 8          (their positions)
    query_start_loc    0         3         6   7
    context_lens       2         0         8          computed before
    seq_lens           5         3         9          seen by the last token, itself included

Source: vLLM 0.6.4.post1, ``ModelInputForGPUBuilder`` in ``vllm/worker/model_runner.py`` and
``FlashAttentionMetadataBuilder`` in ``vllm/attention/backends/flash_attn.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pagesim.cache.slot_mapping import pad_block_tables, prompt_slots, slots_of
from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.v0.sequence import SequenceData


class ScheduledGroup(Protocol):
    """The part of a group's ``SequenceGroupMetadata`` that is read here."""

    @property
    def request_id(self) -> str: ...

    @property
    def is_prompt(self) -> bool: ...

    @property
    def seq_data(self) -> Mapping[int, SequenceData]: ...

    @property
    def block_tables(self) -> Mapping[int, Sequence[int]]: ...

    @property
    def token_chunk_size(self) -> int: ...

    @property
    def computed_block_nums(self) -> Sequence[int]: ...


@dataclass(frozen=True, slots=True, eq=False)
class AttentionMetadata:
    """A batch of T tokens of S sequences; the names are vLLM's."""

    seq_ids: list[int]
    """[S]"""
    input_tokens: NDArray[np.int64]
    """[T], what the model computes in this step."""
    input_positions: NDArray[np.int64]
    """[T], each token's place in its sequence."""
    slot_mapping: NDArray[np.int64]
    """[T], where each token's key and value are written; -1: nowhere."""
    block_tables: NDArray[np.int32]
    """[S, longest table], filled up with -1."""
    query_start_loc: NDArray[np.int32]
    """[S + 1]; the tokens of sequence i begin at ``query_start_loc[i]`` and end before the next."""
    context_lens: NDArray[np.int32]
    """[S], tokens with keys and values in the cache before the step."""
    seq_lens: NDArray[np.int32]
    """[S], the same after the step."""
    num_prefills: int
    """The number of sequences that prefill; they come first."""
    num_prefill_tokens: int
    num_decode_tokens: int
    max_query_len: int
    """The most tokens of one sequence; like the next two, 0 for an empty batch."""
    max_prefill_seq_len: int
    max_decode_seq_len: int

    @property
    def max_seq_len(self) -> int:
        """The longest sequence of the batch."""
        return max(self.max_prefill_seq_len, self.max_decode_seq_len)


@dataclass(frozen=True, slots=True)
class _Span:
    """One sequence's part of the batch."""

    seq_id: int
    is_prompt: bool
    table: Sequence[int]
    tokens: list[int]
    context_len: int
    seq_len: int


def build_attention_metadata(
    groups: Iterable[ScheduledGroup], block_size: int, sliding_window: int | None = None
) -> AttentionMetadata:
    """The batch of a step, from the first value returned by ``Scheduler.schedule()``.

    It omits tokens in leading blocks that are already computed, but never a sequence's last token.
    With a ``sliding_window``, nothing is omitted.

    Give a ``sliding_window`` only for kernels that have a prompt's own keys at hand: then the keys
    that no later step sees are not written (:func:`pagesim.cache.prompt_slots`). A kernel that
    reads them from the cache, as ``kernels.paged_prefill`` does, must find them there.

    UsageError for a prefill after a decode, or a block table that is missing or too short.
    """
    check_int("block_size", block_size, 1)
    spans: list[_Span] = []
    for group in groups:
        if group.is_prompt and spans and not spans[-1].is_prompt:
            raise UsageError(f"group {group.request_id!r} prefills: it must come before decodes")
        skips = sliding_window is None
        cached = len(group.computed_block_nums or ()) * block_size if skips else 0
        for seq_id in group.seq_data:
            spans.append(_span(group, seq_id, cached, block_size))

    slots = [
        prompt_slots(s.table, s.context_len, s.seq_len, block_size, sliding_window=sliding_window)
        if s.is_prompt
        else slots_of(s.table, range(s.context_len, s.seq_len), block_size)
        for s in spans
    ]
    query_lens = [s.seq_len - s.context_len for s in spans]
    positions = [i for s in spans for i in range(s.context_len, s.seq_len)]
    num_prefill_tokens = sum(n for n, s in zip(query_lens, spans, strict=True) if s.is_prompt)
    return AttentionMetadata(
        seq_ids=[s.seq_id for s in spans],
        input_tokens=np.array([t for s in spans for t in s.tokens], dtype=np.int64),
        input_positions=np.array(positions, dtype=np.int64),
        slot_mapping=np.concatenate([np.zeros(0, dtype=np.int64), *slots]),
        block_tables=pad_block_tables([s.table for s in spans]),
        query_start_loc=np.cumsum([0, *query_lens], dtype=np.int32),
        context_lens=np.array([s.context_len for s in spans], dtype=np.int32),
        seq_lens=np.array([s.seq_len for s in spans], dtype=np.int32),
        num_prefills=sum(s.is_prompt for s in spans),
        num_prefill_tokens=num_prefill_tokens,
        num_decode_tokens=sum(query_lens) - num_prefill_tokens,
        max_query_len=max(query_lens, default=0),
        max_prefill_seq_len=max((s.seq_len for s in spans if s.is_prompt), default=0),
        max_decode_seq_len=max((s.seq_len for s in spans if not s.is_prompt), default=0),
    )


def _span(group: ScheduledGroup, seq_id: int, cached: int, block_size: int) -> _Span:
    data, table = group.seq_data[seq_id], group.block_tables.get(seq_id, ())
    context_len = data.get_num_computed_tokens()
    seq_len = min(data.get_len(), context_len + group.token_chunk_size)
    if len(table) * block_size < seq_len:
        raise UsageError(
            f"group {group.request_id!r}: sequence {seq_id} has {len(table)} blocks of "
            f"{block_size} slots, too few for its {seq_len} tokens"
        )
    context_len = max(context_len, min(cached, seq_len - 1))
    tokens = data.token_ids[context_len:seq_len]
    return _Span(seq_id, group.is_prompt, table, tokens, context_len, seq_len)
