"""config.json of each family: what is read, and what is refused because it would come out wrong."""

import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagesim.kernels.tiny_llm import CheckpointError, Config
from pagesim.kernels.tiny_llm.config import shapes
from pagesim.kernels.tiny_llm.config_json import FAMILIES, parse_config

EXAMPLES = int(os.environ.get("PAGESIM_LLM_EXAMPLES", "15"))
# The keys that every folder has, as transformers 4 and 5 write them.
GIVEN: dict[str, Any] = {
    "model_type": "llama",
    "num_hidden_layers": 1,
    "hidden_size": 8,
    "intermediate_size": 4,
    "num_attention_heads": 2,
    "vocab_size": 6,
}
SCALING = {
    "factor": 8.0,
    "low_freq_factor": 1,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}


def test_what_is_absent_or_null_is_the_family_s_default() -> None:
    llama = parse_config({**GIVEN, "head_dim": None, "rope_scaling": None, "eos_token_id": None})
    assert llama == Config("llama", 1, 8, 4, 2, 2, 4, 6)
    biases = {"attention_bias": True, "mlp_bias": True}
    qwen2 = parse_config({**GIVEN, "model_type": "qwen2", **biases})
    assert (qwen2.attention_bias, qwen2.output_bias, qwen2.mlp_bias) == (True, False, False)
    qwen3 = parse_config({**GIVEN, "model_type": "qwen3", "attention_bias": True})
    assert (qwen3.qk_norm, qwen3.head_dim, qwen3.output_bias) == (True, 128, True)


FULL, SLIDING = "full_attention", "sliding_attention"
GEMMA = {"model_type": "gemma3_text", "num_key_value_heads": 1}
SLIDES = {"model_type": "qwen3", "use_sliding_window": True}
LLAMA3 = {"rope_type": "llama3", **SCALING}
ROPE = {"rope_theta": 5e5, "rope_scaling": SCALING}


@pytest.mark.parametrize(
    ("keys", "fields"),
    [
        # In each form that rope was ever written: by transformers 4, before, and by transformers 5.
        ({"rope_theta": 5e5, "rope_scaling": LLAMA3}, ROPE),
        ({"rope_theta": 5e5, "rope_scaling": {"type": "llama3", **SCALING}}, ROPE),
        ({"rope_parameters": {"rope_theta": 5e5, **LLAMA3}}, ROPE),
        # These are never derived when they are given.
        ({"head_dim": 6, "num_key_value_heads": 1}, {"head_dim": 6, "num_key_value_heads": 1}),
        ({"eos_token_id": 2}, {"eos_token_id": (2,)}),
        ({"eos_token_id": [2, 0]}, {"eos_token_id": (2, 0)}),
        # A window that is not used is none.
        (
            {"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": False}
            | {"max_window_layers": 28, "layer_types": ["full_attention"]},
            {"hidden_size": 8, "sliding_windows": ()},
        ),
        ({"model_type": "mistral", "sliding_window": None}, {"sliding_windows": ()}),
        ({**SLIDES, "sliding_window": None}, {"sliding_windows": ()}),
    ],
)
def test_what_is_given_is_read(keys: dict[str, Any], fields: dict[str, Any]) -> None:
    config = parse_config({**GIVEN, **keys})
    assert {name: getattr(config, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("keys", "windows"),
    [
        ({"model_type": "mistral"}, (4096,) * 4),
        ({"model_type": "mistral", "sliding_window": 8}, (8,) * 4),
        ({**SLIDES, "sliding_window": 8, "max_window_layers": 3}, (0, 0, 0, 8)),
        ({**SLIDES, "sliding_window": 8, "max_window_layers": 0}, (8,) * 4),
        ({**SLIDES, "sliding_window": 8, "layer_types": [FULL, SLIDING] * 2}, (0, 8, 0, 8)),
        ({**GEMMA, "sliding_window": 8, "sliding_window_pattern": 2}, (8, 0, 8, 0)),
        ({**GEMMA, "sliding_window_pattern": 1}, (0,) * 4),
        (GEMMA, (4096,) * 4),
        ({**GEMMA, "sliding_window": 8, "layer_types": [SLIDING, FULL, FULL, FULL]}, (8, 0, 0, 0)),
    ],
)
def test_windows_by_each_familys_rule(keys: dict[str, Any], windows: tuple[int, ...]) -> None:
    assert parse_config({**GIVEN, "num_hidden_layers": 4, **keys}).sliding_windows == windows


def test_gemma_in_the_words_of_transformers_4_and_5() -> None:
    both = {"rope_theta": 2e6, "rope_local_base_freq": 3e4}
    rope = {FULL: {"rope_theta": 2e6, **LLAMA3}, SLIDING: {"rope_theta": 3e4}}
    for keys in ({**both, "rope_scaling": LLAMA3}, {"rope_parameters": rope}):
        config = parse_config({**GIVEN, **GEMMA, **keys})
        assert (config.rope_theta, config.rope_local_theta) == (2e6, 3e4)
        assert config.rope_scaling == SCALING
    absent = {"num_attention_heads": None, "num_key_value_heads": None}
    plain = parse_config({**GIVEN, **GEMMA, **absent})
    assert (plain.rope_theta, plain.rope_local_theta, plain.head_dim) == (1e6, 1e4, 256)
    assert plain.tie_word_embeddings
    assert (plain.num_attention_heads, plain.query_pre_attn_scalar) == (8, 256)


REFUSED: dict[str, dict[str, Any]] = {
    "model_type 'gpt2' is not supported, only llama, qwen2, qwen3": {"model_type": "gpt2"},
    "model_type None": {"model_type": None},
    r"model_type \['llama'\]": {"model_type": ["llama"]},
    "hidden_act 'gelu' is not supported, only silu": {"hidden_act": "gelu"},
    "dtype 'float8_e4m3fn' is not supported": {"dtype": "float8_e4m3fn"},
    "torch_dtype 'int8' is not supported": {"torch_dtype": "int8"},
    r"quantization_config {'quant_method': 'awq'} is not": {
        "quantization_config": {"quant_method": "awq"}
    },
    "sliding_window 4096 is not supported": {"sliding_window": 4096},
    "sliding_window must be .* not 0": {"model_type": "mistral", "sliding_window": 0},
    "use_sliding_window must be": {"model_type": "qwen2", "use_sliding_window": 1},
    "max_window_layers must be": {**SLIDES, "max_window_layers": -1},
    r"layer_types \['sliding_attention'\]": {"layer_types": ["sliding_attention"]},
    "layer_types 3": {"layer_types": 3},
    r"layer_types \['full_attention'\] is not": {"model_type": "mistral", "layer_types": [FULL]},
    "layer_types must list 1 layers, not 3": {**GEMMA, "layer_types": 3},
    "layer_types must list 1 layers": {**GEMMA, "layer_types": [FULL, FULL]},
    "layer_types 'chunked_attention'": {**SLIDES, "layer_types": ["chunked_attention"]},
    "sliding_window_pattern must be": {**GEMMA, "sliding_window_pattern": 0},
    "attn_logit_softcapping 50.0 is not": {**GEMMA, "attn_logit_softcapping": 50.0},
    "use_bidirectional_attention True": {**GEMMA, "use_bidirectional_attention": True},
    "hidden_activation 'silu' is not": {**GEMMA, "hidden_activation": "silu"},
    "query_pre_attn_scalar must be": {**GEMMA, "query_pre_attn_scalar": 0},
    "final_logit_softcapping must be": {**GEMMA, "final_logit_softcapping": -1},
    "rope_local_base_freq must be": {**GEMMA, "rope_local_base_freq": 0},
    "rope_type 'linear' is not": {**GEMMA, "rope_scaling": {"rope_type": "linear", "factor": 8}},
    r"rope_parameters {'full_att": {"rope_parameters": {FULL: {}, SLIDING: {}}},
    r"rope_parameters {'sliding_att": {**GEMMA, "rope_parameters": {SLIDING: {}}},
    r"rope_parameters {'rope_type': 'llama3'": {
        **GEMMA,
        "rope_parameters": {FULL: {}, SLIDING: {"rope_type": "llama3", **SCALING}},
    },
    "model_type 'gemma3' is not supported": {"model_type": "gemma3"},
    "partial_rotary_factor 0.5": {"partial_rotary_factor": 0.5},
    "rope_type 'yarn' is not supported, only default, llama3": {"rope_scaling": {"type": "yarn"}},
    "rope_type 'linear'": {"rope_parameters": {"rope_type": "linear", "factor": 2}},
    "rope_parameters {'partial_rot": {"rope_parameters": {"partial_rotary_factor": 0.5}},
    "rope_scaling 'llama3'": {"rope_scaling": "llama3"},
    "factor must be a positive number, not None": {"rope_scaling": {"rope_type": "llama3"}},
    "factor must be a positive number, not -8": {"rope_scaling": {**LLAMA3, "factor": -8}},
    "low_freq_factor must be below": {"rope_scaling": {**LLAMA3, "low_freq_factor": 4}},
    "rope_theta must be a positive number, not 0": {"rope_theta": 0},
    "rms_norm_eps must be a positive number, not '1e-6'": {"rms_norm_eps": "1e-6"},
    "rms_norm_eps must be a positive number, not nan": {"rms_norm_eps": float("nan")},
    "num_hidden_layers must be a whole number from 1 to 4096": {"num_hidden_layers": 10**9},
    "hidden_size must be a whole number from 1 to 2147483648, not 8.0": {"hidden_size": 8.0},
    "vocab_size must be .* not True": {"vocab_size": True},
    "intermediate_size must be .* not None": {"intermediate_size": None},
    "num_attention_heads 2 must be a multiple of num_key_value_heads 3": {"num_key_value_heads": 3},
    "and head_dim 3 of 2": {"head_dim": 3},
    "tie_word_embeddings must be true or false, not 1": {"tie_word_embeddings": 1},
    r"eos_token_id must be one token id or a list, not \[-1\]": {"eos_token_id": [-1]},
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_would_be_computed_wrongly_is_refused_by_name(message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        parse_config({**GIVEN, **REFUSED[message]})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=5,
)
KEYS = [
    *GIVEN, "num_key_value_heads", "head_dim", "rms_norm_eps", "rope_theta", "rope_scaling",
    "rope_parameters", "tie_word_embeddings", "attention_bias", "mlp_bias", "hidden_act", "dtype",
    "layer_types", "sliding_window", "use_sliding_window", "eos_token_id", "quantization_config",
    "hidden_activation", "rope_local_base_freq", "sliding_window_pattern", "max_window_layers",
    "query_pre_attn_scalar", "final_logit_softcapping", "attn_logit_softcapping",
]  # fmt: skip
ROPES = st.dictionaries(
    st.sampled_from(["type", "rope_type", "rope_theta", *SCALING]),
    JSON | st.just("llama3") | st.floats(0.5, 100),
)


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    changes=st.dictionaries(st.sampled_from(KEYS), JSON | ROPES, max_size=3),
    family=st.sampled_from(FAMILIES),
)
def test_any_config_is_a_config_or_an_error(changes: dict[str, Any], family: str) -> None:
    try:
        config = parse_config({**GIVEN, "model_type": family, **changes})
    except CheckpointError as problem:
        assert any(key in str(problem) for key in [*KEYS, *SCALING, "rope_type"])
    else:
        assert isinstance(config, Config) and shapes(config)
