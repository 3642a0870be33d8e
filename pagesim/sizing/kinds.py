"""The kinds of layers by name: one short word each, and what a picture or a sentence calls them."""

from pagesim.sizing.kv_cache_spec import (
    ChunkedLocalAttentionSpec,
    FullAttentionSpec,
    KVCacheSpec,
    MambaSpec,
    MLAAttentionSpec,
    SlidingWindowSpec,
    UniformTypeKVCacheSpecs,
)

KINDS: dict[type[KVCacheSpec], str] = {
    FullAttentionSpec: "full",
    SlidingWindowSpec: "window",
    ChunkedLocalAttentionSpec: "chunked",
    MLAAttentionSpec: "mla",
    MambaSpec: "mamba",
    UniformTypeKVCacheSpecs: "uniform",
}
"""As recordings name them."""

KEPT = {"chunked": "chunks", "mla": "latent", "mamba": "states", "uniform": "mixed"}
"""What such layers keep, where it goes by another name."""

WORDS = {"full": "full attention", "latent": "latent vectors", "mixed": "pages of several sizes"}
"""The same in words, where one word would not be understood."""


def kind_of(spec: KVCacheSpec) -> str:
    """What the layers of a group keep: full, window, chunks, states, latent or mixed."""
    kind = KINDS[type(spec)]
    return KEPT.get(kind, kind)


def lengths_of(spec: KVCacheSpec) -> dict[str, int | None]:
    """Its window and its chunk, or that of some of its layers, as vLLM names them; else None."""
    names = ("sliding_window", "attention_chunk_size")
    return {name: getattr(spec, name, None) for name in names}


def words_of(spec: KVCacheSpec) -> str:
    """The same in words, with the length of the window or of the chunks."""
    if isinstance(spec, SlidingWindowSpec):
        return f"a window of {spec.sliding_window:,} tokens"
    if isinstance(spec, ChunkedLocalAttentionSpec):
        return f"chunks of {spec.attention_chunk_size:,} tokens"
    words = WORDS.get(kind_of(spec), kind_of(spec))
    window, chunk = lengths_of(spec).values()
    if window is not None:
        return f"{words}, though some have a window of {window:,} tokens"
    return words if chunk is None else f"{words}, though some have chunks of {chunk:,} tokens"
