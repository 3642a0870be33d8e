"""12.3: the rows of a batch that are sampled from."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from pagesim.cache import build_v1_metadata
from pagesim.exercises.ch11.one_step import scheduler_with
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.source import variant
from pagesim.timeline.record import record
from pagesim.timeline.run import Timeline

STATEMENT = """
A step computes many sequences at once. Their new tokens form one batch, sequence after sequence, a
row for each token, and the model computes a hidden state for every row. Only some of these become
logits. Write

```python
def rows_to_sample(sequences, chunk):
    return rows
```

* `sequences`: `(tokens, computed)` of each: how many tokens it has, how many of them are computed;
* `chunk`: the most tokens that one sequence computes in this step;
* `rows`: the rows of the batch that are sampled from, in order.

A sequence computes its missing tokens, from the first of them on, but no more than `chunk`. It
samples if and only if none is missing then, and it samples from its last token.

Example: `rows_to_sample([(9, 0), (3, 0), (8, 7)], 4)` is `[6, 7]`. The first computes 4 of its 9
tokens, rows 0 to 3, and samples nothing yet; the second has rows 4 to 6, the third row 7.
"""


def rows_to_sample(sequences: list[tuple[int, int]], chunk: int) -> list[int]:
    """The rows of the batch whose hidden state is sampled from."""
    ### BEGIN SOLUTION
    rows = []
    end = 0
    for tokens, computed in sequences:
        end += min(tokens - computed, chunk)
        if tokens - computed <= chunk:
            rows.append(end - 1)
    return rows
    ### END SOLUTION


def expected(sequences: list[tuple[int, int]], chunk: int) -> list[int]:
    """What the metadata of V1's step says."""
    scheduler = _scheduler(sequences, chunk)
    return [int(row) for row in build_v1_metadata(scheduler.schedule(), scheduler).sample_rows]


def _scheduler(sequences: list[tuple[int, int]], chunk: int) -> Any:
    running = [
        (f"s{i}", tokens, computed) for i, (tokens, computed) in enumerate(sequences) if computed
    ]
    waiting = [
        (f"s{i}", tokens, 0) for i, (tokens, computed) in enumerate(sequences) if not computed
    ]
    return scheduler_with(running, waiting, 1000, len(sequences), chunk)


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """Two sequences of each kind, then many; those with more than one new token stand first."""
    n = 5 if hidden else 4
    shown = [
        ([(n, n - 1), (n + 1, n)], 8, "two decode"),
        ([(n, n - 2), (n + 1, n)], 8, "the end of a prompt"),
        ([(n + 9, 2), (n + 1, n)], 4, "a prompt goes on"),
        ([(n + 9, 2), (n + 9, 5)], 4, "no sequence samples"),
        ([(9, 5), (n + 1, n)], 4, "just what is left"),
    ]
    for sequences, chunk, tag in shown:
        yield Case((sequences, chunk), tag=tag)
    for _ in range(40):
        chunk = rng.randint(2, 6)
        lacks = sorted(rng.choice((1, 1, rng.randint(1, 9))) for _ in range(rng.randint(2, 6)))
        done = [rng.randint(1, 9) for _ in lacks]
        many = [(a + b, a) for a, b in zip(done, lacks[::-1], strict=True)]
        yield Case((many, chunk), tag="many")


def why(case: Case, yours: Any, right: Any) -> str:
    sequences, chunk = case.args
    end = 0
    for number, (tokens, computed) in enumerate(sequences):
        rows = list(range(end, end + min(tokens - computed, chunk)))
        end += len(rows)
        mine, theirs = [r for r in rows if r in yours], [r for r in rows if r in right]
        if mine != theirs:
            left = tokens - computed - len(rows)
            last = (
                f"lacks {left} then" if left else f"is complete then, with its last row {rows[-1]}"
            )
            return f"Sequence {number} has the rows {rows[0]} to {rows[-1]}, and {last}."
    return "Each row is there once, in order."


def play(case: Case) -> Timeline:
    """The step."""
    scheduler = _scheduler(*case.args)
    with record(scheduler) as run:
        scheduler.schedule()
    return run.annotate(title="A ragged batch: how many rows each sequence has")


def case_of(sequences: list[tuple[int, int]], chunk: int) -> Case | None:
    lacks = bool(sequences) and all(0 < computed < tokens for tokens, computed in sequences)
    return Case((sequences, chunk)) if lacks and chunk > 0 else None


EXERCISE = Exercise(
    number="12.3",
    title="Rows to sample from",
    stars=1,
    statement=STATEMENT,
    reference=rows_to_sample,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "every_sequence": Wrong(
            variant(rows_to_sample, "if tokens - computed <= chunk:", "if True:"),
            "Every sequence gets a token in every step.",
            "a prompt goes on",
        ),
        "a_row_too_far": Wrong(
            variant(rows_to_sample, "end - 1", "end"),
            "The last row of a sequence is where the next one begins.",
            "two decode",
        ),
        "the_number_of_the_sequence": Wrong(
            lambda sequences, chunk: [
                i for i, (tokens, computed) in enumerate(sequences) if tokens - computed <= chunk
            ],
            "There is a row for each sequence.",
            "the end of a prompt",
        ),
        "first_row": Wrong(
            variant(
                rows_to_sample,
                "end += min(tokens - computed, chunk)\n        if tokens - computed <= chunk:\n"
                "            rows.append(end - 1)",
                "if tokens - computed <= chunk:\n            rows.append(end)\n"
                "        end += min(tokens - computed, chunk)",
            ),
            "A sequence samples from its first new token.",
            "the end of a prompt",
        ),
    },
    hints=(
        "How many rows does each sequence have? Where does the next one begin?",
        "Keep the end of the rows so far; a sequence adds min(tokens - computed, chunk) of them.",
        "It samples if tokens - computed <= chunk, and its last row is end - 1.",
    ),
    vllm=(
        "vllm/model_executor/sampling_metadata.py: SamplingMetadata.prepare",
        "vllm/worker/model_runner.py: ModelInputForGPUBuilder",
    ),
    play=play,
    case_of=case_of,
)
