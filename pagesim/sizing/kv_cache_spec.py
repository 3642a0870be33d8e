"""What one layer keeps of a block of tokens: its page. The three kinds have vLLM's names.

Source: vLLM V1, ``vllm/v1/kv_cache_interface.py``.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from pagesim.checks import check_choice, check_int
from pagesim.sizing.dtypes import dtype_bytes
from pagesim.sizing.model import ModelSpec


@dataclass(frozen=True, slots=True)
class KVCacheSpec:
    """One layer on one rank, whose blocks have ``block_size`` tokens."""

    block_size: int

    def __post_init__(self) -> None:
        check_int("block_size", self.block_size, 1)

    @property
    def page_size_bytes(self) -> int:
        """The bytes of one block in this layer."""
        raise NotImplementedError

    def blocks_for(self, max_model_len: int, max_num_batched_tokens: int) -> int:
        """The most blocks that a sequence of ``max_model_len`` tokens ever holds."""
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
    def page_size_bytes(self) -> int:
        """The bytes of one block in this layer: keys and values."""
        return 2 * self._numbers * dtype_bytes(self.dtype)

    @property
    def _numbers(self) -> int:
        return self.block_size * self.num_kv_heads * self.head_size


@dataclass(frozen=True, slots=True)
class FullAttentionSpec(AttentionSpec):
    """A layer that attends to all tokens: every block of a sequence stays."""


@dataclass(frozen=True, slots=True)
class SlidingWindowSpec(AttentionSpec):
    """A layer that attends to the last ``sliding_window`` tokens: earlier blocks are freed."""

    _: KW_ONLY
    sliding_window: int

    def __post_init__(self) -> None:
        check_int("block_size", self.block_size, 1)
        check_int("sliding_window", self.sliding_window, 1)

    def blocks_for(self, max_model_len: int, max_num_batched_tokens: int) -> int:
        """A window, the tokens of one step, and one more block: a window may begin inside one."""
        held = min(self.sliding_window - 1 + max_num_batched_tokens, max_model_len)
        return -(-held // self.block_size) + 1


@dataclass(frozen=True, slots=True)
class MLAAttentionSpec(AttentionSpec):
    """A layer with latent attention: one vector per token serves as key and value."""

    @property
    def page_size_bytes(self) -> int:
        """The bytes of one block in this layer: the latent vectors, once."""
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
        check_int("block_size", self.block_size, 1)
        check_int("state_bytes", self.state_bytes, 0)
        check_choice("mamba_cache_mode", self.mamba_cache_mode, ("none", "align"))
        check_int("num_prefill_checkpoint_blocks", self.num_prefill_checkpoint_blocks, 0)
        if self.prefill_checkpoint_alignment is not None:
            check_int("prefill_checkpoint_alignment", self.prefill_checkpoint_alignment, 1)

    @property
    def page_size_bytes(self) -> int:
        """The bytes of one block in this layer: a state."""
        return self.state_bytes


def get_kv_cache_spec(
    model: ModelSpec, layers: Sequence[int], *, block_size: int, num_kv_heads: int, dtype: str
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
