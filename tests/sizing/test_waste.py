"""What groups waste, in words and as a share; and the lines that vLLM logs of it."""

import pytest

from pagesim.sizing import CacheSize, ModelSpec, size_v0, size_v1
from pagesim.sizing.kinds import kind_of, words_of
from pagesim.sizing.kv_cache_groups import get_kv_cache_groups
from pagesim.sizing.kv_cache_spec import (
    FullAttentionSpec,
    MLAAttentionSpec,
    SlidingWindowSpec,
    UniformTypeKVCacheSpecs,
)
from pagesim.sizing.log_lines import log_lines
from pagesim.sizing.waste import EMPTY, PADDED, counted, wasted

pytestmark = pytest.mark.ch08

GIB = 2**30


def size(name: str, length: int | None = 32_768) -> CacheSize:
    return size_v1(ModelSpec.preset(name), 20 * GIB, max_model_len=length)


def test_empty_places_and_padded_pages() -> None:
    """Gemma 3 27B leaves 8 of 70 places empty; a state of Qwen3.5 fills all but 0.76 %."""
    (empty,) = wasted(size("gemma-3-27b").high.kv_cache_groups)
    assert (empty.name, empty.share) == (EMPTY, 8 / 70)
    (padded,) = wasted(size("qwen3.5-9b").high.kv_cache_groups)
    assert (padded.name, padded.share) == (PADDED, 24 / 32 * 16_384 / 2_162_688)
    assert wasted(size("gpt-oss-20b").high.kv_cache_groups) == []
    assert wasted(size("llama-3.1-8b").high.kv_cache_groups) == []


def test_pages_of_three_to_two_lose_a_third() -> None:
    """With 6 and 4 KV heads: a third of the smaller pages, which are a quarter of all."""
    window = SlidingWindowSpec(16, 6, 128, sliding_window=1_024)
    full = FullAttentionSpec(16, 4, 128)
    specs = {f"layers.{i}": full if i % 4 == 3 else window for i in range(24)}
    (padded,) = wasted(get_kv_cache_groups(specs))
    assert padded.share == pytest.approx(1 / 4 / 3)


def test_kinds_in_words() -> None:
    assert [counted(n, "layer") for n in (1, 2)] == ["1 layer", "2 layers"]
    mixed = UniformTypeKVCacheSpecs(16, kv_cache_specs=(("a", FullAttentionSpec(16)),))
    for spec, kind, words in (
        (MLAAttentionSpec(16), "latent", "latent"),
        (mixed, "mixed", "several sizes"),
        (FullAttentionSpec(16, attention_chunk_size=64), "full", "64 tokens"),
        (FullAttentionSpec(16, sliding_window=32), "full", "32 tokens"),
    ):
        assert kind_of(spec) == kind and words in words_of(spec)


def test_the_log_of_a_start() -> None:
    """A rounded amount gives both ends; what stops the start is not logged; V0 logs otherwise."""
    padding, _ = log_lines(size("gemma-3-27b"))
    assert "8" in padding and "15.38%" in padding
    assert len(log_lines(size("qwen3.5-9b"))) == 3
    rounded = size_v1(ModelSpec.preset("qwen2-1.5b"), "38.48GiB", max_model_len=4_096)
    (line,) = log_lines(rounded)
    assert "1,440,848 to 1,441,216 tokens" in line and "351.77x to 351.86x" in line
    assert log_lines(size("llama-4-scout", None)) == []
    assert log_lines(size_v0(ModelSpec.preset("qwen2-1.5b"), GIB)) == []
