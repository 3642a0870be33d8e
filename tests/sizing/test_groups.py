"""From layers to groups and blocks, as vLLM 0.33.0 planned 39 models; and what it refuses.

tests/data/v1_groups/sizing-cases.jsonl.gz was recorded from the release's own planner.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import pagesim
from pagesim import v1
from pagesim.sizing.block_sizes import resolve_kv_cache_block_sizes
from pagesim.sizing.enough_memory import NotEnoughMemoryError, check_enough_memory
from pagesim.sizing.kv_cache_config import get_kv_cache_config, get_kv_cache_configs
from pagesim.sizing.kv_cache_groups import get_kv_cache_groups, padding_of
from pagesim.sizing.kv_cache_spec import (
    ChunkedLocalAttentionSpec,
    FullAttentionSpec,
    KVCacheSpec,
    MambaSpec,
    MLAAttentionSpec,
    SlidingWindowSpec,
)
from pagesim.sizing.mamba_block_size import align_hybrid_block_size
from pagesim.sizing.plan import plan_kv_cache

pytestmark = pytest.mark.ch08

RECORDED = Path(__file__).parents[1] / "data" / "v1_groups" / "sizing-cases.jsonl.gz"
with gzip.open(RECORDED, "rt", encoding="utf-8") as opened:
    CASES = {case["name"]: case for case in map(json.loads, opened) if "name" in case}

FULL = FullAttentionSpec(16, 8, 128)
SMALL = FullAttentionSpec(16, 8, 96)
WINDOW = SlidingWindowSpec(16, 8, 128, sliding_window=128)
LONGER = SlidingWindowSpec(16, 8, 128, sliding_window=256)
LATENT = MLAAttentionSpec(16, 1, 576)
STATE = MambaSpec(32, 65_536, mamba_cache_mode="align")


def model(*kinds: tuple[KVCacheSpec, int]) -> dict[str, KVCacheSpec]:
    """So many layers of each kind, one kind after the other."""
    specs = [spec for spec, count in kinds for _ in range(count)]
    return {f"layers.{i}": spec for i, spec in enumerate(specs)}


@pytest.mark.parametrize("name", CASES)
def test_the_plan_is_the_one_of_the_release(name: str) -> None:
    case = CASES[name]
    assert json.loads(json.dumps(plan_kv_cache(case["in"]))) == case["out"]


def test_there_are_as_many_cases_as_were_recorded() -> None:
    assert len(CASES) == 39
    assert v1.plan_kv_cache is plan_kv_cache
    with pytest.raises(pagesim.UsageError, match="the case has no 'specs'"):
        plan_kv_cache({})
    with pytest.raises(TypeError, match="case must be an object"):
        plan_kv_cache([])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("counts", "sizes", "padding"),
    [
        ((20, 30), [20, 15, 15], [(10, "33.33")]),
        ((12, 13), [12, 13], [(1, "8.33")]),
        ((10, 52), [10, 9, 9, 9, 9, 8, 8], [(8, "15.38")]),
        ((11, 16), [11, 16], [(5, "45.45")]),
        ((11, 17), [11, 9, 8], [(5, "29.41")]),
    ],
)
def test_the_size_of_a_group(
    counts: tuple[int, int], sizes: list[int], padding: list[tuple[int, str]]
) -> None:
    """The rarest kind decides, unless the most frequent one has less than 1.5 times its layers."""
    groups = get_kv_cache_groups(model((FULL, counts[0]), (WINDOW, counts[1])))
    assert [len(group.layer_names) for group in groups] == sizes
    assert [(one.places, f"{one.percent:.2f}") for one in padding_of(groups)] == padding


@pytest.mark.parametrize(
    ("in_flight", "blocks", "concurrency"),
    [
        (2_048, 3_013, "6.80"),
        (4_096, 3_653, "5.61"),
        (16_384, 7_493, "2.73"),
        (32_768, 12_293, "1.67"),
    ],
)
def test_more_tokens_in_flight_fewer_sequences(
    in_flight: int, blocks: int, concurrency: str
) -> None:
    """Gemma 3 12B at 32,768 tokens: the windows reserve what is in flight."""
    window = SlidingWindowSpec(16, 8, 256, sliding_window=1_024)
    groups = get_kv_cache_groups(model((window, 40), (FullAttentionSpec(16, 8, 256), 8)))
    config = get_kv_cache_config(groups, 20_480)
    assert config.blocks_per_sequence(32_768, in_flight) == blocks
    assert f"{config.max_concurrency(32_768, in_flight):.2f}" == concurrency


def test_a_smaller_page_gets_more_tokens_or_padding() -> None:
    """Half as large: twice the tokens, and hits end there. Two thirds: the rest stays empty."""
    half = get_kv_cache_groups(model((FullAttentionSpec(16, 4, 128), 2), (WINDOW, 2)))
    assert [group.kv_cache_spec.block_size for group in half] == [32, 16]
    assert resolve_kv_cache_block_sizes(half) == (32, 16)
    assert resolve_kv_cache_block_sizes(half, prefix_match_unit=4) == (32, 4)
    assert resolve_kv_cache_block_sizes(half, enable_prefix_caching=False) == (32, 32)
    with pytest.raises(pagesim.UsageError, match=r"prefix_match_unit is 6.*\[16, 32\]: 16"):
        resolve_kv_cache_block_sizes(half, prefix_match_unit=6)
    padded = get_kv_cache_groups(model((SMALL, 2), (WINDOW, 2)))
    assert {group.kv_cache_spec.block_size for group in padded} == {16}
    assert {group.kv_cache_spec.page_size_bytes for group in padded} == {65_536}
    assert padded[0].kv_cache_spec.real_page_size_bytes == 49_152
    state = get_kv_cache_groups(model((FULL, 2), (MambaSpec(32, 10, mamba_cache_mode="align"), 2)))
    assert state[1].kv_cache_spec.block_size == 32
    assert state[1].kv_cache_spec.page_size_bytes == 65_536


def test_latent_pages_that_do_not_divide() -> None:
    """vLLM refuses, but for windows: then all layers are one group of full attention."""
    with pytest.raises(NotImplementedError, match=r"18,432 bytes, and the largest page 65,536"):
        get_kv_cache_groups(model((LATENT, 2), (MambaSpec(16, 65_536), 2)))
    (group,) = get_kv_cache_groups(model((LATENT, 2), (WINDOW, 2)))
    assert group.bytes_per_block == 2 * (18_432 + 65_536)
    assert {type(spec) for _, spec in group.layer_specs()} == {MLAAttentionSpec, FullAttentionSpec}


def test_without_the_hybrid_manager() -> None:
    """Windows and chunks become full attention and remember themselves; two cannot, nor a state."""
    (group,) = get_kv_cache_groups(
        model((WINDOW, 2), (FULL, 2)), disable_hybrid_kv_cache_manager=True
    )
    assert group.kv_cache_spec == FullAttentionSpec(16, 8, 128, sliding_window=128)
    chunks = ChunkedLocalAttentionSpec(16, 8, 128, attention_chunk_size=64)
    (group,) = get_kv_cache_groups(
        model((chunks, 2), (FULL, 2)), disable_hybrid_kv_cache_manager=True
    )
    assert group.kv_cache_spec == FullAttentionSpec(16, 8, 128, attention_chunk_size=64)
    (alone,) = get_kv_cache_groups(model((WINDOW, 2)), disable_hybrid_kv_cache_manager=True)
    assert alone.kv_cache_spec == WINDOW
    (sizes,) = get_kv_cache_groups(
        model((WINDOW, 1), (SMALL, 1)), disable_hybrid_kv_cache_manager=True
    )
    assert sizes.bytes_per_block == 65_536 + 49_152
    for other in (model((FULL, 1), (WINDOW, 1), (LONGER, 1)), model((FULL, 1), (STATE, 1))):
        with pytest.raises(pagesim.UsageError, match="disable_hybrid_kv_cache_manager is true"):
            get_kv_cache_groups(other, disable_hybrid_kv_cache_manager=True)


def test_a_group_of_different_pages_is_one_behind_the_other() -> None:
    """Each rank has its own layers of it, and a piece of memory for each of them."""
    stages = [model((FULL, 1), (SMALL, 1)), {"layers.2": FULL}]
    first, second = get_kv_cache_configs(stages, [10 * 114_688 + 5, 10**9])
    assert [config.num_blocks for config in (first, second)] == [10, 10]
    assert [config.bytes_per_block for config in (first, second)] == [114_688, 65_536]
    assert [tensor.offset for tensor in first.strided_tensors] == [0, 655_360]
    assert [tensor.size for tensor in first.kv_cache_tensors] == [655_360, 491_520]


def test_a_rank_without_a_cache_limits_nobody() -> None:
    stages: list[dict[str, KVCacheSpec]] = [model((FULL, 1)), {}]
    assert [config.num_blocks for config in get_kv_cache_configs(stages, [65_536 * 7, 0])] == [7, 7]
    with pytest.raises(pagesim.UsageError, match="no layer of the model keeps anything"):
        get_kv_cache_groups({})


def test_when_a_sequence_does_not_fit_its_length_is_estimated() -> None:
    """The null block is not for sequences, so 7 blocks hold 6 of 16 tokens."""
    groups = get_kv_cache_groups(model((FULL, 1)))
    check_enough_memory(groups, 7, 96, 2_048)
    for tokens in (97, 1_000):
        with pytest.raises(NotEnoughMemoryError, match="estimated maximum length is 96") as found:
            check_enough_memory(groups, 7, tokens, 2_048)
        assert found.value.estimated_max_model_len == 96
    with pytest.raises(NotEnoughMemoryError, match="not even one token") as found:
        check_enough_memory(groups, 1, 10, 2_048)
    assert found.value.estimated_max_model_len == 0


def test_what_else_a_block_next_to_a_state_must_be() -> None:
    """With latent attention at least 128 tokens; with checkpoints a multiple of their distance."""
    assert align_hybrid_block_size(100, 64, mla=True).block_size == 128
    assert align_hybrid_block_size(10_000, 64, checkpoint_alignment=48).block_size == 192
    none = align_hybrid_block_size(10_000, 64, checkpoint_alignment=48, mamba_cache_mode="none")
    assert (none.block_size, none.mamba_block_size) == (160, None)
    assert align_hybrid_block_size(10, 64, block_size=64).block_size == 64
    assert "528" in align_hybrid_block_size(2_146_304, 4_096).why
    odd = align_hybrid_block_size(10_000, 64, block_size=24)
    assert odd.block_size == 176 and "24, rounded up for the kernel, is 176" in odd.why
    for wrong in (
        {"state_bytes": 0, "bytes_per_token": 1},
        {"state_bytes": 1, "bytes_per_token": 0},
    ):
        with pytest.raises(pagesim.UsageError, match="must be at least 1"):
            align_hybrid_block_size(**wrong)


def test_specs_check_themselves() -> None:
    bad: list[tuple[Any, str]] = [
        (lambda: SlidingWindowSpec(16, sliding_window=0), "sliding_window must be at least 1"),
        (lambda: ChunkedLocalAttentionSpec(16, attention_chunk_size=0), "attention_chunk_size"),
        (lambda: FullAttentionSpec(16, page_size_padded=0), "page_size_padded must be at least 1"),
    ]
    for make, words in bad:
        with pytest.raises(pagesim.UsageError, match=words):
            make()
