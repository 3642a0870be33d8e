"""What one layer keeps of a block of tokens: its page. The kinds have vLLM's names.

Source: vLLM V1, ``vllm/v1/kv_cache_interface.py``.
"""

from dataclasses import KW_ONLY, dataclass, field

from pagesim.checks import check_choice, check_int
from pagesim.sizing.dtypes import dtype_bytes


@dataclass(frozen=True, slots=True)
class KVCacheSpec:
    """One layer on one rank, whose blocks have ``block_size`` tokens.

    ``page_size_padded`` makes a page larger than what is kept in it, so that the pages of all
    layers have one size.
    """

    block_size: int
    page_size_padded: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_int("block_size", self.block_size, 1)
        if self.page_size_padded is not None:
            check_int("page_size_padded", self.page_size_padded, 1)

    @property
    def real_page_size_bytes(self) -> int:
        """The bytes that a block keeps in this layer."""
        raise NotImplementedError

    @property
    def page_size_bytes(self) -> int:
        """The bytes of one block in this layer, with its padding."""
        return max(self.real_page_size_bytes, self.page_size_padded or 0)

    def blocks_for(self, max_model_len: int, max_in_flight_tokens: int) -> int:
        """The most blocks that a sequence of ``max_model_len`` tokens ever holds.

        ``max_in_flight_tokens`` are those of the steps that are computed at the same time.
        """
        return -(-max_model_len // self.block_size)


@dataclass(frozen=True, slots=True)
class AttentionSpec(KVCacheSpec):
    """Keys and values: ``num_kv_heads`` heads of ``head_size`` numbers of a cache dtype.

    Which blocks a sequence has does not depend on them, so that an engine needs only the rest.
    """

    num_kv_heads: int = 1
    head_size: int = 1
    dtype: str = "bfloat16"

    @property
    def real_page_size_bytes(self) -> int:
        """The bytes that a block keeps in this layer: keys and values."""
        return 2 * self._numbers * dtype_bytes(self.dtype)

    @property
    def _numbers(self) -> int:
        return self.block_size * self.num_kv_heads * self.head_size


@dataclass(frozen=True, slots=True)
class FullAttentionSpec(AttentionSpec):
    """A layer whose blocks all stay. Usually it attends to all tokens.

    Without the hybrid KV cache manager, a layer with a window or with chunks is allocated like
    this, and remembers its ``sliding_window`` or ``attention_chunk_size``.
    """

    _: KW_ONLY
    sliding_window: int | None = None
    attention_chunk_size: int | None = None


@dataclass(frozen=True, slots=True)
class SlidingWindowSpec(AttentionSpec):
    """A layer that attends to the last ``sliding_window`` tokens: earlier blocks are freed."""

    _: KW_ONLY
    sliding_window: int

    def __post_init__(self) -> None:
        AttentionSpec.__post_init__(self)
        check_int("sliding_window", self.sliding_window, 1)

    def blocks_for(self, max_model_len: int, max_in_flight_tokens: int) -> int:
        """A window, the tokens in flight, and one more block: a window may begin inside one."""
        held = min(self.sliding_window - 1 + max_in_flight_tokens, max_model_len)
        return -(-held // self.block_size) + 1


@dataclass(frozen=True, slots=True)
class ChunkedLocalAttentionSpec(AttentionSpec):
    """A layer that attends to its own chunk of ``attention_chunk_size`` tokens (Llama 4)."""

    _: KW_ONLY
    attention_chunk_size: int

    def __post_init__(self) -> None:
        AttentionSpec.__post_init__(self)
        check_int("attention_chunk_size", self.attention_chunk_size, 1)

    def blocks_for(self, max_model_len: int, max_in_flight_tokens: int) -> int:
        """A chunk and the tokens in flight; a chunk begins where a block does."""
        return -(
            -min(self.attention_chunk_size + max_in_flight_tokens, max_model_len) // self.block_size
        )


@dataclass(frozen=True, slots=True)
class MLAAttentionSpec(AttentionSpec):
    """A layer with latent attention: one vector per token serves as key and value."""

    @property
    def real_page_size_bytes(self) -> int:
        """The bytes that a block keeps in this layer: the latent vectors, once."""
        return self._numbers * dtype_bytes(self.dtype)


@dataclass(frozen=True, slots=True)
class MambaSpec(KVCacheSpec):
    """A layer that keeps a state of ``state_bytes`` bytes instead of keys and values.

    In mode "align" a block holds the state after the tokens up to its end, and a prompt's chunks
    end where a block does; in mode "none" a request has one block, whose state is never found
    again. ``num_prefill_checkpoint_blocks`` is 1 if the kernel can also keep a state from inside a
    chunk, at a multiple of ``prefill_checkpoint_alignment`` tokens after its start.
    """

    state_bytes: int = 0
    _: KW_ONLY
    mamba_cache_mode: str = "none"
    num_prefill_checkpoint_blocks: int = 0
    prefill_checkpoint_alignment: int | None = None

    def __post_init__(self) -> None:
        KVCacheSpec.__post_init__(self)
        check_int("state_bytes", self.state_bytes, 0)
        check_choice("mamba_cache_mode", self.mamba_cache_mode, ("none", "align"))
        check_int("num_prefill_checkpoint_blocks", self.num_prefill_checkpoint_blocks, 0)
        if self.prefill_checkpoint_alignment is not None:
            check_int("prefill_checkpoint_alignment", self.prefill_checkpoint_alignment, 1)

    @property
    def real_page_size_bytes(self) -> int:
        """The bytes that a block keeps in this layer: a state."""
        return self.state_bytes

    def blocks_for(self, max_model_len: int, max_in_flight_tokens: int) -> int:
        """A state, whatever the length; in mode "align" also those before it and in a chunk."""
        if self.mamba_cache_mode == "none":
            return 1
        return 2 + self.num_prefill_checkpoint_blocks


@dataclass(frozen=True, slots=True)
class UniformTypeKVCacheSpecs(KVCacheSpec):
    """The layers of a single group whose pages differ in size, by name.

    Its page is that of all layers together.
    """

    kv_cache_specs: tuple[tuple[str, KVCacheSpec], ...] = ()

    @property
    def real_page_size_bytes(self) -> int:
        """The bytes that a block keeps in all layers."""
        return sum(spec.page_size_bytes for _, spec in self.kv_cache_specs)

    def blocks_for(self, max_model_len: int, max_in_flight_tokens: int) -> int:
        """As many as a layer needs; the layers are of one type, so they need the same."""
        specs = (spec for _, spec in self.kv_cache_specs)
        return max(spec.blocks_for(max_model_len, max_in_flight_tokens) for spec in specs)
