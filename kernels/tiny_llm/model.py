"""A Llama, Mistral, Qwen or Gemma 3 decoder that leaves open where keys and values are kept.

    hidden = model(tokens, positions, attend)  # T tokens of any number of sequences: [T, hidden]
    logits = model.logits(hidden[rows])        # only where a token is sampled: [rows, vocab]

All of it but attention treats a token on its own: a batch is T rows, whose sequences do not matter.
Attention is the caller's. It alone knows which rows belong together and where the earlier tokens
lie: in pages, in one reserved piece, or nowhere (`causal`).

    attend(layer, q [T, Hq, D], k [T, Hkv, D], v [T, Hkv, D]) -> [T, Hq, D]

keeps k and v, both final (positions are already turned into them), and answers every query.
Weights have the names of Hugging Face's files. Each family's arithmetic is that of transformers:
tests/kernels/tiny_llm compares the logits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import gelu, linear, rms_norm, scaled_dot_product_attention, silu

from pagesim.kernels.tiny_llm.config import LLAMA3, Config, check_shapes

Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]


class Model:
    """A decoder; weights has the tensors of `config.shapes`, in one dtype, on one device."""

    def __init__(self, config: Config, weights: Mapping[str, Tensor]) -> None:
        check_shapes(config, {name: tuple(w.shape) for name, w in weights.items()})
        self.config = config
        plain = {name: counted_from_0(config, name, w) for name, w in weights.items()}
        self.weights = {name: in_reading_order(name, w) for name, w in plain.items()}
        self.embeddings = weights["model.embed_tokens.weight"]
        tied = config.tie_word_embeddings
        self.head = self.embeddings if tied else self.weights["lm_head.weight"]
        self.frequencies = self.local_frequencies = frequencies(config).to(self.head.device)
        if theta := config.rope_local_theta:
            local = replace(config, rope_theta=theta, rope_scaling=None)
            self.local_frequencies = frequencies(local).to(self.head.device)

    def __call__(self, tokens: Tensor, positions: Tensor, attend: Attend) -> Tensor:
        """Return the last hidden states [T, hidden] of tokens [T], which have the positions [T]."""
        x, gemma = self.embeddings[tokens], self.config.gemma
        if gemma:
            x = x * x.new_tensor(self.config.hidden_size**0.5)
        turn = local = self.turn(positions, self.frequencies, x.dtype)
        if self.config.rope_local_theta:
            local = self.turn(positions, self.local_frequencies, x.dtype)
        for layer, window in enumerate(self.config.windows):
            name, its = f"model.layers.{layer}.", local if window else turn
            h = self.norm(name + "input_layernorm", x)
            h = self.attention(layer, name + "self_attn.", h, its, attend)
            x = x + (self.norm(name + "post_attention_layernorm", h) if gemma else h)
            before = "pre_feedforward_layernorm" if gemma else "post_attention_layernorm"
            h = self.mlp(name + "mlp.", self.norm(name + before, x))
            x = x + (self.norm(name + "post_feedforward_layernorm", h) if gemma else h)
        return self.norm("model.norm", x)

    @staticmethod
    def turn(positions: Tensor, frequencies: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Cosine and sine of each position's angles, [T, 1, D/2]."""
        angles = positions[:, None, None] * frequencies
        return angles.cos().to(dtype), angles.sin().to(dtype)

    def logits(self, hidden: Tensor) -> Tensor:
        """[…, hidden] -> […, vocab]."""
        logits, cap = linear(hidden, self.head), self.config.final_logit_softcapping
        return cap * torch.tanh(logits / cap) if cap else logits

    def attention(
        self, layer: int, name: str, x: Tensor, turn: tuple[Tensor, Tensor], attend: Attend
    ) -> Tensor:
        head_dim = self.config.head_dim
        q, k, v = (self.linear(f"{name}{p}_proj", x).unflatten(-1, (-1, head_dim)) for p in "qkv")
        if self.config.qk_norm:
            q, k = self.norm(name + "q_norm", q), self.norm(name + "k_norm", k)
        heads = attend(layer, rotate(q, *turn), rotate(k, *turn), v)
        return self.linear(name + "o_proj", heads.flatten(-2))

    def mlp(self, name: str, x: Tensor) -> Tensor:
        """SwiGLU, or Gemma's GELU: one projection opens and shuts the other."""
        gate = self.linear(name + "gate_proj", x)
        gate = gelu(gate, approximate="tanh") if self.config.gemma else silu(gate)
        return self.linear(name + "down_proj", gate * self.linear(name + "up_proj", x))

    def linear(self, name: str, x: Tensor) -> Tensor:
        return linear(x, self.weights[name + ".weight"], self.weights.get(name + ".bias"))

    def norm(self, name: str, x: Tensor) -> Tensor:
        """RMSNorm: weight · x / √(mean of x² + eps), over the last dimension."""
        weight = self.weights[name + ".weight"]
        return rms_norm(x, weight.shape, weight, self.config.rms_norm_eps)


def counted_from_0(config: Config, name: str, weight: Tensor) -> Tensor:
    """Gemma's norms multiply by 1 + weight; and that of a query can scale its scores as well."""
    if not config.gemma or not name.endswith("norm.weight"):
        return weight
    scalar = config.query_pre_attn_scalar or config.head_dim
    return (1 + weight) * (config.head_dim / scalar) ** (0.5 if "q_norm" in name else 0)


def in_reading_order(name: str, weight: Tensor) -> Tensor:
    """A matrix [out, in] laid out column by column, as a CPU multiplies few rows by it.

    Up to 1.8 times as fast for 1 to 32 rows. A weight in training is left alone: it is a leaf.
    """
    if weight.dim() != 2 or weight.requires_grad or weight.is_cuda or "embed_tokens" in name:
        return weight
    return weight.t().contiguous().t()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """RoPE: turn each pair (i, i + D/2) of x [T, H, D] by its angle; cos and sin [T, 1, D/2]."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


def frequencies(config: Config) -> Tensor:
    """How far a position turns each pair, in radians: theta^(-2i/D), float64 [D/2].

    "llama3" stretches waves longer than the context of the first training by `factor`, leaves short
    ones alone, and blends between: by how many turns a wave makes in that context.
    """
    pairs = torch.arange(0, config.head_dim, 2, dtype=torch.float64)
    plain = config.rope_theta ** (-pairs / config.head_dim)
    if config.rope_scaling is None:
        return plain
    factor, low, high, context = (config.rope_scaling[key] for key in LLAMA3)
    turns = context * plain / (2 * math.pi)
    kept = ((turns - low) / (high - low)).clamp(0, 1)
    return kept * plain + (1 - kept) * plain / factor


def visible(queries: int, tokens: int, window: int, device: torch.device) -> Tensor:
    """Which of the tokens each of the last queries sees, bool [queries, tokens]."""
    back = tokens - queries
    mask = torch.ones(queries, tokens, dtype=torch.bool, device=device).tril(back)
    return mask.triu(back + 1 - window) if window else mask


def causal(lengths: Sequence[int], windows: Sequence[int] = ()) -> Attend:
    """Attention without a cache: the batch holds whole sequences of these lengths.

    windows: each layer's, as in `Config.windows`; none by default.
    """

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        window, out = windows[layer] if windows else 0, []
        heads = (x.transpose(0, 1)[None].split(list(lengths), dim=2) for x in (q, k, v))
        for a, b, c in zip(*heads, strict=True):  # [1, H, T, D]
            mask = visible(a.shape[2], a.shape[2], window, q.device) if window else None
            alone = scaled_dot_product_attention(a, b, c, mask, 0.0, mask is None, enable_gqa=True)
            out.append(alone)
        return torch.cat(out, dim=2)[0].transpose(0, 1)

    return attend
