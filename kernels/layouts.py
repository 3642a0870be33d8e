"""The cache layouts of vLLM's CUDA kernels, and the way there and back.

Ours is that of vLLM's FlashAttention path, `[num_blocks, block_size, Hkv, D]`: a head of a token is
contiguous. vLLM's CUDA kernels `paged_attention_v1/v2` order K and V differently, so that
neighbouring threads of a warp read neighbouring bytes:

    K  [num_blocks, Hkv, D/x, block_size, x]        x numbers of a key make 16 bytes

       block 5, head 0    d 0…x-1    [ token 0 | token 1 | … ]     a thread takes 16 bytes of "its"
                          d x…2x-1   [ token 0 | token 1 | … ]     token, its neighbour the next's
                          …

    V  [num_blocks, Hkv, D, block_size]             a thread takes one d of several tokens

       block 5, head 0    d 0        [ token 0   token 1   … ]
                          d 1        [ token 0   token 1   … ]

(vLLM 0.6.4.post1: csrc/attention/attention_kernels.cuh; csrc/cache_kernels.cu writes it.)
Converting there and back gives every bit again.
"""

import torch


def to_cuda_layout(
    k_cache: torch.Tensor, v_cache: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Make new caches in the CUDA kernels' layouts from those in [num_blocks, block_size, Hkv, D].

    Returns K [num_blocks, Hkv, D/x, block_size, x] and V [num_blocks, Hkv, D, block_size], where x
    elements take 16 bytes. Raises ValueError unless D is a multiple of x.
    """
    for name, cache in (("k_cache", k_cache), ("v_cache", v_cache)):
        _check(name, cache, "[num_blocks, block_size, Hkv, D]", 4)
    x = 16 // k_cache.element_size()
    num_blocks, block_size, num_heads, head_dim = k_cache.shape
    if head_dim % x:
        raise ValueError(
            f"k_cache has head_dim {head_dim}, not a multiple of x = {x}: this layout cuts a key "
            "into pieces of 16 bytes"
        )
    pieces = k_cache.reshape(num_blocks, block_size, num_heads, head_dim // x, x)
    return pieces.permute(0, 2, 3, 1, 4).contiguous(), v_cache.permute(0, 2, 3, 1).contiguous()


def from_cuda_layout(
    k_cache: torch.Tensor, v_cache: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Make new caches [num_blocks, block_size, Hkv, D] from those in the CUDA kernels' layouts.

    k_cache: [num_blocks, Hkv, D/x, block_size, x]; v_cache: [num_blocks, Hkv, D, block_size].
    """
    _check("k_cache", k_cache, "[num_blocks, Hkv, D/x, block_size, x]", 5)
    _check("v_cache", v_cache, "[num_blocks, Hkv, D, block_size]", 4)
    num_blocks, num_heads, pieces, block_size, x = k_cache.shape
    keys = k_cache.permute(0, 3, 1, 2, 4).reshape(num_blocks, block_size, num_heads, pieces * x)
    return keys.contiguous(), v_cache.permute(0, 3, 1, 2).contiguous()


def _check(name: str, cache: torch.Tensor, shape: str, dims: int) -> None:
    if not isinstance(cache, torch.Tensor):
        raise TypeError(f"{name} must be a torch.Tensor {shape}, got {type(cache).__name__}")
    if cache.dim() != dims:
        raise ValueError(f"{name} must have shape {shape}, got {list(cache.shape)}")
