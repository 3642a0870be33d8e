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

import numpy as np
import torch
from numpy.typing import NDArray

from kernels.runtime import mode
from kernels.runtime.argument_checks import (
    FLOATS,
    FP8,
    check_devices,
    check_places,
    check_same_dtype,
    check_tensor,
    describe,
    finite,
    short,
)

MAX_HEAD_DIM = 256
_NO_WINDOW = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Options:
    """The keywords of a checked attention call: defaults filled in, scales as float32 [Hkv]."""

    scale: float
    alibi_slopes: torch.Tensor | None
    sliding_window: int
    softcap: float
    k_scale: torch.Tensor | None
    v_scale: torch.Tensor | None

    @property
    def window(self) -> int:
        """The sliding window as a kernel takes it: a number of keys, more than any for all."""
        return min(self.sliding_window or _NO_WINDOW, _NO_WINDOW)


def check_decode(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor,
    seq_lens: torch.Tensor,
    *,
    lengths: str = "seq_lens",
) -> None:
    """Check types, shapes, dtypes, devices and strides of a decode call.

    lengths: the name that seq_lens goes by in the launcher.
    """
    check_tensor("q", q, "[B, Hq, D]", 3, FLOATS)
    _check_paged(q, k_cache, v_cache, block_tables, seq_lens, lengths)
    for name, tensor in (("block_tables", block_tables), (lengths, seq_lens)):
        if tensor.shape[0] != q.shape[0]:
            raise ValueError(f"{name} is for {tensor.shape[0]} sequences, q is for {q.shape[0]}")


def check_new_tokens(q: torch.Tensor, k_new: torch.Tensor, v_new: torch.Tensor, heads: int) -> None:
    """Check the keys and values that `fused_decode` gets beside the cache, for `heads` KV heads."""
    wanted = [q.shape[0], heads, q.shape[2]]
    for name, tensor in (("k_new", k_new), ("v_new", v_new)):
        check_tensor(name, tensor, "[B, Hkv, D]", 3, FLOATS)
        if list(tensor.shape) != wanted:
            raise ValueError(f"{name} has shape {list(tensor.shape)}, expected {wanted}")
    check_devices(q=q, k_new=k_new, v_new=v_new)
    check_same_dtype(q=q, k_new=k_new, v_new=v_new)


def check_prefill(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor,
    query_start_loc: torch.Tensor,
    seq_lens: torch.Tensor,
) -> NDArray[np.int64]:
    """Check a prefill call like a decode call, and where its queries start; returns [B] lengths."""
    check_tensor("q", q, "[T, Hq, D]", 3, FLOATS)
    _check_paged(q, k_cache, v_cache, block_tables, seq_lens, "seq_lens")
    check_tensor("query_start_loc", query_start_loc, "[B + 1]", 1, (torch.int32,))
    check_devices(q=q, query_start_loc=query_start_loc)
    num_seqs = seq_lens.shape[0]
    if block_tables.shape[0] != num_seqs:
        raise ValueError(
            f"block_tables is for {block_tables.shape[0]} sequences, seq_lens is for {num_seqs}"
        )
    if query_start_loc.shape[0] != num_seqs + 1:
        raise ValueError(
            f"query_start_loc has {query_start_loc.shape[0]} entries, expected {num_seqs + 1}: one "
            "for each sequence in seq_lens and the end"
        )
    starts = query_start_loc.cpu().numpy().astype(np.int64)
    if starts[0] != 0 or starts[-1] != q.shape[0]:
        raise ValueError(
            f"query_start_loc runs from {starts[0]} to {starts[-1]}, expected 0 to {q.shape[0]}, "
            "the number of q's tokens"
        )
    counts = np.diff(starts)
    for seq, (count, length) in enumerate(zip(counts, seq_lens.cpu().tolist(), strict=True)):
        if count < 0:
            raise ValueError(
                f"query_start_loc[{seq + 1}] = {starts[seq + 1]}: sequence {seq} would end before "
                f"it starts, at {starts[seq]}"
            )
        if count > max(length, 0):
            raise ValueError(
                f"seq_lens[{seq}] = {length}: sequence {seq} has {count} query tokens, and they "
                "count"
            )
    return counts


def check_tables(
    block_tables: torch.Tensor,
    seq_lens: torch.Tensor,
    k_cache: torch.Tensor,
    sliding_window: int,
    *,
    lengths: str = "seq_lens",
    num_queries: NDArray[np.int64] | int = 1,
) -> NDArray[np.int64]:
    """Check that every page a sequence can see is in its table, and in the cache.

    num_queries: how many of a sequence's last tokens are queries; 0 if its only query follows the
    tokens in the cache. Returns the lengths, [B].
    """
    num_blocks, block_size = k_cache.shape[:2]
    tables = block_tables.cpu().numpy()
    tokens = seq_lens.cpu().numpy().astype(np.int64)
    pages = -(-tokens // block_size)
    for seq in np.flatnonzero((tokens < 0) | (pages > tables.shape[1])):
        if tokens[seq] < 0:
            raise ValueError(
                f"{lengths}[{seq}] = {tokens[seq]}: sequence {seq} has a negative length"
            )
        raise ValueError(
            f"block_tables is too short for sequence {seq}: {lengths}[{seq}] = {tokens[seq]} needs "
            f"{pages[seq]} blocks of {block_size}, its table has room for {tables.shape[1]}"
        )
    # What a window has left behind is not read, and its blocks may be long gone.
    window = sliding_window or _NO_WINDOW
    first = np.maximum(0, tokens - num_queries + 1 - window) // block_size
    page = np.arange(tables.shape[1])
    read = (page >= first[:, None]) & (page < pages[:, None])
    for seq, entry in np.argwhere(read & ((tables < 0) | (tables >= num_blocks))):
        raise ValueError(
            f"block_tables[{seq}, {entry}] = {tables[seq, entry]}: sequence {seq} names a block "
            f"outside the cache, which has blocks 0 to {num_blocks - 1}"
        )
    return tokens


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
        raise TypeError(f"sliding_window must be an int, got {describe(sliding_window)}")
    if sliding_window < 0:
        raise ValueError(f"sliding_window = {sliding_window}: give a number of keys, or 0 for all")
    if finite("softcap", softcap) < 0:
        raise ValueError(f"softcap = {softcap}: give a positive bound, or 0 for none")
    if alibi_slopes is not None:
        check_tensor("alibi_slopes", alibi_slopes, "[Hq]", 1, (torch.float32,))
        check_devices(q=q, alibi_slopes=alibi_slopes)
        if alibi_slopes.shape[0] != num_heads:
            raise ValueError(
                f"alibi_slopes is for {alibi_slopes.shape[0]} heads, q has {num_heads}"
            )
    return Options(
        scale=head_dim**-0.5 if scale is None else finite("scale", scale),
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
    k_scale: float | torch.Tensor | None = None,
    v_scale: float | torch.Tensor | None = None,
) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """Check a cache write: the tensors, and that every slot is in the cache and named once.

    Returns both scales as float32 [Hkv].
    """
    check_tensor("key", key, "[T, Hkv, D]", 3, FLOATS)
    check_tensor("value", value, "[T, Hkv, D]", 3, FLOATS)
    _check_caches(k_cache, v_cache)
    check_tensor("slot_mapping", slot_mapping, "[T]", 1, (torch.int64,))
    check_devices(key=key, value=value, k_cache=k_cache, v_cache=v_cache, slot_mapping=slot_mapping)
    check_places(k_cache=k_cache, v_cache=v_cache)
    check_same_dtype(key=key, value=value)
    _check_cache_dtype("key", key, k_cache, v_cache)
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
    scales = [
        _write_scale(name, scale, k_cache)
        for name, scale in (("k_scale", k_scale), ("v_scale", v_scale))
    ]
    _check_slots(slot_mapping.cpu().tolist(), k_cache.shape[0] * k_cache.shape[1])
    return scales[0], scales[1]


def _check_paged(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor,
    seq_lens: torch.Tensor,
    lengths: str,
) -> None:
    """What decode and prefill have in common."""
    _check_caches(k_cache, v_cache)
    check_tensor("block_tables", block_tables, "[B, max_blocks]", 2, (torch.int32,))
    check_tensor(lengths, seq_lens, "[B]", 1, (torch.int32,))
    tensors = {"k_cache": k_cache, "v_cache": v_cache, "block_tables": block_tables}
    check_devices(q=q, **tensors, **{lengths: seq_lens})
    _check_cache_dtype("q", q, k_cache, v_cache)
    (_, num_heads, head_dim), num_kv_heads = q.shape, k_cache.shape[2]
    if head_dim != k_cache.shape[3]:
        raise ValueError(f"q has head_dim {head_dim}, k_cache has {k_cache.shape[3]}")
    if num_heads == 0 or num_heads % num_kv_heads:
        raise ValueError(
            f"q has {num_heads} heads, which is no multiple of k_cache's {num_kv_heads} KV heads"
        )


def _check_caches(k_cache: torch.Tensor, v_cache: torch.Tensor) -> None:
    shape = "[num_blocks, block_size, Hkv, D]"
    check_tensor("k_cache", k_cache, shape, 4, (*FLOATS, FP8))
    check_tensor("v_cache", v_cache, shape, 4, (*FLOATS, FP8))
    if k_cache.shape != v_cache.shape:
        raise ValueError(
            f"k_cache has shape {list(k_cache.shape)}, v_cache has {list(v_cache.shape)}"
        )
    for axis, size in zip(("block_size", "Hkv", "D"), k_cache.shape[1:], strict=True):
        if size == 0:
            raise ValueError(f"k_cache has {axis} 0: its shape is {list(k_cache.shape)}")
    if k_cache.shape[3] > MAX_HEAD_DIM:
        raise ValueError(f"k_cache has head_dim {k_cache.shape[3]}, at most {MAX_HEAD_DIM} works")


def _check_cache_dtype(
    name: str, tensor: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor
) -> None:
    """Both caches in fp8, or both like `tensor`."""
    if k_cache.dtype != FP8:
        check_same_dtype(**{name: tensor, "k_cache": k_cache, "v_cache": v_cache})
        return
    check_same_dtype(k_cache=k_cache, v_cache=v_cache)
    device = k_cache.device
    if device.type == "cuda" and torch.version.cuda and mode.decide().mode == "compiled":
        major, minor = torch.cuda.get_device_capability(device)
        if (major, minor) < (8, 9):
            raise ValueError(
                f"k_cache has dtype float8_e4m3fn, which needs compute capability 8.9: {device} "
                f"has {major}.{minor}; keep the cache in {short(tensor.dtype)}"
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
        return torch.full((num_kv_heads,), finite(name, scale), device=device)
    check_tensor(name, scale, "[Hkv]", 1, FLOATS)
    check_devices(k_cache=k_cache, **{name: scale})
    if scale.shape[0] != num_kv_heads:
        raise ValueError(f"{name} is for {scale.shape[0]} KV heads, k_cache has {num_kv_heads}")
    return scale.to(torch.float32)


def _write_scale(
    name: str, scale: float | torch.Tensor | None, k_cache: torch.Tensor
) -> torch.Tensor | None:
    """A scale to divide by, on the way into an fp8 cache."""
    checked = _head_scale(name, scale, k_cache)
    if checked is None:
        return None
    if k_cache.dtype != FP8:
        raise ValueError(
            f"{name} is given, but k_cache has dtype {short(k_cache.dtype)}: only fp8 caches "
            f"(float8_e4m3fn) hold scaled numbers, leave {name} None"
        )
    for head, number in enumerate(checked.tolist()):
        if not (math.isfinite(number) and number > 0):
            raise ValueError(f"{name} is {number} for KV head {head}: give a positive number")
    return checked
