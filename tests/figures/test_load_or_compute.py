"""A panel for each model: the line of computing, those of loading, and where they meet."""

import pytest

from pagesim.errors import UsageError
from pagesim.figures import load_or_compute, style
from pagesim.studies.crossover import LoadOrCompute
from tests.figures.charts import shown


def both(model: str) -> list[LoadOrCompute]:
    return [LoadOrCompute.of(model, link=link) for link in ("pcie4", "pcie5")]


def test_the_dots_lie_on_the_lines_at_the_crossovers() -> None:
    links = both("llama-2-7b")
    lines = load_or_compute({"a model": links}).axes[0].lines
    compute, *loads = [line for line in lines if line.get_linewidth() == 2]
    dots = [line for line in lines if line.get_marker() == "o"]
    left, right = compute.get_xdata()[0], compute.get_xdata()[-1]
    for place, (one, load, dot) in enumerate(zip(links, loads, dots, strict=True), 1):
        assert load.get_color() == dot.get_color() == style.color_of(place)
        (x,), (y,) = dot.get_data()
        assert (x - left) / (right - left) == pytest.approx(one.crossover() / 4_096)
        for line in (load, compute):
            xs, ys = line.get_data()
            at = max(i for i, each in enumerate(xs) if each <= x)
            share = (x - xs[at]) / (xs[at + 1] - xs[at])
            between = ys[at] + share * (ys[at + 1] - ys[at])
            assert y == pytest.approx(between, abs=0.2)


def test_words_name_models_links_and_crossovers() -> None:
    figure = load_or_compute({"mine": both("llama-3.1-8b")}, notes=["Made up."])
    assert {"mine", "compute", "pcie4", "pcie5", "Made up."} <= set(shown(figure))
    for one in both("llama-3.1-8b"):
        assert f"{one.crossover():,.0f}" in figure.alt


def test_a_crossover_beyond_the_longest_prefix_has_no_dot() -> None:
    links = [LoadOrCompute.of("llama-2-7b", link="pcie3")]
    figure = load_or_compute({"mine": links}, longest=2_000)
    assert not [line for line in figure.axes[0].lines if line.get_marker() == "o"]


def test_what_is_no_comparison_is_refused() -> None:
    with pytest.raises(TypeError, match="load_or_compute cannot draw a list"):
        load_or_compute([1.0])
    with pytest.raises(TypeError, match="load_or_compute cannot draw a float"):
        load_or_compute({"mine": [1.0]})
    for source in ({}, {"mine": []}, dict.fromkeys("abcd", both("llama-2-7b"))):
        with pytest.raises(UsageError, match="1 to 3 models"):
            load_or_compute(source)
