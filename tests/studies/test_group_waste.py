"""What uniform pages waste: by formula, by the tables of the engine, and as published."""

import pytest

from pagesim import v1
from pagesim.studies import group_waste
from pagesim.studies.group_waste import (
    FULL,
    GEMMA_2,
    GEMMA_3,
    LOGGED,
    MINISTRAL,
    PUBLISHED,
    UNIFORM,
    blocks_held,
    concurrency,
    cross_attention,
    figure,
    gemma_3,
    report,
)


def test_what_the_preprint_says_comes_out() -> None:
    assert round(cross_attention(), 1) == PUBLISHED["Llama 3.2 Vision"]
    # A window may begin inside a block: a block more than the formula.
    assert GEMMA_2.waste(8_192) == pytest.approx(PUBLISHED["Gemma 2"], abs=0.1)
    assert MINISTRAL.waste(131_072) == pytest.approx(PUBLISHED["Ministral"], abs=0.1)


def test_gemma_3_is_the_formula_and_nearest_at_the_median() -> None:
    assert GEMMA_3.waste(8_770) == pytest.approx(100 * 5 / 6 * (1 - 1024 / 8_770), abs=0.2)
    assert GEMMA_3.waste(8_770) == pytest.approx(PUBLISHED["Gemma 3"], abs=0.2)
    assert GEMMA_3.waste(500) == 0
    away = {name: abs(value - PUBLISHED["Gemma 3"]) for name, value in gemma_3().items()}
    assert min(away, key=away.__getitem__) == "Gemma 3, median"
    assert max(away.values()) < 11


@pytest.mark.parametrize("num_tokens", [1, 40, 63, 64, 65, 79, 80, 81, 200])
def test_the_blocks_are_those_of_the_engine_between_two_steps(num_tokens: int) -> None:
    window = v1.SlidingWindowSpec(16, sliding_window=64)
    manager = v1.KVCacheManager(100, groups=[FULL, window], enable_caching=False)
    request = v1.Request("a", list(range(num_tokens)))
    assert manager.allocate_slots(request, num_tokens) is not None
    manager.remove_skipped_blocks("a", num_tokens)
    full, kept = manager.get_block_ids("a")
    assert len(full) == blocks_held(FULL, num_tokens)
    assert len(kept) - kept.count(0) == blocks_held(window, num_tokens)


def test_the_sequences_that_fit_are_those_that_vllm_logs() -> None:
    for model, (logged, _) in LOGGED.items():
        assert concurrency(model) == pytest.approx(logged, abs=6e-4)
    for model, logged in UNIFORM.items():
        assert concurrency(model, uniform=True) == pytest.approx(logged, abs=6e-4)


def test_the_report_has_each_number_beside_the_published_one() -> None:
    found = figure()
    assert found.ours.keys() == found.published.keys()
    text = "\n".join(report())
    for row in (*found.ours.values(), *found.published.values()):
        assert f"{row['waste']:.1f}" in text
    assert "5.920" in text and "3.333" in text
    assert group_waste.SOURCE in text
