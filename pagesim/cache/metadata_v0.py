"""The batch of a step of V0: its groups, and what they need not compute.

Source: vLLM 0.6.4.post1, ``ModelInputForGPUBuilder`` in ``vllm/worker/model_runner.py``.
"""

from collections.abc import Iterable

from pagesim.cache.attention_metadata import AttentionMetadata, assemble
from pagesim.cache.spans import Span
from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.v0.scheduler_outputs import SequenceGroupMetadata


def build_attention_metadata(
    groups: Iterable[SequenceGroupMetadata], block_size: int, sliding_window: int | None = None
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
    spans: list[Span] = []
    for group in groups:
        if group.is_prompt and spans and not spans[-1].is_prompt:
            raise UsageError(
                f"group {group.request_id!r} prefills, so it must come before the groups that "
                "decode"
            )
        skips = sliding_window is None
        cached = len(group.computed_block_nums or ()) * block_size if skips else 0
        for seq_id in group.seq_data:
            spans.append(_span(group, seq_id, cached, block_size))
    return assemble(spans, block_size, sliding_window)


def _span(group: SequenceGroupMetadata, seq_id: int, cached: int, block_size: int) -> Span:
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
    return Span(seq_id, group.is_prompt, table, tokens, context_len, seq_len, group.do_sample)
