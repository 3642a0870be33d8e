"""What a draw leaves out, what it depends on, and which continuations a search takes."""

from collections import Counter
from typing import Any

import pytest
import torch

from pagesim.kernels.tiny_llm.sampling import SamplingParams, draw, extend

SHARES = torch.tensor([0.1, 0.5, 0.25, 0.15])
LOGITS = SHARES.log()


def drawn(params: SamplingParams, logits: torch.Tensor = LOGITS, count: int = 2000) -> Counter[int]:
    return Counter(draw(logits, params, 0, position) for position in range(count))


def test_tokens_come_as_often_as_their_probability_says() -> None:
    found = drawn(SamplingParams(temperature=1.0))
    for token, share in enumerate(SHARES.tolist()):
        assert found[token] / 2000 == pytest.approx(share, abs=0.03)


def test_temperature_sharpens_or_flattens() -> None:
    for temperature in (0.5, 4.0):
        share = float((LOGITS / temperature).softmax(-1)[1])
        found = drawn(SamplingParams(temperature=temperature))
        assert found[1] / 2000 == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize(
    ("keywords", "kept"),
    [
        ({"top_k": 2}, {1, 2}),
        ({"top_k": 1}, {1}),
        ({"top_k": 9}, {0, 1, 2, 3}),
        ({"top_p": 0.4}, {1}),
        ({"top_p": 0.6}, {1, 2}),  # 0.5 < 0.6: the token that crosses p stays
        ({"top_p": 0.8}, {1, 2, 3}),
        # After top_k the shares are 2/3 and 1/3: 0.6 is reached by the first.
        ({"top_k": 2, "top_p": 0.6}, {1}),
        # At temperature 0.5 the shares are 0.04, 0.72, 0.18, 0.06.
        ({"temperature": 0.5, "top_p": 0.7}, {1}),
    ],
)
def test_what_is_left_out(keywords: dict[str, Any], kept: set[int]) -> None:
    assert set(drawn(SamplingParams(**{"temperature": 1.0} | keywords), count=400)) == kept


def test_a_draw_depends_on_seed_sample_and_position_and_on_nothing_else() -> None:
    params = SamplingParams(temperature=1.0, seed=3)
    once = [draw(LOGITS, params, 1, position) for position in range(50)]
    assert once == [draw(LOGITS.clone(), params, 1, position) for position in range(50)]
    for other in (
        [draw(LOGITS, params, 2, position) for position in range(50)],
        [draw(LOGITS, params, 1, position + 50) for position in range(50)],
        [draw(LOGITS, SamplingParams(temperature=1.0, seed=4), 1, p) for p in range(50)],
    ):
        assert other != once


def test_the_best_continuations_of_all_beams() -> None:
    rows = torch.tensor([[0.6, 0.3, 0.1], [0.05, 0.15, 0.8]]).log()
    found = extend([-1.0, -0.5], rows, 3)
    assert [(beam, token) for _, beam, token in found] == [(1, 2), (0, 0), (0, 1)]
    assert found[0][0] == pytest.approx(-0.5 + float(torch.tensor(0.8).log()))
    tied = extend([0.0, 0.0], torch.zeros(2, 3), 4)
    assert [(beam, token) for _, beam, token in tied] == [(0, 0), (0, 1), (0, 2), (1, 0)]


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"max_tokens": 0}, "max_tokens = 0: it must be a whole number of at least 1"),
        ({"n": 1.5}, "n = 1.5: it must be a whole number"),
        ({"seed": -1}, "seed = -1"),
        ({"temperature": -0.1}, "temperature = -0.1: it must be at least 0, and finite"),
        ({"temperature": float("nan")}, "temperature = nan"),
        ({"top_p": 0.0}, "top_p = 0.0: it must be above 0 and at most 1"),
        ({"temperature": "1"}, "temperature = '1': it must be at least 0, and finite"),
        ({"temperature": True}, "temperature = True"),
        ({"top_p": None}, "top_p = None: it must be above 0"),
        ({"stop": 3}, r"stop = 3: it must be token ids, like \(3,\), or None"),
        ({"stop": ("a",)}, r"stop = \('a',\)"),
        ({"stop": (-1,)}, r"stop = \(-1,\)"),
        ({"beams": 2, "n": 2}, "a beam search draws nothing"),
        ({"beams": 2, "temperature": 1.0}, "a beam search draws nothing"),
    ],
)
def test_bad_fields_are_named(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SamplingParams(**keywords)


def test_an_answer_ends_at_a_stop_token_or_its_length() -> None:
    params = SamplingParams(max_tokens=3).with_stop((7,))
    assert [params.ends(tokens) for tokens in ([1], [1, 7], [1, 2, 3])] == [False, True, True]
    assert not SamplingParams(max_tokens=3, stop=()).with_stop((7,)).ends([7])
