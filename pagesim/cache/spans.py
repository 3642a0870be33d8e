"""A batch before it is arrays: what each sequence computes in a step, and where its rows are.

Nothing here needs NumPy; `attention_metadata` makes the arrays.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from pagesim.journal.effects import Name


@dataclass(frozen=True, slots=True)
class Span:
    """One sequence's part of a batch."""

    seq_id: Name
    is_prompt: bool
    table: Sequence[int]
    tokens: list[int]
    context_len: int
    seq_len: int
    samples: bool


def prefills_first(spans: Iterable[Sequence[Span]]) -> list[Sequence[Span]]:
    """The sequences of a batch in its order; each has a span in every group of layers."""
    return sorted(spans, key=lambda its: not its[0].is_prompt)


def sample_rows(spans: Sequence[Span]) -> list[int]:
    """The rows of a batch after which a token is sampled: the last of each span that samples."""
    ends = accumulate(span.seq_len - span.context_len for span in spans)
    return [end - 1 for end, span in zip(ends, spans, strict=True) if span.samples]
