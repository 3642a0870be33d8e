"""V1, vLLM's current engine: its cache in an amount of memory."""

from dataclasses import replace

from pagesim.checks import check_bool, check_int
from pagesim.sizing.amount import ByteRange
from pagesim.sizing.cache_size import CacheSize
from pagesim.sizing.dtypes import cache_dtype, dtype_bytes
from pagesim.sizing.kv_cache_config import DEFAULT_MAX_NUM_BATCHED_TOKENS
from pagesim.sizing.layer_specs import get_kv_cache_spec
from pagesim.sizing.mamba_block_size import align_hybrid_block_size
from pagesim.sizing.mamba_cache import cache_mode, state_bytes
from pagesim.sizing.model import ModelSpec
from pagesim.sizing.ranks import kv_heads_per_rank, layers_per_rank


def size_v1(
    model: ModelSpec,
    memory: ByteRange | int | str,
    *,
    block_size: int = 16,
    dtype: str = "auto",
    kv_cache_dtype: str = "auto",
    tensor_parallel_size: int = 1,
    pipeline_parallel_size: int = 1,
    num_gpu_blocks_override: int | None = None,
    max_model_len: int | None = None,
    max_num_batched_tokens: int = DEFAULT_MAX_NUM_BATCHED_TOKENS,
    async_scheduling: bool = True,
    enable_prefix_caching: bool = True,
    mamba_cache_mode: str | None = None,
    mamba_ssm_cache_dtype: str = "auto",
    disable_hybrid_kv_cache_manager: bool = False,
) -> CacheSize:
    """Return the size of V1's cache in ``memory`` bytes per GPU.

    The other arguments are vLLM's flags of the same names. A sequence of ``max_model_len`` tokens
    must fit; -1 takes the longest that does, up to the model's own. By default it is the model's
    own, and nothing is checked. Beside states, ``block_size`` is only the least size of a block:
    `CacheSize.aligned` says why. ``mamba_cache_mode`` is "align", or "none" without prefix caching.

    UsageError or TypeError names the argument; not even one block fitting is such an error, and a
    sequence that does not fit a NotEnoughMemoryError.
    """
    check_int("block_size", block_size, 1)
    check_int("max_num_batched_tokens", max_num_batched_tokens, 1)
    check_bool("async_scheduling", async_scheduling)
    check_bool("enable_prefix_caching", enable_prefix_caching)
    check_bool("disable_hybrid_kv_cache_manager", disable_hybrid_kv_cache_manager)
    if max_model_len != -1 and max_model_len is not None:
        check_int("max_model_len", max_model_len, 1)
    kept = cache_dtype(model, dtype, kv_cache_dtype)
    kv_heads = kv_heads_per_rank(model, tensor_parallel_size)
    aligned, mamba = None, None
    if model.state_layers:
        state = state_bytes(model, tensor_parallel_size, dtype, mamba_ssm_cache_dtype)
        per_token = 2 * kv_heads * model.head_dim * dtype_bytes(kept)
        mode = cache_mode(mamba_cache_mode, enable_prefix_caching)
        aligned = align_hybrid_block_size(
            state, per_token, block_size=block_size, mamba_cache_mode=mode
        )
        block_size = aligned.block_size
        mamba = aligned.mamba_spec(mode, max_model_len, model.max_model_len)
    specs = [
        get_kv_cache_spec(
            model, layers, block_size=block_size, num_kv_heads=kv_heads, dtype=kept, mamba=mamba
        )
        for layers in layers_per_rank(model.num_layers, pipeline_parallel_size, engine="v1")
    ]
    found = CacheSize.of(
        "v1",
        model,
        kept,
        specs,
        memory,
        num_gpu_blocks_override,
        disable_hybrid_kv_cache_manager=disable_hybrid_kv_cache_manager,
    )
    found = replace(
        found,
        max_num_batched_tokens=max_num_batched_tokens,
        async_scheduling=async_scheduling,
        enable_prefix_caching=enable_prefix_caching,
        aligned=aligned,
    )
    return found.limited_to(max_model_len)
