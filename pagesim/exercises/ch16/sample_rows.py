"""# 16.3 Rows to sample from ★

A step computes many sequences at once. Their new tokens form one batch, sequence after sequence,
with a row for each token, and the model computes a vector for every row, the hidden state. But only
some of these rows become logits. Write

```python
def rows_to_sample(sequences, chunk):
    return rows
```

* `sequences`: `(tokens, computed)` for each sequence: how many tokens it has, and how many of them
  are computed already;
* `chunk`: how many tokens of one sequence this step may compute;
* `rows`: the rows of the batch that are sampled from, in order.

A sequence computes its missing tokens, in order, but no more than `chunk` of them. If none is
missing after that, the sequence samples from the row of its last token. Otherwise it does not
sample.

Example: `rows_to_sample([(9, 0), (3, 0), (8, 7)], 4)` is `[6, 7]`. The first sequence computes 4 of
its 9 tokens, in rows 0 to 3, and does not sample yet. The second has rows 4 to 6, and the third has
row 7.

## Hints
1. How many rows does each sequence have? Where does the next one begin?
2. Keep track of where the rows so far end. Each sequence adds `min(tokens - computed, chunk)` rows.
3. A sequence samples if `tokens - computed <= chunk`. Its last row is `end - 1`.

## Wrong answers
* every_sequence (a prompt goes on): Every sequence gets a token in every step.
* a_row_too_far (two decode): The last row of a sequence is where the next one begins.
* the_number_of_the_sequence (the end of a prompt): There is one row for each sequence.
* first_row (the end of a prompt): A sequence samples from the row of its first new token.

## vLLM
* vllm/model_executor/sampling_metadata.py: SamplingMetadata.prepare
* vllm/worker/model_runner.py: ModelInputForGPUBuilder
"""

from pagesim.cache.spans import prefills_first, sample_rows
from pagesim.cache.spans_v1 import spans_of_step
from pagesim.exercises.ch10.one_step import recorded_step, scheduler_with
from pagesim.exercises.kit import Case, Cases, Random, Timeline

Sequences = list[tuple[int, int]]


def rows_to_sample(sequences: list[tuple[int, int]], chunk: int) -> list[int]:
    """The rows of the batch whose hidden state is sampled from."""
    ### BEGIN SOLUTION
    rows = []
    end = 0
    for tokens, computed in sequences:
        end += min(tokens - computed, chunk)
        if tokens - computed <= chunk:
            ### every_sequence: if True:
            rows.append(end - 1)
            ### a_row_too_far: rows.append(end)
            ### first_row: rows.append(end - min(tokens - computed, chunk))
    return rows
    ### the_number_of_the_sequence: lacks = [tokens - computed for tokens, computed in sequences]
    ### the_number_of_the_sequence: return [i for i, n in enumerate(lacks) if n <= chunk]
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Two sequences of each kind, then many; those with more than one new token stand first."""
    n = 5 if hidden else 4
    for sequences, chunk, tag in (
        ([(n, n - 1), (n + 1, n)], 8, "two decode"),
        ([(n, n - 2), (n + 1, n)], 8, "the end of a prompt"),
        ([(n + 9, 2), (n + 1, n)], 4, "a prompt goes on"),
        ([(n + 9, 2), (n + 9, 5)], 4, "no sequence samples"),
        ([(9, 5), (n + 1, n)], 4, "just what is left"),
    ):
        yield Case((sequences, chunk), tag=tag)
    for _ in range(40):
        chunk = rng.randint(2, 6)
        lacks = sorted(rng.choice((1, 1, rng.randint(1, 9))) for _ in range(rng.randint(2, 6)))
        done = [rng.randint(1, 9) for _ in lacks]
        many = [(a + b, a) for a, b in zip(done, lacks[::-1], strict=True)]
        yield Case((many, chunk), tag="many")


def valid(sequences: Sequences, chunk: int) -> bool:
    lacks = bool(sequences) and all(0 < computed < tokens for tokens, computed in sequences)
    return lacks and chunk > 0


def oracle(sequences: Sequences, chunk: int, *, record: bool = True) -> tuple[list[int], Timeline]:
    """What the batch of V1's step says: one group, so one span for each request."""
    running = [(f"s{number}", *sequence) for number, sequence in enumerate(sequences)]
    scheduler = scheduler_with(running, [], 1000, len(sequences), chunk)
    output, run = recorded_step(scheduler, "A ragged batch: how many rows each sequence has")
    spans = prefills_first(spans_of_step(output, scheduler))
    return sample_rows([span for [span] in spans]), run


def why(yours: list[int], right: list[int], sequences: Sequences, chunk: int) -> str:
    end = 0
    for number, (tokens, computed) in enumerate(sequences):
        rows = range(end, end + min(tokens - computed, chunk))
        end = rows.stop
        if [row for row in rows if row in yours] != [row for row in rows if row in right]:
            left = tokens - computed - len(rows)
            last = f"nothing is missing any more, so it samples from row {rows[-1]}"
            if left:
                last = f"{left} of its tokens are still missing, so it does not sample"
            return f"Sequence {number} has the rows {rows[0]} to {rows[-1]}. After them, {last}."
    return "Return each row once, in order."
