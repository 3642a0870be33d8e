"""What a launcher refuses before a kernel runs.

A kernel trusts its numbers: a wrong block id reads foreign memory, and can end a Jupyter kernel
without a word. So every launcher asks here first. ValueError (TypeError for a wrong Python type)
names the argument, the value, and the sequence or token. Tables and lengths are copied to the CPU
to be looked at. On a GPU that waits for the work queued there: the price of never crashing.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from kernels import decision

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
MAX_HEAD_DIM = 256


@dataclass(frozen=True, slots=True)
class Options:
    """The keywords of a checked attention call: defaults filled in, scales as float32 [Hkv]."""

    scale: float
    alibi_slopes: torch.Tensor | None
    sliding_window: int
    softcap: float
    k_scale: torch.Tensor | None
    v_scale: torch.Tensor | None


def check_decode(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor,
    seq_lens: torch.Tensor,
) -> None:
    """Check types, shapes, dtypes, devices and strides of a decode call."""
    check_tensor("q", q, "[B, Hq, D]", 3, FLOATS)
    _check_caches(k_cache, v_cache)
    check_tensor("block_tables", block_tables, "[B, max_blocks]", 2, (torch.int32,))
    check_tensor("seq_lens", seq_lens, "[B]", 1, (torch.int32,))
    _check_together(
        q=q, k_cache=k_cache, v_cache=v_cache, block_tables=block_tables, seq_lens=seq_lens
    )
    _check_same_dtype(q=q, k_cache=k_cache, v_cache=v_cache)
    (num_seqs, num_heads, head_dim), num_kv_heads = q.shape, k_cache.shape[2]
    if head_dim != k_cache.shape[3]:
        raise ValueError(f"q has head_dim {head_dim}, k_cache has {k_cache.shape[3]}")
    if num_heads == 0 or num_heads % num_kv_heads:
        raise ValueError(
            f"q has {num_heads} heads, which is no multiple of k_cache's {num_kv_heads} KV heads"
        )
    for name, tensor in (("block_tables", block_tables), ("seq_lens", seq_lens)):
        if tensor.shape[0] != num_seqs:
            raise ValueError(f"{name} is for {tensor.shape[0]} sequences, q is for {num_seqs}")


def check_tables(
    block_tables: torch.Tensor,
    seq_lens: torch.Tensor,
    k_cache: torch.Tensor,
    sliding_window: int,
) -> None:
    """Check that every page a sequence can see is in its table, and in the cache."""
    num_blocks, block_size = k_cache.shape[:2]
    tables = block_tables.cpu().tolist()
    for seq, length in enumerate(seq_lens.cpu().tolist()):
        if length < 0:
            raise ValueError(f"seq_lens[{seq}] = {length}: sequence {seq} has a negative length")
        pages = -(-length // block_size)
        if pages > len(tables[seq]):
            raise ValueError(
                f"block_tables is too short for sequence {seq}: seq_lens[{seq}] = {length} needs "
                f"{pages} blocks of {block_size}, its table has room for {len(tables[seq])}"
            )
        # What a window has left behind is not read, and its blocks may be long gone.
        oldest = max(0, length - sliding_window) if sliding_window else 0
        for page in range(oldest // block_size, pages):
            if not 0 <= tables[seq][page] < num_blocks:
                raise ValueError(
                    f"block_tables[{seq}, {page}] = {tables[seq][page]}: sequence {seq} names a "
                    f"block outside the cache, which has blocks 0 to {num_blocks - 1}"
                )


def check_options(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    scale: float | None,
    alibi_slopes: torch.Tensor | None,
    sliding_window: int,
    softcap: float,
    k_scale: float | torch.Tensor | None,
    v_scale: float | torch.Tensor | None,
) -> Options:
    """Check the keywords of an attention call and fill in their defaults."""
    num_heads, head_dim = q.shape[-2:]
    if isinstance(sliding_window, bool) or not isinstance(sliding_window, numbers.Integral):
        raise TypeError(f"sliding_window must be an int, got {_describe(sliding_window)}")
    if sliding_window < 0:
        raise ValueError(f"sliding_window = {sliding_window}: give a number of keys, or 0 for all")
    if _finite("softcap", softcap) < 0:
        raise ValueError(f"softcap = {softcap}: give a positive bound, or 0 for none")
    if alibi_slopes is not None:
        check_tensor("alibi_slopes", alibi_slopes, "[Hq]", 1, (torch.float32,))
        _check_together(q=q, alibi_slopes=alibi_slopes)
        if alibi_slopes.shape[0] != num_heads:
            raise ValueError(
                f"alibi_slopes is for {alibi_slopes.shape[0]} heads, q has {num_heads}"
            )
    return Options(
        scale=head_dim**-0.5 if scale is None else _finite("scale", scale),
        alibi_slopes=alibi_slopes,
        sliding_window=int(sliding_window),
        softcap=float(softcap),
        k_scale=_head_scale("k_scale", k_scale, k_cache),
        v_scale=_head_scale("v_scale", v_scale, k_cache),
    )


def check_cache_write(
    key: torch.Tensor,
    value: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    slot_mapping: torch.Tensor,
) -> None:
    """Check a cache write: the tensors, and that every slot is in the cache and named once."""
    check_tensor("key", key, "[T, Hkv, D]", 3, FLOATS)
    check_tensor("value", value, "[T, Hkv, D]", 3, FLOATS)
    _check_caches(k_cache, v_cache)
    check_tensor("slot_mapping", slot_mapping, "[T]", 1, (torch.int64,))
    _check_together(
        key=key, value=value, k_cache=k_cache, v_cache=v_cache, slot_mapping=slot_mapping
    )
    _check_same_dtype(key=key, value=value, k_cache=k_cache, v_cache=v_cache)
    if key.shape != value.shape:
        raise ValueError(f"key has shape {list(key.shape)}, value has {list(value.shape)}")
    if key.shape[1:] != k_cache.shape[2:]:
        raise ValueError(
            f"key has [Hkv, D] = {list(key.shape[1:])}, k_cache has {list(k_cache.shape[2:])}"
        )
    if slot_mapping.shape[0] != key.shape[0]:
        raise ValueError(
            f"slot_mapping names {slot_mapping.shape[0]} slots for key's {key.shape[0]} tokens"
        )
    _check_slots(slot_mapping.cpu().tolist(), k_cache.shape[0] * k_cache.shape[1])


def check_tensor(
    name: str,
    tensor: torch.Tensor,
    shape: str,
    dims: int,
    dtypes: Sequence[torch.dtype],
) -> None:
    """Check one tensor: `shape` is its shape in words, `dims` the number of its axes."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{name} must be a torch.Tensor {shape}, got {_describe(tensor)}")
    if tensor.dim() != dims:
        raise ValueError(f"{name} must have shape {shape}, got {list(tensor.shape)}")
    if tensor.dtype not in dtypes:
        expected = " or ".join(_short(dtype) for dtype in dtypes)
        raise ValueError(f"{name} has dtype {_short(tensor.dtype)}, expected {expected}")
    if tensor.shape[-1] > 1 and tensor.stride(-1) != 1:
        raise ValueError(
            f"{name} is not contiguous along its last axis (its strides are "
            f"{list(tensor.stride())}): pass {name}.contiguous()"
        )


def _check_caches(k_cache: torch.Tensor, v_cache: torch.Tensor) -> None:
    shape = "[num_blocks, block_size, Hkv, D]"
    check_tensor("k_cache", k_cache, shape, 4, FLOATS)
    check_tensor("v_cache", v_cache, shape, 4, FLOATS)
    if k_cache.shape != v_cache.shape:
        raise ValueError(
            f"k_cache has shape {list(k_cache.shape)}, v_cache has {list(v_cache.shape)}"
        )
    for axis, size in zip(("block_size", "Hkv", "D"), k_cache.shape[1:], strict=True):
        if size == 0:
            raise ValueError(f"k_cache has {axis} 0: its shape is {list(k_cache.shape)}")
    if k_cache.shape[3] > MAX_HEAD_DIM:
        raise ValueError(f"k_cache has head_dim {k_cache.shape[3]}, at most {MAX_HEAD_DIM} works")


def _check_together(**tensors: torch.Tensor) -> None:
    """All on one device, and on one that this process's kernels can reach."""
    (first, reference), *others = tensors.items()
    for name, tensor in others:
        if tensor.device != reference.device:
            raise ValueError(f"{name} is on {tensor.device}, {first} is on {reference.device}")
    backend = decision.decide()
    if backend.mode == "compiled" and reference.device.type != decision.device():
        raise ValueError(
            f"{first} is on {reference.device}, but kernels are compiled for {backend.device} "
            f"({backend.reason}): put tensors on kernels.backend.device()"
        )
    if backend.mode == "interpreted" and reference.device.type not in ("cpu", "cuda"):
        raise ValueError(
            f"{first} is on {reference.device}, where Triton's interpreter cannot read: "
            "put tensors on kernels.backend.device()"
        )


def _check_same_dtype(**tensors: torch.Tensor) -> None:
    (first, reference), *others = tensors.items()
    for name, tensor in others:
        if tensor.dtype != reference.dtype:
            raise ValueError(
                f"{name} has dtype {_short(tensor.dtype)}, {first} has {_short(reference.dtype)}: "
                "convert one with .to(dtype)"
            )


def _check_slots(slots: Sequence[int], num_slots: int) -> None:
    writer: dict[int, int] = {}
    for token, slot in enumerate(slots):
        if slot == -1:
            continue
        if not 0 <= slot < num_slots:
            raise ValueError(
                f"slot_mapping[{token}] = {slot}: token {token} goes outside the cache, which has "
                f"slots 0 to {num_slots - 1} (-1 skips a token)"
            )
        if slot in writer:
            raise ValueError(
                f"slot_mapping[{token}] = {slot}: tokens {writer[slot]} and {token} share a slot, "
                "and programs run in no order, so either could win"
            )
        writer[slot] = token


def _head_scale(
    name: str, scale: float | torch.Tensor | None, k_cache: torch.Tensor
) -> torch.Tensor | None:
    num_kv_heads, device = k_cache.shape[2], k_cache.device
    if scale is None:
        return None
    if not isinstance(scale, torch.Tensor):
        return torch.full((num_kv_heads,), _finite(name, scale), device=device)
    check_tensor(name, scale, "[Hkv]", 1, FLOATS)
    _check_together(k_cache=k_cache, **{name: scale})
    if scale.shape[0] != num_kv_heads:
        raise ValueError(f"{name} is for {scale.shape[0]} KV heads, k_cache has {num_kv_heads}")
    return scale.to(torch.float32)


def _finite(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {_describe(value)}")
    if not math.isfinite(value):
        raise ValueError(f"{name} = {value}: give a finite number")
    return float(value)


def _describe(value: object) -> str:
    return f"{value!r} ({type(value).__name__})"[:80]


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
