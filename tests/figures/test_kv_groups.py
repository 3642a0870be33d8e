"""A row is a block, a cell a page: as many as there are layers, as wide as their bytes."""

from collections import Counter
from dataclasses import replace

import pytest

from pagesim import figures
from pagesim.errors import UsageError
from pagesim.figures.charts.kv_groups import KINDS, LOST, MOST_ROWS, SLIVER
from pagesim.sizing import CacheSize, ModelSpec, size_v1
from tests.figures.charts import fill, rectangles, shown

pytestmark = pytest.mark.ch08


def size(name: str, **flags: bool) -> CacheSize:
    return size_v1(ModelSpec.preset(name), 20 * 2**30, max_model_len=32_768, **flags)


def fills(model: str, **flags: bool) -> Counter[str]:
    """How often each colour occurs, without the legend."""
    found = Counter(map(fill, rectangles(figures.kv_groups(size(model, **flags)))))
    legend = {color for _, color in KINDS.values()} | {LOST.color}
    return Counter({color: found[color] - 1 for color in legend if found[color] > 1})


def test_each_layer_is_a_page_and_each_empty_place_is_hatched() -> None:
    """Gemma 3 27B: 52 layers with a window and 10 without, and 8 of 70 places empty."""
    window, full = KINDS["window"][1], KINDS["full"][1]
    assert fills("gemma-3-27b") == {window: 52, full: 10, LOST.color: 8}
    drawn = rectangles(figures.kv_groups(size("gemma-3-27b")))
    hatched = [one for one in drawn if one.get_hatch() == LOST.hatch]
    assert len({round(one.get_width(), 6) for one in hatched[1:]}) == 1
    words = shown(figures.kv_groups(size("gemma-3-27b")))
    assert {str(layer) for layer in range(62)} <= set(words)
    assert Counter(word for word in words if word.endswith("blocks")) == {
        "321 blocks": 6,
        "2,048 blocks": 1,
    }


def test_a_padded_page_is_named_and_hardly_visible() -> None:
    """A state fills 99 % of its page. In mode "none" a sequence has one."""
    assert fills("qwen3.5-9b") == {
        KINDS["states"][1]: 24,
        KINDS["full"][1]: 8,
        LOST.color: 24,
    }
    picture = figures.kv_groups(size("qwen3.5-9b", enable_prefix_caching=False))
    lost = [one.get_width() for one in rectangles(picture) if fill(one) == LOST.color]
    assert lost[1:] == pytest.approx([SLIVER] * 24)
    words = shown(picture)
    assert words.count("1 block") == 3 and words.count("one for a sequence") == 3
    assert any("16,384 of 2,162,688 bytes" in word for word in words)


def test_a_group_of_all_layers_has_no_waste() -> None:
    assert fills("llama-3.1-70b") == {KINDS["full"][1]: 80}
    assert fills("llama-4-scout") == {KINDS["chunks"][1]: 36, KINDS["full"][1]: 12}
    assert fills("gpt-oss-20b", disable_hybrid_kv_cache_manager=True) == {KINDS["full"][1]: 24}
    unknown = replace(size("llama-3.1-70b"), max_model_len=None)
    assert not any("token" in word for word in shown(figures.kv_groups(unknown)) if "for" in word)


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(TypeError, match="kv_groups"):
        figures.kv_groups("gemma-3-27b")
    few = size("gemma-3-27b")
    many = replace(few.high, kv_cache_groups=few.high.kv_cache_groups * MOST_ROWS)
    with pytest.raises(UsageError, match="280 groups"):
        figures.kv_groups(replace(few, high=many))
