"""What a function of 3.1 and 3.2 is given lets it look as often as it may, and no more."""

import numpy as np
import pytest

from pagesim.exercises.ch03.looks import OneByOne, SecondLookError
from pagesim.exercises.ch03.one_page import one_page

SCORES = [3.0, 1.0, 2.0]


def test_scores_are_read_from_the_first_to_the_last() -> None:
    assert list(OneByOne(SCORES)) == SCORES and max(OneByOne(SCORES)) == 3.0
    assert np.array(OneByOne(SCORES)).tolist() == OneByOne(SCORES)[:] == SCORES
    scores = OneByOne(SCORES)
    assert [scores[i] + scores[i] for i in range(len(scores))] == [6.0, 2.0, 4.0]
    assert scores[-1] == 2.0


@pytest.mark.parametrize("again", [0, 1, -2, slice(1, 2)])
def test_no_score_can_be_had_behind_a_later_one(again: int | slice) -> None:
    scores = OneByOne(SCORES)
    assert scores[-1] == 2.0
    with pytest.raises(SecondLookError, match="after score 2"):
        scores[again]
    seen = OneByOne(SCORES)
    assert seen[:] == SCORES
    with pytest.raises(SecondLookError):
        max(seen)


def test_a_page_at_a_time_in_whatever_shape() -> None:
    cache = one_page(np.arange(24.0).reshape(3, 4, 2))
    assert cache[1].sum() == 92 and cache[2, :3].shape == (3, 2) and cache[0, 0, 1] == 1
    rows = cache.reshape(-1, 2)
    assert rows[[0, 5, 11, 3]].shape == (4, 2) and type(rows[0]) is np.ndarray
    for many in (lambda: cache[[0, 2]], lambda: cache[:2], lambda: rows[[0, 1, 2, 3, 4]]):
        with pytest.raises(SecondLookError, match="a block has 8"):
            many()
