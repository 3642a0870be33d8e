"""What each layer of a model keeps, from the model's shape."""

from collections.abc import Iterable

from pagesim.sizing.kv_cache_spec import (
    ChunkedLocalAttentionSpec,
    FullAttentionSpec,
    KVCacheSpec,
    MambaSpec,
    MLAAttentionSpec,
    SlidingWindowSpec,
)
from pagesim.sizing.model import ModelSpec


def get_kv_cache_spec(
    model: ModelSpec,
    layers: Iterable[int],
    *,
    block_size: int,
    num_kv_heads: int,
    dtype: str,
    mamba: MambaSpec | None = None,
) -> dict[str, KVCacheSpec]:
    """The spec of each of these layers of a model that keeps something, by name ("layers.0").

    ``num_kv_heads`` is one rank's; ``dtype`` is the cache's; ``mamba`` is the spec of the layers
    with a state.
    """
    window, chunk = model.sliding_window, model.attention_chunk_size
    kinds = dict.fromkeys(model.sliding_layers, "window")
    kinds |= dict.fromkeys(model.chunked_layers, "chunk")
    kinds |= dict.fromkeys(model.state_layers, "state")
    kinds |= dict.fromkeys(model.layers_without_cache, "nothing")
    heads = block_size, num_kv_heads, model.head_dim, dtype
    specs: dict[str, KVCacheSpec] = {}
    for layer in layers:
        kind = kinds.get(layer)
        if kind == "nothing":
            continue
        if kind == "state" and mamba is not None:
            spec: KVCacheSpec = mamba
        elif model.is_mla:
            spec = MLAAttentionSpec(block_size, 1, model.latent_dim, dtype)
        elif kind == "window" and window is not None:
            spec = SlidingWindowSpec(*heads, sliding_window=window)
        elif kind == "chunk" and chunk is not None:
            spec = ChunkedLocalAttentionSpec(*heads, attention_chunk_size=chunk)
        else:
            spec = FullAttentionSpec(*heads)
        specs[f"layers.{layer}"] = spec
    return specs
