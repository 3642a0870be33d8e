"""What each layer of a model keeps, from the model's shape."""

from collections.abc import Iterable

from pagesim.sizing.kv_cache_spec import (
    FullAttentionSpec,
    KVCacheSpec,
    MLAAttentionSpec,
    SlidingWindowSpec,
)
from pagesim.sizing.model import ModelSpec


def get_kv_cache_spec(
    model: ModelSpec, layers: Iterable[int], *, block_size: int, num_kv_heads: int, dtype: str
) -> dict[str, KVCacheSpec]:
    """The spec of each of these layers of a model, by the layer's name ("layers.0").

    ``num_kv_heads`` is one rank's; ``dtype`` is the cache's.
    """
    window, sliding = model.sliding_window, set(model.sliding_layers)
    specs: dict[str, KVCacheSpec] = {}
    for layer in layers:
        if model.is_mla:
            spec: KVCacheSpec = MLAAttentionSpec(block_size, 1, model.latent_dim, dtype)
        elif layer in sliding and window is not None:
            spec = SlidingWindowSpec(
                block_size, num_kv_heads, model.head_dim, dtype, sliding_window=window
            )
        else:
            spec = FullAttentionSpec(block_size, num_kv_heads, model.head_dim, dtype)
        specs[f"layers.{layer}"] = spec
    return specs
