"""A kernel that reads what it should not: the verdict says which program, and whose slot."""

import pytest

from pagesim import exercises, kernels
from pagesim.exercises.launching import decode_batch

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
pytestmark = [
    pytest.mark.ch03,
    pytest.mark.skipif(
        kernels.backend.decide().mode != "interpreted", reason="only the interpreter is watched"
    ),
]


@pytest.mark.parametrize(
    ("number", "mistake", "why"),
    [
        ("3.3", "page_for_block", "sequence 0 read block 0, row 0, which holds no token"),
        (
            "3.3",
            "first_row_of_the_table",
            "sequence 1 read block 5, row 0, which holds a token of sequence 0",
        ),
        ("3.3", "one_row_too_many", "sequence 0 read block 5, row 1, which holds no token"),
        ("3.3", "acc_not_rescaled", "both ell and acc"),
        ("13.1", "the_query_not_counted", "positions 1 to 2. But the program of sequence 0 read"),
        ("13.1", "scores_masked_only", "whose token its query no longer sees"),
        ("13.1", "one_too_few", "read 1 of its 2 tokens"),
    ],
)
def test_a_verdict_says_who_read_what(number: str, mistake: str, why: str) -> None:
    exercise = exercises.get(number)
    assert why in exercise.check(exercise.wrong[mistake]).why


def test_all_slots_without_a_visible_token_are_nan() -> None:
    batch = decode_batch([[3, 1], [0]], [6, 2], 5, 4, windows=[3, 4])
    written = ~batch["k_cache"].isnan().any(dim=3)[:, :, 0]
    assert written.nonzero().tolist() == [[0, 0], [0, 1], [1, 0], [1, 1], [3, 3]]
    assert batch["block_tables"].tolist() == [[3, 1], [0, -1]]
    assert batch["seq_lens"].tolist() == [6, 2]
    found = kernels.paged_attention_v1(**batch, sliding_window=3)
    kernels.assert_matches_reference(found, **batch, sliding_window=3)
