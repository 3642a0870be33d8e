"""Beside the real thing, where it is installed: `pip install transformers`, then -m transformers.

Last run with transformers 5.23.0, safetensors 0.8.0, torch 2.13.0 on a CPU: errors of 5e-7 to 3e-6.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pagesim.kernels.tiny_llm import by_hand, load, save, walk
from tests.kernels.tiny_llm.make_goldens import (
    DATA,
    FOLDERS,
    LLAMA3,
    TOLERANCE,
    error,
    logits_of,
    random_model,
    theta,
)

pytest.importorskip("transformers", reason="transformers is not installed: goldens stand for it")

pytestmark = pytest.mark.transformers

TOKENS = np.random.default_rng(1).integers(0, 64, 157)


WINDOW = {"use_sliding_window": True, "sliding_window": 6}
GEMMA = {"head_dim": 16, "sliding_window": 11}
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("Llama", {}),
    "llama, tied": ("Llama", {"tie_word_embeddings": True, **theta(5e5)}),
    "llama, as many KV heads": ("Llama", {"num_key_value_heads": 4}),
    "llama, one KV head": ("Llama", {"num_key_value_heads": 1, "rms_norm_eps": 1e-5}),
    "llama, rope llama3": ("Llama", {"rope_parameters": LLAMA3, "head_dim": 32}),
    "llama, biases": ("Llama", {"attention_bias": True, "mlp_bias": True}),
    "llama, head_dim 24": ("Llama", {"head_dim": 24}),
    "qwen2, tied": ("Qwen2", {"tie_word_embeddings": True, **theta(1e6)}),
    "qwen3": ("Qwen3", {"head_dim": 32, **theta(1e6)}),
    "qwen3, biases": ("Qwen3", {"attention_bias": True, "head_dim": 16}),
    "mistral": ("Mistral", {"sliding_window": 5}),
    "mistral, no window": ("Mistral", {"sliding_window": None}),
    "qwen2, a window": ("Qwen2", {**WINDOW, "max_window_layers": 1}),
    "qwen3, a window": ("Qwen3", {**WINDOW, "max_window_layers": 0, "head_dim": 16}),
    "gemma3": ("Gemma3", {**GEMMA, "num_hidden_layers": 7}),
    "gemma3, every second": ("Gemma3", {**GEMMA, "sliding_window_pattern": 2, "head_dim": 32}),
    "gemma3, capped": ("Gemma3", {**GEMMA, "final_logit_softcapping": 2.0}),
    "gemma3, biases": ("Gemma3", {**GEMMA, "attention_bias": True, "query_pre_attn_scalar": 7}),
    "gemma3, not tied": ("Gemma3", {**GEMMA, "tie_word_embeddings": False}),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("name", MODELS)
def test_logits(name: str, dtype: torch.dtype, tmp_path: Path) -> None:
    family, fields = MODELS[name]
    model = random_model(family, seed=5, **fields).to(dtype)
    model.save_pretrained(tmp_path, max_shard_size="40KB" if "biases" in name else "5GB")
    found = error(load(tmp_path), TOKENS, logits_of(tmp_path, TOKENS))
    print(f"{name}, {dtype}: {found:.1e}")
    assert found < TOLERANCE


@pytest.mark.parametrize("folder", FOLDERS)
def test_goldens_are_what_it_computes_here(folder: str) -> None:
    with np.load(DATA / folder / "golden.npz") as golden:
        expected, tokens = golden["logits"], golden["tokens"]
    found = logits_of(DATA / folder, tokens)
    assert np.abs(found - expected).max() < TOLERANCE * np.abs(expected).max()


@pytest.mark.parametrize("make", [by_hand, walk])
def test_our_own_models_are_llamas_to_it(make: Any, tmp_path: Path) -> None:
    save(make(), tmp_path)
    found = error(make(), TOKENS, logits_of(tmp_path, TOKENS))
    print(f"{make.__name__}: {found:.1e}")
    assert found < TOLERANCE
