"""3.4: a sliding window in one line of the kernel."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from pagesim.exercises.ch03 import decoding
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.source import cell, variant
from pagesim.exercises.stage import placed_together
from pagesim.timeline.run import Timeline


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """A window longer than the sequence, then one that ends in the middle of a page."""
    b = 8 if hidden else 4
    *table, other = rng.sample(range(8), 4) if hidden else [5, 0, 3, 7]
    yield _case([table[:1]], [2], b, b, "a window longer than the sequence")
    yield _case([table[:1]], [b - 1], b, 2, "an expired token in the page")
    yield _case([table[:2]], [b + 2], b, b, "an expired token in the page")
    yield _case([table[:2]], [2 * b], b, 1, "a window of one")
    yield _case([table, [other]], [2 * b + 1, 2], b, b + 1, "two sequences")


def _case(
    tables: list[list[int]], lengths: list[int], block_size: int, window: int, tag: str
) -> Case:
    told = f"window {window}, tables {tables}, lengths {lengths}, blocks of {block_size} slots"
    return Case((tables, lengths, block_size, window), told, tag)


def call(function: Callable[..., Any], case: Case) -> Any:
    """Launch the student's kernel, which takes the window behind the scale."""
    return decoding.answer(function, case.args, case.args[3])


def why(case: Case, yours: Any, right: Any) -> str:
    """Who read an expired token, or which one is missing."""
    _, lengths, _, window = case.args
    seq = decoding.first_wrong(yours, right)
    last = lengths[seq] - 1
    first = max(0, last - window + 1)
    rule = (
        f"The query of sequence {seq} is at position {last} and sees {window} keys, its own "
        f"included: positions {first} to {last}."
    )
    if yours["reads"] != decoding.FINE:
        return f"{rule} But {yours['reads']}."
    return f"{rule} Yours did not."


def play(case: Case) -> Timeline:
    """The sequences in their blocks."""
    return placed_together(*case.args[:3])


windowed_decode = cell(__file__, "windowed_decode", "windowed_decode")

_SEEN = "(position >= length - window)"

EXERCISE = Exercise(
    number="3.4",
    title="A sliding window",
    stars=2,
    statement="""\
Some models, Mistral 7B for one, let a query see the last `window` keys only, its own included. The
kernel of exercise 3.3 begins at the first page that has one of them; one line is missing in
`windowed_decode`: `seen`, a tile of `BLOCK` booleans that says which positions of this page the
query sees. The query is that of the sequence's last token, at position `length - 1`.

With a window of 2 and a length of 3, positions 1 and 2 are seen. `window` may be larger than the
sequence. Slots of older tokens are NaN, like those without a token: what is not seen must not even
be loaded.""",
    reference=windowed_decode,
    cases=cases,
    expected=decoding.right,
    why=why,
    mistakes={
        "the_query_not_counted": Wrong(
            variant(windowed_decode, _SEEN, "(position >= length - 1 - window)"),
            "A window of w shows the query w keys in addition to its own.",
            "an expired token in the page",
        ),
        "one_too_few": Wrong(
            variant(windowed_decode, _SEEN, "(position > length - window)"),
            "The oldest key of the window is just outside of it.",
            "an expired token in the page",
        ),
        "scores_masked_only": Wrong(
            variant(
                variant(
                    windowed_decode,
                    "tl.load(v_cache + at, mask=seen[:, None], other=0.0)",
                    "tl.load(v_cache + at, mask=(position < length)[:, None], other=0.0)",
                ),
                "tl.load(k_cache + at, mask=seen[:, None], other=0.0)",
                "tl.load(k_cache + at, mask=(position < length)[:, None], other=0.0)",
            ),
            "A score of -inf is enough to leave a key out.",
            "an expired token in the page",
        ),
        "only_the_window": Wrong(
            variant(windowed_decode, "(position < length) & ", ""),
            "What is within the window is a token.",
            "a window longer than the sequence",
        ),
    },
    hints=(
        "The window has two ends. Which is the last position that the query sees, and which the "
        "first?",
        "The last position is length - 1. With a window of 2 the first is length - 2.",
        "seen = (position < length) & (position >= length - window). Comparisons of tiles are "
        "joined with &, each in brackets.",
    ),
    vllm=(
        "vllm/attention/backends/flash_attn.py: FlashAttentionImpl, its sliding_window",
        "vllm/attention/ops/prefix_prefill.py: _fwd_kernel, its SLIDING_WINDOW",
    ),
    play=play,
    same=decoding.same,
    call=call,
    seconds=30.0,
    needs_triton=True,
)
