"""The real architecture: the logits are those of transformers.

tests/data/tiny_llm/README.md says how the folders were made.
"""

import json
import shutil
from pathlib import Path

import pytest

from pagesim.kernels.tiny_llm import CheckpointError, load, model
from tests.kernels.tiny_llm.make_goldens import DATA, FOLDERS, TOLERANCE, golden_error


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
