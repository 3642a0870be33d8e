"""Loads a model's folder as Hugging Face writes it: config.json, and weights in safetensors files.

    model = load("Llama-3.2-1B")     # see config_json; sharded or not; float32, float16, bfloat16

The package safetensors reads the weights and checks that each file is whole. Which tensors a model
must have, and of what shape and dtype, is checked here. Only files of the folder are read: an index
that names another place is refused.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

import torch

from pagesim.kernels.tiny_llm import weight_files
from pagesim.kernels.tiny_llm.config import check_shapes
from pagesim.kernels.tiny_llm.config_json import CheckpointError, quoted, read_config, read_json
from pagesim.kernels.tiny_llm.model import Model

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
HEAD, EMBEDDINGS = "lm_head.weight", "model.embed_tokens.weight"
FREQUENCIES = "rotary_emb.inv_freq"
"""Old files keep them; they follow from the config."""
NOT_LLAMA = ("output_bias", "qk_norm", "sliding_windows", "rope_local_theta", "gemma",
             "query_pre_attn_scalar", "final_logit_softcapping")  # fmt: skip
"""Fields that a Llama's config.json does not have: they follow from the rest, or are off."""
SHARD = re.compile(r"[A-Za-z0-9_.-]+\.safetensors")


def load(
    folder: str | Path, dtype: torch.dtype = torch.float32, device: str | torch.device = "cpu"
) -> Model:
    """Load the model of a folder, with its weights in `dtype` on `device`.

    CheckpointError (a ValueError) names the file and the key or tensor that is wrong.
    """
    folder = Path(folder)
    config = read_config(folder / CONFIG)
    files = _files(folder)
    found = {name: shape for shapes in files.values() for name, shape in shapes.items()}
    # Some files repeat the embeddings as the head that they are.
    tied_twice = config.tie_word_embeddings and found.pop(HEAD, None) is not None
    try:
        check_shapes(config, found)
    except ValueError as problem:
        raise CheckpointError(f"{folder}: {problem}") from None
    weights: dict[str, torch.Tensor] = {}
    for path, shapes in files.items():
        with weight_files.opened(path) as file:
            weights |= {name: file.get_tensor(name).to(device, dtype) for name in shapes}
    if tied_twice and not torch.equal(weights.pop(HEAD), weights[EMBEDDINGS]):
        raise CheckpointError(
            f"{folder}: tie_word_embeddings is true, but {HEAD!r} is not {EMBEDDINGS!r}"
        )
    return Model(config, weights)


def save(model: Model, folder: str | Path) -> None:
    """Write a Llama, in its weights' dtype, to a folder that `load` and transformers can read."""
    config = model.config
    if config.model_type != "llama" or config.rope_scaling or config.sliding_windows:
        raise ValueError(f"only a Llama without rope_scaling can be saved, not {config}")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: weight.detach().cpu().contiguous() for name, weight in model.weights.items()}
    weight_files.write(folder / WEIGHTS, weights)
    fields = asdict(config) | {"architectures": ["LlamaForCausalLM"], "hidden_act": "silu"}
    for name in NOT_LLAMA:
        del fields[name]
    fields["torch_dtype"] = str(model.head.dtype).removeprefix("torch.")
    (folder / CONFIG).write_text(json.dumps(fields, indent=1, sort_keys=True) + "\n")


def _files(folder: Path) -> dict[Path, dict[str, tuple[int, ...]]]:
    """The tensors of each of the folder's files, which are those that an index says, if any."""
    index, files = folder / INDEX, {}
    for path, names in (_shards(index) if index.exists() else {folder / WEIGHTS: set()}).items():
        shapes = weight_files.read_shapes(path)
        for name in sorted(names ^ shapes.keys()) if names else ():
            problem = "is missing" if name in names else f"is not in {INDEX}"
            raise CheckpointError(f"{path}: the tensor {quoted(name)} {problem}")
        files[path] = {n: shape for n, shape in shapes.items() if not n.endswith(FREQUENCIES)}
    return files


def _shards(index: Path) -> dict[Path, set[str]]:
    """The files that an index names, and the tensors that it says are in each."""
    where = read_json(index).get("weight_map")
    if not isinstance(where, dict) or not where:
        raise CheckpointError(f"{index}: weight_map is {quoted(where)}")
    files: dict[Path, set[str]] = {}
    for name, file in where.items():
        if not isinstance(file, str) or not SHARD.fullmatch(file):
            raise CheckpointError(
                f"{index}: {quoted(name)} is said to be in {quoted(file)}, "
                "which is not the name of a safetensors file"
            )
        files.setdefault(index.parent / file, set()).add(name)
    return files
