"""Config files of every family, read; presets, found; and files that are refused by key and value.

The files in tests/data/configs are hand-made: the keys that matter, as the published ones write
them.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

import pagesim
from pagesim.sizing.hf_config import MAX_BYTES, parse_config
from pagesim.sizing.model import PRESETS, ModelSpec
from pagesim.sizing.v1 import size_v1

CONFIGS = Path(__file__).parents[1] / "data" / "configs"
LLAMA = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "torch_dtype": "bfloat16",
}


def config(name: str) -> ModelSpec:
    return ModelSpec.from_config(CONFIGS / f"{name}.json")


@pytest.mark.parametrize(
    ("file", "preset"),
    [
        ("qwen2", "qwen2-1.5b"),
        ("qwen3", "qwen3-0.6b"),
        ("mistral", "mistral-7b"),
        ("gemma2", "gemma-2-9b"),
        ("deepseek_v3", "deepseek-v3"),
        ("opt", "opt-13b"),
        ("llama4", "llama-4-scout"),
        ("qwen3_next", "qwen3-next-80b"),
        ("qwen3_5", "qwen3.5-9b"),
        ("jamba", "jamba-v0.1"),
        ("nemotron_h", "nemotron-h-8b"),
    ],
)
def test_a_config_says_what_the_preset_says(file: str, preset: str) -> None:
    read, known = config(file), ModelSpec.preset(preset)
    assert read == replace(known, name=file, source=f"{file}, config.json")


def test_presets_are_found_in_any_case_and_have_a_source() -> None:
    assert ModelSpec.preset("Qwen/Qwen2-1.5B") is PRESETS["qwen2-1.5b"]
    assert ModelSpec.preset(" OPT-175B ").num_layers == 96
    assert all(model.source and model.max_model_len for model in PRESETS.values())
    with pytest.raises(pagesim.UsageError, match=r"'llama-8b'; the nearest are .*llama-3.1-8b"):
        ModelSpec.preset("llama-8b")
    with pytest.raises(pagesim.UsageError, match=r"there are qwen2-1.5b, .*opt-175b"):
        ModelSpec.preset("%")


def test_presets(snapshot: SnapshotAssertion) -> None:
    """What a token takes, heads and their size; how many layers keep what; a state's bytes."""
    found = {
        name: f"token {model.kv_bytes_per_token}, heads {model.num_kv_heads} of {model.head_dim}, "
        f"full {model.num_attention_layers - len(model.sliding_layers)}, "
        f"windows {len(model.sliding_layers)} of {model.sliding_window}, "
        f"chunks {len(model.chunked_layers)} of {model.attention_chunk_size}, "
        f"states {len(model.state_layers)} of {model.state and model.state.state_bytes(1, 2, 2)}, "
        f"none {len(model.layers_without_cache)}"
        for name, model in PRESETS.items()
    }
    assert found == snapshot


def test_where_the_windows_of_presets_are() -> None:
    """gpt-oss begins with one and alternates; of six layers of Gemma 3 the last is full."""
    assert ModelSpec.preset("gpt-oss-20b").sliding_layers == tuple(range(0, 24, 2))
    assert ModelSpec.preset("gemma-2-9b").sliding_layers == tuple(range(0, 42, 2))
    gemma = ModelSpec.preset("gemma-3-4b")
    assert [i for i in range(34) if i not in gemma.sliding_layers] == [5, 11, 17, 23, 29]


def test_where_the_states_of_presets_are_and_what_their_ranks_hold() -> None:
    assert [i for i in range(32) if i not in ModelSpec.preset("jamba-v0.1").state_layers] == [
        *(4, 12, 20, 28)
    ]
    delta, grouped = (PRESETS[name].state for name in ("qwen3.5-9b", "nemotron-h-8b"))
    assert delta is not None and grouped is not None
    assert delta.state_bytes(2, 2, 4) == 2_146_304 // 2
    # 16 ranks share 8 groups of heads: each rank keeps a whole group.
    assert grouped.state_bytes(16, 2, 2) == (512 + 2 * 128) * 3 * 2 + 8 * 64 * 128 * 2
    for state, ranks, words in ((delta, 3, "does not divide the 16 heads"), (grouped, 32, "")):
        if words:
            with pytest.raises(pagesim.UsageError, match=words):
                state.state_bytes(ranks, 2, 2)
        else:
            assert state.state_bytes(ranks, 2, 2) < grouped.state_bytes(16, 2, 2)


def test_hybrid_layers_in_other_words() -> None:
    """A list of kinds says the same as a period, a pattern or an interval."""
    jamba = json.loads((CONFIGS / "jamba.json").read_text())
    kinds = ["attention" if i % 8 == 4 else "mamba" for i in range(32)]
    assert parse_config(jamba | {"layers_block_type": kinds}, "jamba", ModelSpec) == config("jamba")
    nemotron = json.loads((CONFIGS / "nemotron_h.json").read_text())
    letters = {"M": "mamba", "*": "attention", "-": "mlp"}
    kinds = [letters[letter] for letter in nemotron["hybrid_override_pattern"]]
    listed = parse_config(nemotron | {"layers_block_type": kinds}, "nemotron_h", ModelSpec)
    assert listed == config("nemotron_h")
    scout = json.loads((CONFIGS / "llama4.json").read_text())
    scout["text_config"]["no_rope_layers"] = ([1] * 3 + [0]) * 12
    assert parse_config(scout, "llama4", ModelSpec) == config("llama4")
    scout["text_config"]["layer_types"] = (["chunked_attention"] * 3 + ["full_attention"]) * 12
    assert parse_config(scout, "llama4", ModelSpec) == config("llama4")
    scout["text_config"]["attention_chunk_size"] = None
    assert not parse_config(scout, "llama4", ModelSpec).chunked_layers


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        ("qwen3_next", {"linear_num_value_heads": None}, "linear_num_value_heads is missing"),
        (
            "qwen3_next",
            {"layer_types": ["full"] * 48},
            r"layer_types\[0\] must be full_attention or",
        ),
        ("qwen3_next", {"full_attention_interval": 49}, "no layer with attention"),
        ("qwen3_next", {"mamba_ssm_dtype": "fp8"}, "mamba_ssm_dtype must be one of float32"),
        ("qwen3_next", {"index_topk": 5}, "index_topk is 5: some layers"),
        ("jamba", {"attn_layer_offset": 8}, "attn_layer_offset must be a whole number from 1 to 7"),
        ("jamba", {"layers_block_type": ["mamba"]}, "layers_block_type must list all 32 layers"),
        ("jamba", {"layers_block_type": ["rnn"] * 32}, r"layers_block_type\[0\] must be one of"),
        ("nemotron_h", {"hybrid_override_pattern": "MX"}, "must have a letter of M,"),
        ("nemotron_h", {"hybrid_override_pattern": 5}, "must have a letter of M,"),
    ],
)
def test_hybrid_configs_refused(file: str, change: dict[str, Any], words: str) -> None:
    good = json.loads((CONFIGS / f"{file}.json").read_text())
    with pytest.raises(pagesim.UsageError, match=words):
        parse_config(good | change, "x", ModelSpec)


def test_layers_with_windows() -> None:
    assert config("qwen2").sliding_layers == ()  # a window is named, and switched off
    assert config("qwen2_windows").sliding_layers == (5, 6, 7)
    assert config("gemma2").sliding_layers == tuple(range(0, 42, 2))
    assert config("layer_types").sliding_layers == (0, 2)
    gemma3 = config("gemma3_multimodal")
    assert [i for i in range(34) if i not in gemma3.sliding_layers] == [5, 11, 17, 23, 29]
    assert gemma3.sliding_window == 1024
    assert config("mistral").sliding_layers == tuple(range(32))
    pattern = LLAMA | {"sliding_window": 64, "sliding_window_pattern": 4}
    assert len(parse_config(pattern, "x", ModelSpec).sliding_layers) == 24


def test_multi_modal_files_nest_the_language_model() -> None:
    """Google's file leaves out what transformers takes by default, and says the dtype outside."""
    model = config("gemma3_multimodal")
    assert (model.num_layers, model.num_heads) == (34, 8)
    assert (model.num_kv_heads, model.head_dim) == (4, 256)
    assert model.dtype == "bfloat16"
    assert model.max_model_len == 131_072


def test_other_names_for_the_same() -> None:
    gpt2, falcon = config("gpt2"), config("falcon")
    assert (gpt2.num_layers, gpt2.num_kv_heads, gpt2.head_dim) == (12, 12, 64)
    assert gpt2.max_model_len == 1024
    assert (falcon.num_heads, falcon.num_kv_heads, falcon.head_dim) == (71, 1, 64)
    deepseek = config("deepseek_v3")
    assert deepseek.is_mla and deepseek.latent_dim == 576
    with pytest.raises(pagesim.UsageError, match="keeps keys and values"):
        _ = gpt2.latent_dim


@pytest.mark.parametrize(
    ("written", "run_in"),
    [
        ({}, "float16"),
        ({"torch_dtype": "float32"}, "float16"),
        ({"dtype": "bfloat16"}, "bfloat16"),
        ({"torch_dtype": "torch.float16"}, "float16"),
        ({"torch_dtype": None}, "float16"),
    ],
)
def test_dtype_is_the_one_vllm_runs_it_in(written: dict[str, Any], run_in: str) -> None:
    base = {key: value for key, value in LLAMA.items() if key != "torch_dtype"}
    assert parse_config(base | written, "x", ModelSpec).dtype == run_in


def test_a_config_is_named_after_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "my-model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA))
    assert ModelSpec.from_config(folder / "config.json").name == "my-model"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"num_hidden_layers": None}, "num_hidden_layers is missing"),
        ({"num_hidden_layers": 0}, "num_hidden_layers must be a whole number from 1 to 4096"),
        ({"num_hidden_layers": 10**12}, "num_hidden_layers must be a whole number from 1 to 4096"),
        ({"num_attention_heads": 32.0}, "num_attention_heads must be a whole number.*32.0"),
        ({"num_attention_heads": True}, "num_attention_heads must be a whole number.*True"),
        ({"num_attention_heads": "32"}, "num_attention_heads must be a whole number.*'32'"),
        ({"num_key_value_heads": [8, 4]}, r"num_key_value_heads must be .*\[8, 4\]"),
        ({"num_key_value_heads": 5}, r"is 32, which is not a multiple of num_kv_heads \(5\)"),
        ({"hidden_size": 4095}, r"hidden_size \(4095\) is not divisible"),
        ({"hidden_size": None}, "hidden_size is missing"),
        ({"torch_dtype": "float8"}, "torch_dtype must be float32, float16 or bfloat16"),
        ({"torch_dtype": 16}, "torch_dtype must be float32, float16 or bfloat16, not 16"),
        ({"kv_lora_rank": 512}, "latent attention needs both"),
        ({"sliding_window": -1}, "sliding_window must be a whole number"),
        ({"sliding_window": 8, "use_sliding_window": 1}, "use_sliding_window must be true or"),
        ({"sliding_window": 8, "sliding_window_pattern": "LLG"}, "sliding_window_pattern must be"),
        ({"layer_types": ["full_attention"]}, "layer_types must list all 32 layers"),
        ({"layer_types": ["linear_attention"] * 32}, r"layer_types\[0\] must be full_attention or"),
        ({"layer_types": ["sliding_attention"] * 32}, "sliding_window is missing"),
        ({"layer_types": [{}] * 32}, r"layer_types\[0\] must be"),
        ({"is_encoder_decoder": True}, "only decoders"),
        ({"num_kv_shared_layers": 15}, "num_kv_shared_layers is 15"),
        ({"attn_layer_period": 8}, "attn_layer_period is 8: some layers"),
        ({"text_config": [1]}, "text_config must be a JSON object"),
        ({"max_position_embeddings": 0}, "max_position_embeddings must be"),
    ],
)
def test_refused_by_key_and_value(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(LLAMA | change))
    with pytest.raises(pagesim.UsageError, match=words) as refused:
        ModelSpec.from_config(file)
    assert str(refused.value).startswith(f"{file}: ")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"[1, 2]", "must be a JSON object"),
        (b"[" * 100_000, "not JSON"),
        (b'{"num_hidden_layers": ' + b"9" * 5_000 + b"}", "not JSON"),
        (b" " * (MAX_BYTES + 1), "so it is not a config.json"),
    ],
)
def test_what_is_no_config(content: bytes, words: str, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_bytes(content)
    with pytest.raises(pagesim.UsageError, match=words):
        ModelSpec.from_config(file)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 50) | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=4,
)
KEYS = [*LLAMA, "head_dim", "sliding_window", "use_sliding_window", "max_window_layers", "dtype"]
KEYS += ["sliding_window_pattern", "layer_types", "kv_lora_rank", "qk_rope_head_dim", "text_config"]


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])  # on a busy machine
@given(st.dictionaries(st.sampled_from(KEYS), VALUES))
def test_any_object_is_a_model_or_refused(change: dict[str, Any]) -> None:
    try:
        model = parse_config(LLAMA | change, "any", ModelSpec)
    except pagesim.UsageError:
        return
    assert model.kv_bytes_per_token > 0
    assert all(0 <= layer < model.num_layers for layer in model.sliding_layers)


HYBRID = {
    name: text.get("text_config", text)
    for name in ("llama4", "qwen3_next", "qwen3_5", "jamba", "nemotron_h")
    for text in [json.loads((CONFIGS / f"{name}.json").read_text("utf-8"))]
}
HYBRID_KEYS = sorted(
    {key for text in HYBRID.values() for key in text} - {"model_type"}
    | {"layer_types", "layers_block_type", "no_rope_layers", "no_rope_layer_interval"}
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])  # on a busy machine
@given(st.sampled_from(sorted(HYBRID)), st.dictionaries(st.sampled_from(HYBRID_KEYS), VALUES))
def test_any_hybrid_is_a_model_that_can_be_sized_or_refused(
    name: str, change: dict[str, Any]
) -> None:
    try:
        model = parse_config(HYBRID[name] | change, "any", ModelSpec)
        size = size_v1(model, 2**50)
    except pagesim.UsageError:
        return
    layers = [name for group in size.groups for name in group.layer_names]
    assert len(layers) == len(set(layers)) == model.num_layers - len(model.layers_without_cache)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"num_layers": 0}, "num_layers must be at least 1"),
        ({"dtype": "int8"}, "dtype must be one of"),
        ({"sliding_layers": (1,)}, "without a sliding_window"),
        ({"sliding_layers": (2,), "sliding_window": 4}, "names layer 2, but the layers are 0 to 1"),
        (
            {"sliding_layers": (1,), "sliding_window": 4, "kv_lora_rank": 8, "qk_rope_head_dim": 8},
            "latent attention",
        ),
        ({"chunked_layers": (1,)}, "without an attention_chunk_size"),
        ({"state_layers": (1,)}, "without a state"),
        ({"layers_without_cache": (-1,)}, "layers_without_cache names layer -1"),
        ({"layers_without_cache": (0, 1)}, "x has no layer with attention"),
        ({"layers_without_cache": (0, 0)}, "a layer is named twice"),
        ({"state_dtype": "fp8"}, "state_dtype must be one of"),
        ({"attention_chunk_size": 0}, "attention_chunk_size must be at least 1"),
    ],
)
def test_a_spec_checks_itself(fields: dict[str, Any], words: str) -> None:
    good = {"name": "x", "num_layers": 2, "num_heads": 4, "num_kv_heads": 2, "head_dim": 8}
    with pytest.raises(pagesim.UsageError, match=words):
        ModelSpec(**good | fields)
