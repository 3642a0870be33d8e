"""One step's batch as attention kernels take it: all tokens in a row, and where each belongs.

Prefills come before decodes, and the tokens of a sequence are adjacent. For example, a prompt of 5
tokens of which 2 are computed, the first 3 tokens of a longer one, and a 9th token that decodes:

    tokens             2  3  4 | 0  1  2 | 8          (their positions)
    query_start_loc    0         3         6   7
    context_lens       2         0         8          computed before
    seq_lens           5         3         9          seen by the last token, itself included
    sample_rows              2             6          the rows whose output is sampled from

It is one ragged batch: ``kernels.paged_prefill`` serves all of it, because a decode is a sequence
with one query. Kernels for decodes alone take the rows from ``num_prefill_tokens`` on.

Where layers have several kinds of memory (V1), each group of layers has tables and slots of its
own, all from one pool of blocks. The batch is then the first group's, and ``groups`` has one for
each group; they differ in nothing else.

:func:`pagesim.cache.build_attention_metadata` makes it from a step of V0, and
:func:`pagesim.cache.build_v1_metadata` from one of V1.

Source: vLLM 0.6.4.post1, ``FlashAttentionMetadataBuilder`` in
``vllm/attention/backends/flash_attn.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pagesim.cache.slot_mapping import pad_block_tables, prompt_slots, slots_of
from pagesim.cache.slots import PAD_SLOT_ID
from pagesim.cache.spans import Span, prefills_first, sample_rows
from pagesim.errors import UsageError
from pagesim.journal.effects import Name
from pagesim.sizing.kv_cache_spec import KVCacheSpec, MambaSpec, SlidingWindowSpec


@dataclass(frozen=True, slots=True, eq=False)
class AttentionMetadata:
    """A batch of T tokens of S sequences; the names of the fields are vLLM's."""

    seq_ids: list[Name]
    """[S]; in V1, ids of requests."""
    input_tokens: NDArray[np.int64]
    """[T], what the model computes in this step."""
    input_positions: NDArray[np.int64]
    """[T], each token's place in its sequence."""
    slot_mapping: NDArray[np.int64]
    """[T], where each token's key and value are written; -1: nowhere."""
    block_tables: NDArray[np.int32]
    """[S, longest table]; -1 fills it up, and stands for blocks behind a sliding window."""
    query_start_loc: NDArray[np.int32]
    """[S + 1]; the tokens of sequence i begin at ``query_start_loc[i]`` and end before the next."""
    context_lens: NDArray[np.int32]
    """[S], tokens with keys and values in the cache before the step."""
    seq_lens: NDArray[np.int32]
    """[S], the same after the step."""
    sample_rows: NDArray[np.int64]
    """[n], the tokens after which a new one is sampled, in batch order; of a sequence, its last.

    A chunk that does not complete its prompt has none. vLLM: ``selected_token_indices``.
    """
    num_prefills: int
    """The number of sequences that prefill; they come first."""
    num_prefill_tokens: int
    num_decode_tokens: int
    max_query_len: int
    """The most tokens of one sequence; like the next two, 0 for an empty batch."""
    max_prefill_seq_len: int
    max_decode_seq_len: int
    kv_cache_spec: KVCacheSpec | None = None
    """V1: what the group keeps of a block of tokens."""
    others: tuple["AttentionMetadata", ...] = ()
    """The same for the layers of every group but the first."""

    @property
    def groups(self) -> tuple["AttentionMetadata", ...]:
        """The batch for the layers of each group, in the order of the groups."""
        return self, *self.others

    @property
    def sliding_window(self) -> int | None:
        """The tokens whose keys and values are kept: see `tokens_kept`."""
        return tokens_kept(self.kv_cache_spec)

    @property
    def max_seq_len(self) -> int:
        """The length of the longest sequence in the batch."""
        return max(self.max_prefill_seq_len, self.max_decode_seq_len)

    @property
    def sample_ids(self) -> list[Name]:
        """[n], the sequences that ``sample_rows`` belong to."""
        sequences = np.searchsorted(self.query_start_loc, self.sample_rows, side="right") - 1
        return [self.seq_ids[i] for i in sequences]

    def gather_tables(self) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Return tables that are safe to index with, and a mask of the entries that are blocks.

        Both are [S, longest table]. An index of -1 would silently name the last block of the cache,
        so here it is 0. Whatever is read there must be masked: the scores with -inf, and the values
        with 0, because 0 · NaN is NaN.
        """
        present = self.block_tables >= 0
        return np.where(present, self.block_tables, np.int32(0)), present


def assemble(
    spans: Sequence[Span],
    block_size: int,
    sliding_window: int | None = None,
    kv_cache_spec: KVCacheSpec | None = None,
) -> AttentionMetadata:
    """The batch of these sequences, prefills first; `prompt_slots` uses the ``sliding_window``."""
    query_lens = [s.seq_len - s.context_len for s in spans]
    starts = np.cumsum([0, *query_lens], dtype=np.int32)
    positions = [i for s in spans for i in range(s.context_len, s.seq_len)]
    num_prefill_tokens = sum(n for n, s in zip(query_lens, spans, strict=True) if s.is_prompt)
    return AttentionMetadata(
        seq_ids=[s.seq_id for s in spans],
        input_tokens=np.array([t for s in spans for t in s.tokens], dtype=np.int64),
        input_positions=np.array(positions, dtype=np.int64),
        slot_mapping=_slot_mapping(spans, block_size, sliding_window),
        block_tables=pad_block_tables([s.table for s in spans]),
        query_start_loc=starts,
        context_lens=np.array([s.context_len for s in spans], dtype=np.int32),
        seq_lens=np.array([s.seq_len for s in spans], dtype=np.int32),
        sample_rows=np.array(sample_rows(spans), dtype=np.int64),
        num_prefills=sum(s.is_prompt for s in spans),
        num_prefill_tokens=num_prefill_tokens,
        num_decode_tokens=sum(query_lens) - num_prefill_tokens,
        max_query_len=max(query_lens, default=0),
        max_prefill_seq_len=max((s.seq_len for s in spans if s.is_prompt), default=0),
        max_decode_seq_len=max((s.seq_len for s in spans if not s.is_prompt), default=0),
        kv_cache_spec=kv_cache_spec,
    )


def tokens_kept(spec: KVCacheSpec | None) -> int | None:
    """How many tokens of a sequence a group keeps keys of: 0 = all, None = it keeps states."""
    if isinstance(spec, MambaSpec):
        return None
    return spec.sliding_window if isinstance(spec, SlidingWindowSpec) else 0


def assemble_groups(
    spans: Sequence[Sequence[Span]], specs: Sequence[KVCacheSpec]
) -> AttentionMetadata:
    """The batch of sequences that have a span, and so a table, in each of these groups."""
    if not specs:
        raise UsageError("the cache has no groups, so there is nothing to read or write")
    groups = list(zip(*prefills_first(spans), strict=True)) or [()] * len(specs)
    first = assemble(groups[0], specs[0].block_size, kv_cache_spec=specs[0])
    others = [
        replace(
            first,
            slot_mapping=_slot_mapping(its, spec.block_size),
            block_tables=pad_block_tables([s.table for s in its]),
            kv_cache_spec=spec,
        )
        for its, spec in zip(groups[1:], specs[1:], strict=True)
    ]
    return replace(first, others=tuple(others)) if others else first


def _slot_mapping(
    spans: Sequence[Span], block_size: int, sliding_window: int | None = None
) -> NDArray[np.int64]:
    """Where each token goes; nowhere if its entry of the table is -1, as beside a state."""
    slots = [
        prompt_slots(s.table, s.context_len, s.seq_len, block_size, sliding_window=sliding_window)
        if s.is_prompt
        else slots_of(s.table, range(s.context_len, s.seq_len), block_size)
        for s in spans
    ]
    mapping = np.concatenate([np.zeros(0, dtype=np.int64), *slots])
    np.maximum(mapping, PAD_SLOT_ID, out=mapping)
    return mapping
