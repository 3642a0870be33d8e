"""V1's groups, tensors and blocks, with the example that vLLM's own comments draw, and Gemma."""

from collections import Counter

import pytest

import pagesim
from pagesim.sizing import ModelSpec
from pagesim.sizing.kv_cache_config import (
    get_kv_cache_config,
    get_kv_cache_configs,
    num_blocks_for,
)
from pagesim.sizing.kv_cache_groups import KVCacheGroupSpec, get_kv_cache_groups
from pagesim.sizing.kv_cache_spec import (
    FullAttentionSpec,
    KVCacheSpec,
    MLAAttentionSpec,
    SlidingWindowSpec,
)
from pagesim.sizing.layer_specs import get_kv_cache_spec
from pagesim.sizing.ranks import layers_per_rank
from pagesim.sizing.v1 import size_v1

FULL = FullAttentionSpec(16, 2, 64, "bfloat16")
WINDOW = SlidingWindowSpec(16, 2, 64, "bfloat16", sliding_window=100)
PAGE = 8_192


def layers(pattern: str) -> dict[str, KVCacheSpec]:
    """Layers named f0, s1, … from a pattern like "fss"."""
    return {f"{kind}{i}": FULL if kind == "f" else WINDOW for i, kind in enumerate(pattern)}


def names(groups: list[KVCacheGroupSpec]) -> list[tuple[str, ...]]:
    return [group.layer_names for group in groups]


def test_pages() -> None:
    assert FULL.page_size_bytes == WINDOW.page_size_bytes == PAGE == 2 * 16 * 2 * 64 * 2
    assert MLAAttentionSpec(16, 1, 576, "bfloat16").page_size_bytes == 18_432
    assert FullAttentionSpec(16, 2, 64, "fp8_e5m2").page_size_bytes == PAGE // 2


def test_one_kind_is_one_group() -> None:
    groups = get_kv_cache_groups(layers("ffff"))
    assert names(groups) == [("f0", "f1", "f2", "f3")]
    config = get_kv_cache_config(groups, num_blocks_for(groups, 10 * 4 * PAGE + 4 * PAGE - 1))
    assert config.num_blocks == 10
    assert [t.shared_by for t in config.kv_cache_tensors] == [("f0",), ("f1",), ("f2",), ("f3",)]
    assert {t.size for t in config.kv_cache_tensors} == {10 * PAGE}
    assert config.num_tokens == 160
    assert config.usable_blocks == 9
    assert get_kv_cache_config(groups, 0).usable_blocks == 0


def test_hybrid_groups_share_tensors() -> None:
    """2 full and 3 sliding: three groups of two places, the last place of the last one empty."""
    groups = get_kv_cache_groups(layers("ffsss"))
    assert names(groups) == [("f0", "f1"), ("s2", "s4"), ("s3",)]
    config = get_kv_cache_config(groups, num_blocks_for(groups, 100 * PAGE))
    assert config.num_blocks == 50
    assert [t.shared_by for t in config.kv_cache_tensors] == [("f0", "s2", "s3"), ("f1", "s4")]
    assert config.num_tokens == 50 // 3 * 16


def test_ranks_of_a_pipeline_have_their_layers_of_the_whole_models_groups() -> None:
    """Dealt out in turn, so that each stage has a layer of every group (vLLM's comment)."""
    stages = [layers("fss"), {"f3": FULL, "s4": WINDOW, "s5": WINDOW}]
    first, second = get_kv_cache_configs(stages, [100 * PAGE, 90 * PAGE])
    assert names(list(first.kv_cache_groups)) == [("f0",), ("s1",), ("s2",)]
    assert names(list(second.kv_cache_groups)) == [("f3",), ("s4",), ("s5",)]
    assert first.num_blocks == second.num_blocks == 90
    assert [tensor.size for tensor in first.kv_cache_tensors] == [90 * PAGE]


def test_what_a_sequence_holds() -> None:
    config = get_kv_cache_config(get_kv_cache_groups(layers("fs")), 1_000)
    # 1,000 tokens: 63 blocks; window 100 and a step of 60: min(159, 1000) tokens in 10 blocks + 1.
    assert config.blocks_per_sequence(1_000, 60) == 63 + 11
    assert config.max_concurrency(1_000, 60) == 1_000 / 74
    # A step as long as the sequence: the window saves nothing, and may begin inside a block.
    assert config.blocks_per_sequence(1_000, 2_048) == 63 + 64
    with pytest.raises(pagesim.UsageError, match="max_model_len must be at least 1"):
        config.max_concurrency(0)


def test_gemma() -> None:
    """21 + 21 layers make two groups; 10 + 52 make seven, whose eight places stay empty."""
    two = size_v1(ModelSpec.preset("gemma-2-9b"), 20 * 2**30)
    assert [len(g.layer_names) for g in two.high.kv_cache_groups] == [21, 21]
    assert two.block_bytes == 21 * two.page_bytes == 21 * 131_072
    assert two.num_gpu_blocks[0] == 20 * 2**30 // (21 * 131_072) == 7_801
    assert two.bytes_per_token == 42 * 8_192
    assert two.high.blocks_per_sequence(8_192) == 512 + (4_095 + 2_048 + 15) // 16 + 1
    assert two.high.num_tokens == 7_801 // 2 * 16
    # Logged are the tokens of as many longest sequences as fit. Two steps are in flight.
    assert two.tokens[0] == int(7_801 / (512 + 512 + 1) * 8_192)
    seven = size_v1(ModelSpec.preset("gemma-3-27b"), 20 * 2**30)
    kinds = Counter(type(group.kv_cache_spec) for group in seven.high.kv_cache_groups)
    assert kinds == {FullAttentionSpec: 1, SlidingWindowSpec: 6}
    assert sum(len(group.layer_names) for group in seven.high.kv_cache_groups) == 62
    assert seven.num_gpu_blocks == (16_384, 16_384)
    assert seven.tokens[0] == int(16_384 / (8_192 + 6 * 321) * 131_072)


def test_a_window_in_every_layer_is_one_group() -> None:
    size = size_v1(ModelSpec.preset("mistral-7b"), 20 * 2**30)
    assert len(size.high.kv_cache_groups) == 1
    assert size.high.blocks_per_sequence(32_768) == (4_095 + 2_048 + 15) // 16 + 1


@pytest.mark.parametrize(
    ("engine", "count", "ranks", "sizes"),
    [
        ("v1", 28, 4, [7, 7, 7, 7]),
        ("v1", 61, 8, [7, 7, 8, 8, 8, 8, 8, 7]),
        ("v1", 7, 2, [4, 3]),
        ("v1", 11, 4, [3, 3, 3, 2]),
        ("v1", 9, 4, [2, 2, 3, 2]),
        ("v0", 61, 8, [7, 7, 7, 7, 7, 7, 7, 12]),
        ("v0", 7, 2, [3, 4]),
    ],
)
def test_layers_of_a_pipeline(engine: str, count: int, ranks: int, sizes: list[int]) -> None:
    stages = layers_per_rank(count, ranks, engine=engine)
    assert [len(stage) for stage in stages] == sizes
    assert [layer for stage in stages for layer in stage] == list(range(count))


def test_specs_of_a_model() -> None:
    model = ModelSpec.preset("gemma-2-9b")
    specs = get_kv_cache_spec(model, range(4), block_size=32, num_kv_heads=8, dtype="fp8_e4m3")
    kinds = [type(specs[f"layers.{i}"]) for i in range(4)]
    assert kinds == [SlidingWindowSpec, FullAttentionSpec] * 2
    assert specs["layers.0"].page_size_bytes == 2 * 32 * 8 * 256
