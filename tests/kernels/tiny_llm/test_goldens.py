"""The real architecture: the logits of transformers, and what each mistake would cost.

tests/data/tiny_llm/README.md says how the folders were made.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn.functional import silu

from pagesim.kernels.tiny_llm import CheckpointError, Model, load, model
from pagesim.kernels.tiny_llm.config import shapes
from tests.kernels.tiny_llm.goldens import DATA, FOLDERS, TOLERANCE, golden_error
from tools import walk_exam

pytestmark = [pytest.mark.ch12, pytest.mark.usefixtures("one_thread")]


@pytest.mark.parametrize("folder", FOLDERS)
def test_logits_are_those_of_transformers(folder: str) -> None:
    assert golden_error(load(DATA / folder), folder) < TOLERANCE


def test_transformers_4_wrote_the_same_model_in_other_words(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(DATA / "llama3", tmp_path / "llama3"))
    config = json.loads((folder / "config.json").read_text())
    scaling = config.pop("rope_parameters")
    config["rope_theta"], config["rope_scaling"] = scaling.pop("rope_theta"), scaling
    config["torch_dtype"] = config.pop("dtype")
    (folder / "config.json").write_text(json.dumps(config))
    assert golden_error(load(folder), "llama3") < TOLERANCE


# --- mistakes, each made on purpose -----------------------------------------------------------

RED = 1000 * TOLERANCE
"""The smallest mistake costs 0.8 % of the largest logit, most of them more than 20 %."""


def other(right: Model, **changes: object) -> Model:
    """The model with other fields, without the tensors that it then does not have."""
    config = replace(right.config, **changes)
    return Model(config, {name: right.weights[name] for name in shapes(config)})


def without(right: Model, ending: str, value: float = 0.0) -> Model:
    """All tensors with this ending filled with the number that does nothing."""
    weights = {
        name: torch.full_like(w, value) if name.endswith(ending) else w
        for name, w in right.weights.items()
    }
    return Model(right.config, weights)


def rounded(right: Model) -> Model:
    return Model(right.config, {n: w.bfloat16().float() for n, w in right.weights.items()})


def swapped(right: Model) -> Model:
    """Gate and up projection in each other's place."""
    names = {"gate_proj": "up_proj", "up_proj": "gate_proj"}
    weights = {}
    for name, weight in right.weights.items():
        *front, part, end = name.split(".")
        weights[".".join((*front, names.get(part, part), end))] = weight
    return Model(right.config, weights)


CONFIGS: dict[str, tuple[str, Callable[[Model], Model]]] = {
    "rms_norm_eps 1e-6 for 1e-5": ("llama3", lambda m: other(m, rms_norm_eps=1e-6)),
    "rms_norm_eps 1e-5 for 1e-6": ("qwen2", lambda m: other(m, rms_norm_eps=1e-5)),
    "theta ignored (llama3)": ("llama3", lambda m: other(m, rope_theta=1e4)),
    "theta ignored (qwen2)": ("qwen2", lambda m: other(m, rope_theta=1e4)),
    "theta ignored (qwen3)": ("qwen3", lambda m: other(m, rope_theta=1e4)),
    "theta ignored (llama)": ("sharded", lambda m: other(m, rope_theta=1e4)),
    "llama3 scaling ignored": ("llama3", lambda m: other(m, rope_scaling=None)),
    "no blend between long and short waves": (
        "llama3",
        lambda m: other(m, rope_scaling={**m.config.rope_scaling, "low_freq_factor": 3.999}),
    ),
    "no qk-norm": ("qwen3", lambda m: other(m, qk_norm=False)),
    "qk-norm without its weight": ("qwen3", lambda m: without(m, "k_norm.weight", 1.0)),
    "no biases (qwen2)": ("qwen2", lambda m: without(m, ".bias")),
    "no bias on q": ("qwen2", lambda m: without(m, "q_proj.bias")),
    "no bias on v": ("qwen2", lambda m: without(m, "v_proj.bias")),
    "no bias on o": ("sharded", lambda m: without(m, "o_proj.bias")),
    "no bias in the MLP": ("sharded", lambda m: without(m, "down_proj.bias")),
    "weights rounded to bfloat16": ("sharded", rounded),
    "gate and up swapped": ("llama3", swapped),
    "norms without weights": ("llama3", lambda m: without(m, "norm.weight", 1.0)),
}


@pytest.mark.parametrize("mistake", CONFIGS)
def test_a_mistake_in_what_is_read_turns_the_golden_test_red(mistake: str) -> None:
    folder, make = CONFIGS[mistake]
    found = golden_error(make(load(DATA / folder)), folder)
    assert found > RED


def interleaved(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1).flatten(-2)


def backwards(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """The right pairs, turned the other way. Scores depend on distance: only its sign is wrong."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos + b * sin, b * cos - a * sin), dim=-1)


def heads_dealt_out(lengths: list[int]) -> model.Attend:
    """Query head h reads KV head h % Hkv instead of h // group."""
    right = model.causal(lengths)

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        group = q.shape[1] // k.shape[1]
        return right(layer, q, k.repeat(1, group, 1), v.repeat(1, group, 1))

    return attend


def late_norm(self: Model, layer: int, name: str, x: Tensor, turn: tuple, attend: model.Attend):
    """Qwen3's attention with q and k normalised after they were turned."""
    q, k, v = (self.linear(name + p, x).unflatten(-1, (-1, 16)) for p in model.PROJECTIONS)
    q, k = (model.rotate(y, *turn) for y in (q, k))
    q, k = self.norm(name + "q_norm", q), self.norm(name + "k_norm", k)
    return self.linear(name + "o_proj", attend(layer, q, k, v).flatten(-2))


def silu_of_up(self: Model, name: str, x: Tensor) -> Tensor:
    up = silu(self.linear(name + "up_proj", x))
    return self.linear(name + "down_proj", up * self.linear(name + "gate_proj", x))


def half_frequencies(config: model.Config) -> Tensor:
    return model.frequencies(config) / 2


CODE: dict[str, tuple[str, object, str, object]] = {
    "pairs side by side": ("llama3", model, "rotate", interleaved),
    "turned the other way": ("qwen2", model, "rotate", backwards),
    "not turned": ("qwen2", model, "rotate", lambda x, cos, sin: x),
    "heads dealt out": ("llama3", walk_exam, "causal", heads_dealt_out),
    "qk-norm after RoPE": ("qwen3", Model, "attention", late_norm),
    "silu of up": ("sharded", Model, "mlp", silu_of_up),
}


@pytest.mark.parametrize("mistake", CODE)
def test_a_mistake_in_the_code_turns_the_golden_test_red(
    mistake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, home, name, wrong = CODE[mistake]
    monkeypatch.setattr(home, name, wrong)
    found = golden_error(load(DATA / folder), folder)
    assert found > RED


@pytest.mark.parametrize("folder", ["llama3", "qwen3"])
def test_head_dim_taken_as_hidden_by_heads_fits_no_tensor(folder: str, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(DATA / folder, tmp_path / folder))
    config = json.loads((copy / "config.json").read_text())
    config["head_dim"] = config["hidden_size"] // config["num_attention_heads"]
    (copy / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match=r"has shape \[64, 32\], expected \[32, 32\]|\[16\]"):
        load(copy)


def test_float64_frequencies_or_float32_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    right = model.frequencies
    monkeypatch.setattr(model, "frequencies", lambda config: right(config).float())
    assert golden_error(load(DATA / "llama3"), "llama3") < TOLERANCE
