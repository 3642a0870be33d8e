"""Sizes that were published or logged, to the last byte; and what several GPUs and fp8 change."""

import math
from dataclasses import replace
from typing import Any

import pytest

import pagesim
from pagesim.sizing import ModelSpec
from pagesim.sizing.amount import ByteRange
from pagesim.sizing.enough_memory import NotEnoughMemoryError
from pagesim.sizing.fp8 import fp8_gain
from pagesim.sizing.kv_cache_spec import MambaSpec
from pagesim.sizing.ranks import kv_heads_per_rank
from pagesim.sizing.v0 import kv_cache_memory, size_v0
from pagesim.sizing.v1 import size_v1

QWEN2, LLAMA = ModelSpec.preset("qwen2-1.5b"), ModelSpec.preset("llama-3.1-8b")
GIB = 2**30


def test_qwen2_to_the_last_byte() -> None:
    """V1: 28 layers, 2 KV heads of 128 numbers in 16 bits, in 41,318,436,454 bytes."""
    size = size_v1(QWEN2, 41_318_436_454)
    assert size.page_bytes // 16 == 1_024
    assert size.bytes_per_token == 28_672
    assert size.page_bytes == 16_384
    assert size.num_gpu_blocks == (90_067, 90_067)
    assert size.tensor_bytes == (1_475_657_728, 1_475_657_728)
    assert len(size.high.kv_cache_tensors) == 28
    assert size.high.kv_cache_tensors[27].shared_by == ("layers.27",)
    assert size.tokens == (1_441_072, 1_441_072)
    assert size.usable_blocks == (90_066, 90_066)


def test_a_printed_amount_holds_the_exact_one() -> None:
    """The log prints those bytes as 38.48 GiB; 0.01 GiB are 23 blocks."""
    low, high = size_v1(QWEN2, "38.48GiB").num_gpu_blocks
    assert (low, high) == (90_053, 90_076)
    assert low <= 90_067 <= high
    assert round(41_318_436_454 / GIB, 2) == 38.48


def test_llama_on_an_rtx_3090() -> None:
    """V0 logged: 3.81 GiB, 1,952 GPU and 2,048 CPU blocks, 1.56x at 20,000 tokens."""
    size = size_v0(LLAMA, "3.81GiB")
    low, high = size.num_gpu_blocks
    assert (low, high) == (1_948, 1_953)
    assert low <= 1_952 <= high
    assert size.block_bytes == 2 * 2**20
    assert size.num_cpu_blocks(4) == 2_048
    logged = size_v0(LLAMA, 1_952 * size.block_bytes)
    assert f"{logged.max_concurrency(20_000):.2f}" == "1.56"
    assert f"{size.max_concurrency(20_000):.2f}" == "1.56"
    assert size.usable_blocks == size.num_gpu_blocks


def test_qwen3_on_an_a100() -> None:
    """V1 logged: 69.66 GiB, 652,144 tokens, 159.21x at 4,096 tokens."""
    size = size_v1(ModelSpec.preset("qwen3-0.6b"), "69.66GiB")
    assert size.tokens == (652_128, 652_208)
    assert size.tokens[0] <= 652_144 <= size.tokens[1]
    logged = size_v1(size.model, 652_144 // 16 * size.block_bytes)
    assert logged.tokens == (652_144, 652_144)
    assert f"{logged.max_concurrency(4_096):.2f}" == "159.21"
    assert f"{logged.high.max_concurrency_by_tokens(4_096):.2f}" == "159.21"


@pytest.mark.parametrize(
    ("name", "kib", "gib", "slots"),
    [("opt-13b", 800, 12, 15_728), ("opt-66b", 2_304, 21, 9_557), ("opt-175b", 4_608, 264, 60_074)],
)
def test_table_1_of_the_paper(name: str, kib: int, gib: int, slots: int) -> None:
    """PagedAttention paper: 15.7K, 9.7K (it computes to 9,557) and 60.1K slots."""
    model = ModelSpec.preset(name)
    assert model.kv_bytes_per_token == kib * 1024
    assert size_v0(model, gib * GIB, block_size=1).tokens == (slots, slots)


def test_v0_from_the_whole_card() -> None:
    kv = kv_cache_memory(ByteRange(24 * GIB, 24 * GIB), 0.9, ByteRange(17 * GIB, 17 * GIB))
    assert kv.exact
    assert kv.low == math.floor(24 * GIB * 0.9 - 17 * GIB)
    assert size_v0(LLAMA, kv).num_gpu_blocks == (2_355, 2_355)
    # The more is printed as used, the less is left: the ends cross.
    rough = kv_cache_memory(ByteRange(90, 110), 0.5, ByteRange(10, 20))
    assert (rough.low, rough.high) == (25, 45)
    none = kv_cache_memory(ByteRange(10, 10), 0.9, ByteRange(20, 20))
    assert (none.low, none.high) == (0, 0)


@pytest.mark.parametrize("share", [0, 1.01, math.nan, -0.5])
def test_a_utilization_that_is_none(share: float) -> None:
    with pytest.raises(pagesim.UsageError, match="gpu_memory_utilization"):
        kv_cache_memory(ByteRange(10, 10), share, ByteRange(0, 0))


def test_swap_space() -> None:
    size = size_v0(LLAMA, "1GiB")
    assert size.block_bytes == 2 * 2**20
    assert [size.num_cpu_blocks(gib) for gib in (0, 0.5, 4)] == [0, 256, 2048]
    for wrong in (-1, math.nan, math.inf):
        with pytest.raises(pagesim.UsageError, match="swap_space"):
            size.num_cpu_blocks(wrong)


def test_fp8_halves_the_bytes_and_doubles_the_blocks() -> None:
    whole = size_v1(QWEN2, 41_318_436_454)
    half = size_v1(QWEN2, 41_318_436_454, kv_cache_dtype="fp8")
    assert half.dtype == "fp8_e4m3"
    assert 2 * half.bytes_per_token == whole.bytes_per_token
    assert half.num_gpu_blocks[0] == 180_134
    assert size_v1(QWEN2, GIB, dtype="float").bytes_per_token == 2 * whole.bytes_per_token
    assert size_v1(QWEN2, GIB, dtype="float", kv_cache_dtype="fp8_e5m2").page_bytes == 8_192
    for flag, wrong in (("dtype", "int8"), ("kv_cache_dtype", "float16")):
        with pytest.raises(pagesim.UsageError, match=f"{flag} must be one of auto"):
            size_v1(QWEN2, GIB, **{flag: wrong})


def test_latent_attention_keeps_one_vector() -> None:
    """DeepSeek-V3: 512 + 64 numbers a token and layer, on every rank, whatever the heads."""
    model = ModelSpec.preset("deepseek-v3")
    for ranks in (1, 8, 128):
        for size_of in (size_v0, size_v1):
            size = size_of(model, 40 * GIB, tensor_parallel_size=ranks)
            assert size.page_bytes == 16 * 576 * 2
            assert size.bytes_per_token == model.kv_bytes_per_token == 61 * 576 * 2
    assert size_v1(model, GIB, kv_cache_dtype="fp8").page_bytes == 16 * 576
    # No head is dealt out, so none is left over.
    odd = replace(model, num_heads=24, num_kv_heads=6)
    assert kv_heads_per_rank(odd, 4) == 1


@pytest.mark.parametrize(("ranks", "heads"), [(1, 8), (2, 4), (8, 1), (16, 1), (32, 1)])
def test_tensor_parallel_deals_out_heads(ranks: int, heads: int) -> None:
    size = size_v1(LLAMA, GIB, tensor_parallel_size=ranks)
    assert size.page_bytes == 2 * 16 * heads * 128 * 2
    assert size.num_gpu_blocks[0] == GIB // (32 * size.page_bytes)


def test_heads_that_cannot_be_dealt_out() -> None:
    with pytest.raises(pagesim.UsageError, match="5, which does not divide the 12 attention heads"):
        size_v1(QWEN2, GIB, tensor_parallel_size=5)
    odd = ModelSpec("odd", 2, 24, 6, 64)
    for ranks in (4, 8):
        with pytest.raises(pagesim.UsageError, match=f"{ranks} and odd has 6 KV heads"):
            size_v1(odd, GIB, tensor_parallel_size=ranks)
    assert size_v1(odd, GIB, tensor_parallel_size=12).page_bytes == 2 * 16 * 64 * 2


def test_pipeline_parallel_is_as_small_as_its_fullest_rank() -> None:
    """61 layers on 8 GPUs: V1 deals out the rest (8 at most), V0 leaves it to the last (12)."""
    model = ModelSpec.preset("deepseek-v3")
    for size_of, layers in ((size_v1, 8), (size_v0, 12)):
        size = size_of(model, 40 * GIB, pipeline_parallel_size=8)
        assert size.num_layers == layers
        assert size.bytes_per_token == layers * 1_152
        assert size.num_gpu_blocks[0] == 40 * GIB // (layers * 18_432)
    with pytest.raises(pagesim.UsageError, match="pipeline_parallel_size is 62"):
        size_v1(model, GIB, pipeline_parallel_size=62)


def test_v0_divides_tokens_and_v1_whole_blocks() -> None:
    """100 tokens need 7 blocks of 16, though they fill only 6.25 of them."""
    memory = 70 * 458_752
    assert size_v0(QWEN2, memory).max_concurrency(100) == 11.2
    assert size_v1(QWEN2, memory).max_concurrency(100) == 10.0


def test_the_override_replaces_the_count() -> None:
    for size_of in (size_v0, size_v1):
        size = size_of(QWEN2, 0, num_gpu_blocks_override=100)
        assert size.num_gpu_blocks == (100, 100)
        assert size.tokens == (1_600, 1_600)
        with pytest.raises(pagesim.UsageError, match="num_gpu_blocks_override"):
            size_of(QWEN2, GIB, num_gpu_blocks_override=0)


def test_when_not_one_block_fits() -> None:
    message = r"memory is 458,751 bytes, but one block of qwen2-1.5b takes 458,752 \(16,384 in each"
    for size_of in (size_v0, size_v1):
        with pytest.raises(pagesim.UsageError, match=message):
            size_of(QWEN2, 458_751)
        assert size_of(QWEN2, 458_752).num_gpu_blocks == (1, 1)
        # It may fit, as far as the printed value tells.
        assert size_of(QWEN2, ByteRange(458_751, 458_752)).num_gpu_blocks == (0, 1)
        with pytest.raises(pagesim.UsageError, match="block_size must be at least 1"):
            size_of(QWEN2, GIB, block_size=0)
        with pytest.raises(TypeError, match="memory must be an int"):
            size_of(QWEN2, 1.5)  # type: ignore[arg-type]


def test_a_hybrid_model_holds_more_than_its_layers_suggest() -> None:
    """gpt-oss-20b: 12 full and 12 sliding layers make two groups that share 12 tensors."""
    size = size_v1(ModelSpec.preset("gpt-oss-20b"), "10GiB", block_size=16)
    assert len(size.high.kv_cache_groups) == 2 and len(size.high.kv_cache_tensors) == 12
    assert size.bytes_per_token == 49_152
    assert size.block_bytes == 12 * 16 * 2_048
    assert size.num_gpu_blocks == (27_306, 27_306)
    long, step = 131_072, 2_048
    # 127 tokens of the window, and those of two steps: the next is scheduled before one is done.
    assert size.max_concurrency(long, step) == pytest.approx(27_306 / (8_192 + 265))
    alone = size_v1(size.model, "10GiB", async_scheduling=False)
    assert alone.max_concurrency(long) == pytest.approx(27_306 / (8_192 + 137))
    whole = size_v1(size.model, "10GiB", disable_hybrid_kv_cache_manager=True)
    assert whole.max_concurrency(long) == pytest.approx(13_653 / 8_192)


@pytest.mark.parametrize(
    ("name", "flags", "block_bytes", "blocks", "per_sequence", "concurrency"),
    [
        ("gemma-3-27b", {}, 1_310_720, 16_384, 8_582, "1.909"),
        ("gemma-3-12b", {}, 1_048_576, 20_480, 7_493, "2.733"),
        ("gpt-oss-20b", {"max_model_len": 131_072}, 393_216, 54_613, 9_225, "5.920"),
        ("llama-4-scout", {}, 786_432, 27_306, 6_656, "4.102"),
        (
            "qwen3-next-80b",
            {"mamba_ssm_cache_dtype": "float32"},
            *(25_952_256, 827, 38, "21.763"),
        ),
        (
            "qwen3-next-80b",
            {"mamba_ssm_cache_dtype": "float32", "enable_prefix_caching": False},
            *(25_952_256, 827, 35, "23.629"),
        ),
        ("jamba-v0.1", {}, 1_310_720, 16_384, 424, "38.642"),
        ("jamba-v0.1", {"enable_prefix_caching": False}, 1_310_720, 16_384, 417, "39.290"),
    ],
)
def test_presets_have_the_sizes_that_were_recorded(
    name: str,
    flags: dict[str, Any],
    block_bytes: int,
    blocks: int,
    per_sequence: int,
    concurrency: str,
) -> None:
    """20 GiB, 32,768 tokens, 8,192 in a step: what the release's planner said of these models."""
    flags = {"max_model_len": 32_768} | flags
    size = size_v1(ModelSpec.preset(name), 20 * GIB, max_num_batched_tokens=8_192, **flags)
    assert (size.block_bytes, size.num_gpu_blocks[0]) == (block_bytes, blocks)
    length = flags["max_model_len"]
    assert size.high.blocks_per_sequence(length, size.max_in_flight_tokens) == per_sequence
    assert f"{size.max_concurrency(length):.3f}" == concurrency
    assert size.tokens[0] == int(blocks / per_sequence * length)


def test_a_block_beside_states() -> None:
    """The page of Qwen3.5's 528 tokens holds a state, also on two ranks; other flags change it."""
    model = ModelSpec.preset("qwen3.5-9b")
    size = size_v1(model, 20 * GIB)
    assert (size.block_size, size.page_bytes) == (528, 528 * 4_096)
    assert size.aligned is not None and size.aligned.state_bytes == 2_146_304
    assert f"{size.aligned.padding_percent:.2f}" == "0.76"
    assert size.bytes_per_token == model.kv_bytes_per_token == 32_768
    assert size_v1(model, 20 * GIB, tensor_parallel_size=2).block_size == 528
    assert size_v1(model, 20 * GIB, kv_cache_dtype="fp8").block_size == 1_056
    assert size_v1(model, 20 * GIB, block_size=512).block_size == 1_024
    assert size_v1(model, 20 * GIB, mamba_ssm_cache_dtype="bfloat16").block_size == 272
    other = ModelSpec.preset("qwen3-next-80b")
    assert size_v1(other, 20 * GIB).block_size == 544
    assert size_v1(other, 20 * GIB, dtype="float").page_bytes == 544 * 4_096
    for flags, words in (
        ({"mamba_cache_mode": "none"}, "prefix caching is on"),
        ({"mamba_cache_mode": "all"}, "mamba_cache_mode must be 'none', 'align' or None"),
        ({"mamba_ssm_cache_dtype": "fp8"}, "mamba_ssm_cache_dtype must be one of auto, float32"),
        ({"disable_hybrid_kv_cache_manager": True}, "of different types"),
        ({"max_num_batched_tokens": 0}, "max_num_batched_tokens must be at least 1"),
        ({"max_model_len": 0}, "max_model_len must be at least 1"),
    ):
        with pytest.raises(pagesim.UsageError, match=words):
            size_v1(model, 20 * GIB, **flags)
    with pytest.raises(TypeError, match="async_scheduling must be True or False"):
        size_v1(model, 20 * GIB, async_scheduling=1)  # type: ignore[arg-type]
    with pytest.raises(pagesim.UsageError, match="Size it for V1"):
        size_v0(model, 20 * GIB)


def test_what_an_fp8_cache_gains() -> None:
    """Twice the sequences, but not beside states: these stay as they are, and the blocks' bytes.

    vllm-project/vllm, issue 55196, computed 2.00, 1.84 (32k) and 1.00 (short) with the planner.
    """

    def gain(name: str, tokens: int) -> str:
        return f"{fp8_gain(ModelSpec.preset(name), 20 * GIB, tokens):.2f}"

    assert [gain("llama-3.1-8b", tokens) for tokens in (500, 32_768)] == ["2.00", "2.00"]
    assert [gain("gemma-3-12b", tokens) for tokens in (500, 32_768)] == ["2.00", "2.00"]
    assert [gain("qwen3.5-9b", tokens) for tokens in (500, 32_768)] == ["1.00", "1.82"]
    assert [gain("qwen3-next-80b", tokens) for tokens in (500, 32_768)] == ["1.01", "1.84"]


def test_the_longest_sequence() -> None:
    """Gemma 3 27B in 2 and in 4 GiB: refused with a length, which -1 takes."""
    model = ModelSpec.preset("gemma-3-27b")
    flags: dict[str, Any] = {"max_num_batched_tokens": 8_192}
    with pytest.raises(NotEnoughMemoryError, match="estimated maximum length is 3,728"):
        size_v1(model, 2 * GIB, max_model_len=131_072, **flags)
    assert size_v1(model, 2 * GIB, **flags).longest_sequence(131_072) == 3_728
    fitted = size_v1(model, 4 * GIB, max_model_len=-1, **flags)
    assert (fitted.max_model_len, fitted.tokens[0]) == (7_472, 7_474)
    with pytest.raises(NotEnoughMemoryError, match="not even one token"):
        size_v1(model, 4 * 1_310_720, max_model_len=-1, **flags)
    unknown = replace(model, max_model_len=None)
    assert size_v1(unknown, 2 * GIB).tokens[0] == 1_638 // 7 * 16
    with pytest.raises(pagesim.UsageError, match="max_model_len is -1"):
        size_v1(unknown, 2 * GIB, max_model_len=-1)


@pytest.mark.parametrize(("asked", "tokens"), [(None, 262_144), (-1, 262_144), (32_768, 32_768)])
def test_without_prefix_caching_a_state_is_a_sequences(asked: int | None, tokens: int) -> None:
    """A block of states is then as long as a sequence, not as a block of keys and values."""
    model = ModelSpec.preset("qwen3-next-80b")
    size = size_v1(model, "400GiB", max_model_len=asked, enable_prefix_caching=False)
    specs = [group.kv_cache_spec for group in size.high.kv_cache_groups]
    assert {spec.block_size for spec in specs if isinstance(spec, MambaSpec)} == {tokens}
