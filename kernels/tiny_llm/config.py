"""What a decoder is made of: its sizes, and from them the tensors it must have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LLAMA3 = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")


@dataclass(frozen=True, slots=True)
class Config:
    """The shape of a model, in the names of config.json.

    attention_bias adds a bias to q, k and v, output_bias to o, mlp_bias to the MLP. With qk_norm,
    every head's q and k are normalised before they are rotated (Qwen3). rope_scaling is None, or
    has the four numbers of "llama3". eos_token_id has the tokens that end an output.

    sliding_windows has each layer's window, 0 where it attends to all tokens; () is 0 everywhere.
    Layers with a window rotate by rope_local_theta, if it is not 0. gemma: norms before and after
    each half of a layer, whose weights count from 1; GELU; embeddings times √hidden_size.
    query_pre_attn_scalar stands in for head_dim where scores are scaled; final_logit_softcapping
    bounds the logits. 0 = neither.
    """

    model_type: str
    num_hidden_layers: int
    hidden_size: int
    intermediate_size: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    vocab_size: int
    rms_norm_eps: float = 1e-6
    rope_theta: float = 10000.0
    rope_scaling: Mapping[str, float] | None = None
    tie_word_embeddings: bool = False
    attention_bias: bool = False
    output_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False
    eos_token_id: tuple[int, ...] = ()
    sliding_windows: tuple[int, ...] = ()
    rope_local_theta: float = 0.0
    gemma: bool = False
    query_pre_attn_scalar: float = 0.0
    final_logit_softcapping: float = 0.0

    @property
    def windows(self) -> tuple[int, ...]:
        """The number of keys that a query of each layer sees, with its own; 0 = all."""
        return self.sliding_windows or (0,) * self.num_hidden_layers


def shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """Return the shape of every tensor of a model with this config, by name."""
    c, hidden, inner = config, config.hidden_size, config.intermediate_size
    q, kv = c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
    linear = {  # [out, in], and whether it has a bias
        "self_attn.q_proj": (q, hidden, c.attention_bias),
        "self_attn.k_proj": (kv, hidden, c.attention_bias),
        "self_attn.v_proj": (kv, hidden, c.attention_bias),
        "self_attn.o_proj": (hidden, q, c.output_bias),
        "mlp.gate_proj": (inner, hidden, c.mlp_bias),
        "mlp.up_proj": (inner, hidden, c.mlp_bias),
        "mlp.down_proj": (hidden, inner, c.mlp_bias),
    }
    norms = {"input_layernorm": hidden, "post_attention_layernorm": hidden}
    if c.gemma:
        norms |= {"pre_feedforward_layernorm": hidden, "post_feedforward_layernorm": hidden}
    if c.qk_norm:
        norms |= {"self_attn.q_norm": c.head_dim, "self_attn.k_norm": c.head_dim}
    found: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (c.vocab_size, hidden)}
    for layer in range(c.num_hidden_layers):
        name = f"model.layers.{layer}."
        found |= {f"{name}{norm}.weight": (size,) for norm, size in norms.items()}
        found |= {f"{name}{p}.weight": (out, into) for p, (out, into, _) in linear.items()}
        found |= {f"{name}{p}.bias": (out,) for p, (out, _, bias) in linear.items() if bias}
    found["model.norm.weight"] = (hidden,)
    return found if c.tie_word_embeddings else found | {"lm_head.weight": (c.vocab_size, hidden)}


def check_shapes(config: Config, found: Mapping[str, tuple[int, ...]]) -> None:
    """Raise ValueError for a tensor that is missing, unused or of the wrong shape."""
    wanted = shapes(config)
    for problem, names in (
        ("is missing", wanted.keys() - found.keys()),
        (f"is in no {config.model_type} of this config", found.keys() - wanted.keys()),
    ):
        if names:
            more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
            raise ValueError(f"the tensor {min(names)!r} {problem}{more}")
    for name, shape in wanted.items():
        if found[name] != shape:
            raise ValueError(
                f"the tensor {name!r} has shape {list(found[name])}, expected {list(shape)}"
            )
