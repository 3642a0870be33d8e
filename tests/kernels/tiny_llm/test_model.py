"""The forward pass sees tokens, positions and `attend`, and nothing else."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from pagesim.kernels.tiny_llm import Config, Model, causal
from pagesim.kernels.tiny_llm.config import shapes
from tools.walk_exam import logits_of

LLAMA = Config("llama", 2, 32, 48, 4, 2, 16, 50, tie_word_embeddings=True)
CONFIGS = {
    "llama": LLAMA,
    "biases": replace(LLAMA, attention_bias=True, output_bias=True, mlp_bias=True),
    "qwen2": replace(LLAMA, model_type="qwen2", attention_bias=True),
    "qwen3": replace(LLAMA, model_type="qwen3", qk_norm=True, tie_word_embeddings=False),
}


def random_model(config: Config, seed: int = 0) -> Model:
    generator = torch.Generator().manual_seed(seed)
    wanted = shapes(config).items()
    return Model(config, {n: torch.randn(s, generator=generator) * 0.2 for n, s in wanted})


@pytest.mark.parametrize("name", CONFIGS)
def test_a_ragged_batch_is_its_sequences_one_by_one(name: str) -> None:
    model = random_model(CONFIGS[name])
    rng = np.random.default_rng(0)
    sequences = [rng.integers(0, 50, size).tolist() for size in (7, 1, 20)]
    tokens = torch.tensor([token for sequence in sequences for token in sequence])
    positions = torch.cat([torch.arange(len(sequence)) for sequence in sequences])
    with torch.inference_mode():
        hidden = model(tokens, positions, causal([len(sequence) for sequence in sequences]))
    alone = torch.cat([logits_of(model, sequence) for sequence in sequences])
    torch.testing.assert_close(model.logits(hidden), alone, rtol=0, atol=1e-5)


def test_attend_gets_turned_keys_of_each_layer_and_plain_values() -> None:
    model = random_model(LLAMA)
    seen = []

    def attend(layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        seen.append((layer, q, k, v))
        return torch.zeros_like(q)

    tokens = torch.tensor([3, 3, 3])
    model(tokens, torch.tensor([0, 5, 900]), attend)
    assert [layer for layer, *_ in seen] == [0, 1]
    for _, q, k, v in seen:
        assert q.shape == (3, 4, 16) and k.shape == v.shape == (3, 2, 16)
        assert v[0].equal(v[1]) and v[0].equal(v[2])
        assert not k[0].isclose(k[1]).all() and not q[0].isclose(q[2]).all()
        # Turning changes no length.
        torch.testing.assert_close(k[0].norm(dim=-1), k[2].norm(dim=-1))


def test_scores_depend_on_distance_alone() -> None:
    model = random_model(LLAMA)
    kept = {}

    def attend(layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        kept[layer] = (q[1, 0] * k[0, 0]).sum(), (q[3, 0] * k[2, 0]).sum()
        return torch.zeros_like(q)

    model(torch.tensor([7, 9, 7, 9]), torch.tensor([2, 6, 4000, 4004]), attend)
    for near, far in kept.values():
        assert float(near) == pytest.approx(float(far), rel=1e-4)


def test_dtype_and_head_follow_the_weights() -> None:
    config = CONFIGS["qwen3"]
    model = random_model(config)
    half = Model(config, {name: w.bfloat16() for name, w in model.weights.items()})
    logits = logits_of(half, [1, 2, 3])
    assert logits.dtype == torch.bfloat16
    exact = logits_of(model, [1, 2, 3])
    assert 0 < (logits - exact).abs().max() < 0.05 * exact.abs().max()


def test_matrices_lie_as_they_are_read_and_leaves_stay_leaves() -> None:
    model = random_model(CONFIGS["qwen3"])
    for name, weight in model.weights.items():
        by_column = weight.t().is_contiguous() if weight.dim() == 2 else False
        assert by_column == (weight.dim() == 2 and "embed_tokens" not in name)
    leaves = {name: w.clone().requires_grad_() for name, w in model.weights.items()}
    trained = Model(model.config, leaves)
    assert all(trained.weights[name] is leaf for name, leaf in leaves.items())


def test_a_wrong_set_of_tensors_is_named() -> None:
    weights = random_model(LLAMA).weights
    norm = "model.norm.weight"
    with pytest.raises(ValueError, match=r"'model\.norm\.weight' is missing"):
        Model(LLAMA, {name: w for name, w in weights.items() if name != norm})
    with pytest.raises(ValueError, match=r"'lm_head\.weight' is in no llama of this config"):
        Model(LLAMA, {**weights, "lm_head.weight": weights["model.embed_tokens.weight"]})
    with pytest.raises(
        ValueError, match=r"'model\.norm\.weight' has shape \[31\], expected \[32\]"
    ):
        Model(LLAMA, {**weights, norm: weights[norm][1:]})
    with pytest.raises(ValueError, match=r"missing \(and 37 more\)"):
        Model(replace(LLAMA, num_hidden_layers=4), {})
