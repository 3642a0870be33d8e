"""Makes tests/data/tiny_llm: random folders that transformers wrote, and the logits it computed.

    python -m tests.kernels.tiny_llm.make_goldens [FOLDER…]     in an environment with transformers

Committed, so that the tests need no transformers. Embeddings are small (0.01), so that an epsilon
that is off shows in the logits; norms and biases are random, so that one that is left out does.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pagesim.kernels.tiny_llm import Model
from tools import walk_exam

DATA = Path(__file__).resolve().parents[2] / "data" / "tiny_llm"
TOLERANCE = 5e-6
"""Of the largest logit, in float32. Seen: up to 1e-6."""
LLAMA3 = {
    "rope_theta": 5e5,
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
SIZES = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
}


def theta(value: float) -> dict[str, Any]:
    return {"rope_parameters": {"rope_theta": value, "rope_type": "default"}}


TIED = {"tie_word_embeddings": True, "rms_norm_eps": 1e-5}
BIASED = {"attention_bias": True, "mlp_bias": True, "rms_norm_eps": 1e-5}
GEMMA = {
    "head_dim": 16,
    "query_pre_attn_scalar": 24,
    "sliding_window": 7,
    "layer_types": ["sliding_attention", "full_attention"],
    "final_logit_softcapping": 0.5,
    "rope_parameters": {
        "full_attention": theta(1e6)["rope_parameters"],
        "sliding_attention": theta(1e4)["rope_parameters"],
    },
}
# Family, dtype of the files, and what is particular.
FOLDERS: dict[str, tuple[str, torch.dtype, dict[str, Any]]] = {
    "llama3": ("Llama", torch.bfloat16, {**TIED, "rope_parameters": LLAMA3, "head_dim": 16}),
    "qwen2": ("Qwen2", torch.float16, theta(1e6)),
    "qwen3": ("Qwen3", torch.bfloat16, {"head_dim": 16, **theta(1e6)}),
    "sharded": ("Llama", torch.float32, {**BIASED, **theta(1e5)}),
    "mistral": ("Mistral", torch.float16, {"sliding_window": 9}),
    "gemma3": ("Gemma3", torch.bfloat16, GEMMA),
}


def random_model(family: str, seed: int, **fields: Any) -> Any:
    """A model of transformers, every number of which matters."""
    import transformers

    text = "Text" if family == "Gemma3" else ""
    config = getattr(transformers, f"{family}{text}Config")(**{**SIZES, **fields})
    model = getattr(transformers, f"{family}ForCausalLM")(config).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=generator)
            if "embed_tokens" in name:
                weight.copy_(0.01 * noise)
            elif weight.dim() == 2:
                weight.copy_(noise / weight.shape[1] ** 0.5)
            else:
                # Norms are about 1; Gemma's files have them less 1, as biases are.
                weight.copy_(0.3 * noise + (not name.endswith("bias") and family != "Gemma3"))
    return model


def logits_of(folder: Path, tokens: np.ndarray) -> np.ndarray:
    """Logits [T, vocab] of a folder as transformers computes them, in float32."""
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.inference_mode():
        found: np.ndarray = model(torch.from_numpy(tokens)[None]).logits[0].numpy()
    return found


def error(model: Model, tokens: np.ndarray, logits: np.ndarray) -> float:
    """The largest deviation from these logits ÷ the largest logit."""
    found = walk_exam.logits_of(model, tokens.tolist())
    return float((found - torch.from_numpy(logits)).abs().max()) / float(np.abs(logits).max())


def golden_error(model: Model, folder: str) -> float:
    with np.load(DATA / folder / "golden.npz") as golden:
        return error(model, golden["tokens"], golden["logits"])


def main(wanted: list[str]) -> None:
    torch.set_num_threads(1)
    tokens = np.random.default_rng(0).integers(0, SIZES["vocab_size"], 48)
    for seed, (name, (family, dtype, fields)) in enumerate(FOLDERS.items()):
        if wanted and name not in wanted:
            continue
        folder = DATA / name
        model = random_model(family, seed, **fields).to(dtype)
        model.save_pretrained(folder, max_shard_size="40KB" if name == "sharded" else "5GB")
        (folder / "generation_config.json").unlink()
        np.savez(folder / "golden.npz", tokens=tokens, logits=logits_of(folder, tokens))


if __name__ == "__main__":
    main(sys.argv[1:])
