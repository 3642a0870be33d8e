"""Makes the layers of a model alike, so that their blocks have one size.

Source: vLLM V1, ``unify_hybrid_kv_cache_specs`` and ``unify_kv_cache_spec_page_size`` in
``vllm/v1/core/kv_cache_utils.py``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pagesim.errors import UnsupportedError, UsageError
from pagesim.sizing.kv_cache_spec import (
    AttentionSpec,
    ChunkedLocalAttentionSpec,
    FullAttentionSpec,
    KVCacheSpec,
    MLAAttentionSpec,
    SlidingWindowSpec,
)

Specs = Mapping[str, KVCacheSpec]


def merged(specs: Iterable[KVCacheSpec]) -> KVCacheSpec | None:
    """The spec that stands for all of these, or None: they are equal but for one memory.

    Layers of full attention may remember a window (or a chunk) while others remember none.
    """
    every = [*dict.fromkeys(specs)]  # the layers of a kind are equal
    bare = {_without_memory(spec) for spec in every}
    memories = {memory for spec in every if (memory := _memory(spec)) != (None, None)}
    if len(bare) > 1 or len(memories) > 1:
        return None
    return next((spec for spec in every if _memory(spec) in memories), every[0])


def are_of_one_type(specs: Iterable[KVCacheSpec]) -> bool:
    """Whether a sequence has the same blocks in all layers, however large their pages are."""
    return len({_type_of(spec) for spec in specs}) == 1


def _type_of(spec: KVCacheSpec) -> tuple[str, int, int | None]:
    """Equal for layers in which a sequence has the same blocks."""
    if isinstance(spec, FullAttentionSpec | MLAAttentionSpec):
        return "full", spec.block_size, None
    if isinstance(spec, SlidingWindowSpec):
        return "window", spec.block_size, spec.sliding_window
    if isinstance(spec, ChunkedLocalAttentionSpec):
        return "chunk", spec.block_size, spec.attention_chunk_size
    return "state", spec.block_size, spec.page_size_bytes


def _memory(spec: KVCacheSpec) -> tuple[int | None, int | None]:
    """The window and the chunk that a layer of full attention remembers."""
    if isinstance(spec, FullAttentionSpec):
        return spec.sliding_window, spec.attention_chunk_size
    return None, None


def _without_memory(spec: KVCacheSpec) -> KVCacheSpec:
    if isinstance(spec, FullAttentionSpec):
        return replace(spec, sliding_window=None, attention_chunk_size=None)
    return spec


def as_full_attention(specs: Specs) -> dict[str, KVCacheSpec]:
    """The same layers, with windows and chunks allocated like full attention and remembered."""
    every = specs.values()
    size = next((spec.block_size for spec in every if _type_of(spec)[0] == "full"), None)
    return {name: _promoted(spec, size or spec.block_size) for name, spec in specs.items()}


def _promoted(spec: KVCacheSpec, block_size: int) -> KVCacheSpec:
    if not isinstance(spec, SlidingWindowSpec | ChunkedLocalAttentionSpec):
        return spec
    return FullAttentionSpec(
        block_size,
        spec.num_kv_heads,
        spec.head_size,
        spec.dtype,
        page_size_padded=spec.page_size_padded,
        sliding_window=getattr(spec, "sliding_window", None),
        attention_chunk_size=getattr(spec, "attention_chunk_size", None),
    )


def unify_hybrid_kv_cache_specs(specs: Specs) -> Specs:
    """The layers without the hybrid manager: windows beside full attention become full as well.

    UsageError if the layers are not of one type then: vLLM refuses such a model.
    """
    if merged(specs.values()) is not None or are_of_one_type(specs.values()):
        return specs
    kinds = {_type_of(spec)[0] for spec in specs.values()}
    found = as_full_attention(specs) if "full" in kinds and len(kinds) > 1 else specs
    memories = {_memory(spec) for spec in found.values()} - {(None, None)}
    if len(memories) > 1 or not are_of_one_type(found.values()):
        raise UsageError(
            "disable_hybrid_kv_cache_manager is true, but the layers are still of different types "
            f"as full attention ({_words(specs)}): leave the hybrid KV cache manager enabled"
        )
    return found


def _words(specs: Specs) -> str:
    """What the layers are, such as "full, window 128"."""
    words: dict[str, None] = {}
    for spec in specs.values():
        kind, _, length = _type_of(spec)
        words[f"{kind} {length}" if kind in ("window", "chunk") else str(kind)] = None
    return ", ".join(words)


def unify_kv_cache_spec_page_size(specs: Specs) -> dict[str, KVCacheSpec] | None:
    """The same layers with pages as large as the largest one.

    A page that fits into it several times gets as many times the tokens. Any other page is padded:
    the rest of it stays empty. Latent attention cannot be padded: UnsupportedError, or None if the
    other layers have windows, because then all layers can be one group of full attention.
    """
    largest = max(spec.page_size_bytes for spec in specs.values())
    found = {}
    for name, spec in specs.items():
        page = spec.page_size_bytes
        if page == largest:
            found[name] = spec
        elif isinstance(spec, AttentionSpec) and largest % page == 0:
            padded = None if spec.page_size_padded is None else largest
            tokens = spec.block_size * (largest // page)
            found[name] = replace(spec, block_size=tokens, page_size_padded=padded)
        elif not isinstance(spec, MLAAttentionSpec):
            found[name] = replace(spec, page_size_padded=largest)
        elif all(isinstance(one, MLAAttentionSpec | SlidingWindowSpec) for one in specs.values()):
            return None
        else:
            raise UnsupportedError(
                f"a page of {name}, which has latent attention, takes {page:,} bytes, and the "
                f"largest page {largest:,}: not a multiple, and vLLM does not pad such a page. "
                "Choose another block_size"
            )
    return found
