"""What a launcher checks before a kernel runs.

A kernel trusts its numbers: a wrong block id reads foreign memory, and can end a Jupyter kernel
without a word. So every launcher asks here first. ValueError (TypeError for a wrong Python type)
names the argument, the value, and the sequence or token. Types, shapes, dtypes, strides and devices
are checked in every call. The contents of tables, lengths and slots are checked on the CPU, which
on a GPU waits for the work queued there: the price of never crashing, paid once a step where a plan
is passed on.
"""

import math
import numbers
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from pagesim.kernels.runtime import mode, table_checks
from pagesim.kernels.runtime.argument_checks import (
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
from pagesim.kernels.runtime.inputs import Facts, Numbers, Options, PagedInputs, Plan, require

MAX_HEAD_DIM = 256


def checked(inputs: PagedInputs, slot_mapping: torch.Tensor | None = None) -> PagedInputs:
    """Check an attention call, fill in its options' defaults and, if it has none, its plan.

    slot_mapping: a step's slots, for a plan that also serves `reshape_and_cache`.
    """
    call, q, k_cache, v_cache = inputs.call, inputs.q, inputs.k_cache, inputs.v_cache
    block_tables, lens, query_start_loc = inputs.block_tables, inputs.lens, inputs.query_start_loc
    check_tensor("q", q, "[T, Hq, D]" if call == "prefill" else "[B, Hq, D]", FLOATS)
    _check_caches(k_cache, v_cache)
    check_tensor("block_tables", block_tables, "[B, max_blocks]", (torch.int32,))
    lengths = "context_lens" if call == "fused decode" else "seq_lens"
    check_tensor(lengths, lens, "[B]", (torch.int32,))
    looked_at = {"block_tables": block_tables, lengths: lens}
    if call == "prefill":
        check_tensor("query_start_loc", query_start_loc, "[B + 1]", (torch.int32,))
        looked_at["query_start_loc"] = query_start_loc
    if slot_mapping is not None:
        check_tensor("slot_mapping", slot_mapping, "[T]", (torch.int64,))
        looked_at["slot_mapping"] = slot_mapping
    check_devices(q=q, k_cache=k_cache, v_cache=v_cache, **looked_at)
    _check_cache_dtype("q", q, k_cache, v_cache)
    _check_shapes(inputs, lengths)
    if call == "fused decode":
        _check_new_tokens(inputs)
    inputs = replace(inputs, options=_checked_options(q, k_cache, inputs.options))
    facts = {
        "the call": call,
        "q": _fact(q),
        "k_cache": _fact(k_cache),
        "sliding_window": inputs.options.sliding_window,
        **{name: _identity(tensor) for name, tensor in looked_at.items()},
    }
    if inputs.plan is None:
        return replace(inputs, plan=_look(inputs, facts, looked_at, lengths))
    require(inputs.plan, facts)
    return inputs


def _check_shapes(inputs: PagedInputs, lengths: str) -> None:
    """Queries, caches, tables and lengths must belong to the same heads and sequences."""
    q, k_cache, lens, starts = inputs.q, inputs.k_cache, inputs.lens, inputs.query_start_loc
    if q.shape[2] != k_cache.shape[3]:
        raise ValueError(
            f"q has head_dim {q.shape[2]}, but k_cache has {k_cache.shape[3]}: they must be equal"
        )
    table_checks.check_groups(q.shape[1], k_cache.shape[2])
    tables = inputs.block_tables
    if inputs.call != "prefill":
        table_checks.check_sequences(q.shape[0], block_tables=tables, **{lengths: lens})
        return
    table_checks.check_sequences(lens.shape[0], "seq_lens", block_tables=tables)
    if starts.shape[0] != lens.shape[0] + 1:
        raise ValueError(
            f"query_start_loc has {starts.shape[0]} entries, expected {lens.shape[0] + 1}: one "
            "for each sequence in seq_lens, and one for the end"
        )


def cache_write(
    key: torch.Tensor,
    value: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    slot_mapping: torch.Tensor,
    k_scale: float | torch.Tensor | None = None,
    v_scale: float | torch.Tensor | None = None,
    plan: Plan | None = None,
) -> tuple[list[torch.Tensor | None], Plan]:
    """Check a cache write; both scales as float32 [Hkv], and the plan, made if there is none."""
    check_tensor("key", key, "[T, Hkv, D]", FLOATS)
    check_tensor("value", value, "[T, Hkv, D]", FLOATS)
    _check_caches(k_cache, v_cache)
    check_tensor("slot_mapping", slot_mapping, "[T]", (torch.int64,))
    check_devices(key=key, value=value, k_cache=k_cache, v_cache=v_cache, slot_mapping=slot_mapping)
    check_places(k_cache=k_cache, v_cache=v_cache)
    check_same_dtype(key=key, value=value)
    _check_cache_dtype("key", key, k_cache, v_cache)
    _check_rows(key, value, k_cache, slot_mapping)
    facts = {"slot_mapping": _identity(slot_mapping), "k_cache": _fact(k_cache)}
    # A wrong scale crashes nothing, so it is not worth a look at a tensor in every layer.
    scales = [
        _divisor(name, scale, k_cache, look=not (plan and isinstance(scale, torch.Tensor)))
        for name, scale in (("k_scale", k_scale), ("v_scale", v_scale))
    ]
    if plan is None:
        (slots,) = _read(slot_mapping)
        table_checks.check_slots(slots, k_cache.shape[0] * k_cache.shape[1])
        plan = Plan(facts, tensors=(slot_mapping,))
    else:
        require(plan, facts)
    return scales, plan


def _check_rows(
    key: torch.Tensor, value: torch.Tensor, k_cache: torch.Tensor, slot_mapping: torch.Tensor
) -> None:
    """Each token has a key, a value and a slot, and fits into a row of the cache."""
    if key.shape != value.shape:
        raise ValueError(
            f"key has shape {list(key.shape)}, but value has {list(value.shape)}: they must be "
            "equal"
        )
    if key.shape[1:] != k_cache.shape[2:]:
        raise ValueError(
            f"key has [Hkv, D] = {list(key.shape[1:])}, but k_cache has {list(k_cache.shape[2:])}"
        )
    if slot_mapping.shape[0] != key.shape[0]:
        raise ValueError(
            f"slot_mapping has {slot_mapping.shape[0]} slots, but key has {key.shape[0]} tokens: "
            "each token needs one"
        )


def _look(
    inputs: PagedInputs, facts: Facts, looked_at: Mapping[str, torch.Tensor], lengths: str
) -> Plan:
    """Check the contents of tables, lengths, query starts and slots, copied to the CPU at once."""
    found = dict(zip(looked_at, _read(*looked_at.values()), strict=True))
    num_blocks, block_size = inputs.k_cache.shape[:2]
    tables, tokens = found["block_tables"], found[lengths]
    counts: Numbers | int = 0 if inputs.call == "fused decode" else 1
    if inputs.call == "prefill":
        counts = table_checks.query_counts(found["query_start_loc"], tokens, inputs.q.shape[0])
    window = inputs.options.sliding_window
    table_checks.check_tables(
        tables, tokens, num_blocks, block_size,
        lengths=lengths, sliding_window=window, counts=counts,
    )  # fmt: skip
    if "slot_mapping" in found:
        table_checks.check_slots(found["slot_mapping"], num_blocks * block_size)
    return Plan(facts, tables, tokens, counts, tensors=tuple(looked_at.values()))


def _read(*tensors: torch.Tensor) -> list[Numbers]:
    """Integer tensors on the CPU, fetched from a GPU with a single wait."""
    flat = torch.cat([tensor.reshape(-1).to(torch.int64) for tensor in tensors]).cpu().numpy()
    parts = np.split(flat, np.cumsum([tensor.numel() for tensor in tensors])[:-1])
    return [part.reshape(tensor.shape) for part, tensor in zip(parts, tensors, strict=True)]


def _fact(tensor: torch.Tensor) -> tuple[Any, ...]:
    """What a plan remembers of a tensor that every layer has its own of."""
    return short(tensor.dtype), list(tensor.shape), "on", str(tensor.device)


def _identity(tensor: torch.Tensor) -> tuple[Any, ...]:
    """What a plan remembers of a tensor whose contents it has read: torch counts its changes."""
    version = "?" if tensor.is_inference() else tensor._version
    where = ("at", hex(tensor.data_ptr()), "with strides", tensor.stride())
    return *_fact(tensor), *where, "after", version, "changes in place"


def _check_new_tokens(inputs: PagedInputs) -> None:
    """Check the keys and values that `fused_decode` gets in addition to the cache."""
    q, new = inputs.q, {"k_new": inputs.k_new, "v_new": inputs.v_new}
    wanted = [q.shape[0], inputs.k_cache.shape[2], q.shape[2]]
    for name, tensor in new.items():
        check_tensor(name, tensor, "[B, Hkv, D]", FLOATS)
        if list(tensor.shape) != wanted:
            raise ValueError(f"{name} has shape {list(tensor.shape)}, expected {wanted}")
    check_devices(q=q, **new)
    check_same_dtype(q=q, **new)


def _checked_options(q: torch.Tensor, k_cache: torch.Tensor, given: Options) -> Options:
    """Check the keywords of an attention call and fill in their defaults."""
    num_heads, head_dim = q.shape[1:]
    window, slopes = given.sliding_window, given.alibi_slopes
    if isinstance(window, bool) or not isinstance(window, numbers.Integral):
        raise TypeError(f"sliding_window must be an int, got {describe(window)}")
    if window < 0:
        raise ValueError(f"sliding_window = {window}: it must be a number of keys, or 0 for all")
    if finite("softcap", given.softcap) < 0:
        raise ValueError(f"softcap = {given.softcap}: it must be a positive bound, or 0 for none")
    if slopes is not None:
        check_tensor("alibi_slopes", slopes, "[Hq]", (torch.float32,))
        check_devices(q=q, alibi_slopes=slopes)
        if slopes.shape[0] != num_heads:
            raise ValueError(
                f"alibi_slopes has {slopes.shape[0]} slopes, but q has {num_heads} heads"
            )
    return Options(
        scale=head_dim**-0.5 if given.scale is None else finite("scale", given.scale),
        alibi_slopes=slopes,
        sliding_window=int(window),
        softcap=float(given.softcap),
        k_scale=_head_scale("k_scale", given.k_scale, k_cache),
        v_scale=_head_scale("v_scale", given.v_scale, k_cache),
    )


def _check_caches(k_cache: torch.Tensor, v_cache: torch.Tensor) -> None:
    shape = "[num_blocks, block_size, Hkv, D]"
    check_tensor("k_cache", k_cache, shape, (*FLOATS, FP8))
    check_tensor("v_cache", v_cache, shape, (*FLOATS, FP8))
    if k_cache.shape != v_cache.shape:
        raise ValueError(
            f"k_cache has shape {list(k_cache.shape)}, v_cache has {list(v_cache.shape)}"
        )
    for axis, size in zip(("block_size", "Hkv", "D"), k_cache.shape[1:], strict=True):
        if size == 0:
            raise ValueError(f"k_cache has {axis} = 0: its shape is {list(k_cache.shape)}")
    if k_cache.shape[3] > MAX_HEAD_DIM:
        raise ValueError(
            f"k_cache has head_dim {k_cache.shape[3]}: it must be at most {MAX_HEAD_DIM}"
        )


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


def _head_scale(
    name: str, scale: float | torch.Tensor | None, k_cache: torch.Tensor
) -> torch.Tensor | None:
    num_kv_heads, device = k_cache.shape[2], k_cache.device
    if scale is None:
        return None
    if not isinstance(scale, torch.Tensor):
        return torch.full((num_kv_heads,), finite(name, scale), device=device)
    check_tensor(name, scale, "[Hkv]", FLOATS)
    check_devices(k_cache=k_cache, **{name: scale})
    if scale.shape[0] != num_kv_heads:
        raise ValueError(
            f"{name} has {scale.shape[0]} scales, but k_cache has {num_kv_heads} KV heads"
        )
    return scale.to(torch.float32)


def _divisor(
    name: str, scale: float | torch.Tensor | None, k_cache: torch.Tensor, look: bool
) -> torch.Tensor | None:
    """A scale to divide by, on the way into an fp8 cache; ``look``: each number is checked."""
    if scale is not None and k_cache.dtype != FP8:
        raise ValueError(
            f"{name} is given, but k_cache has dtype {short(k_cache.dtype)}: only fp8 caches "
            f"(float8_e4m3fn) hold scaled elements; omit {name}"
        )
    found = _head_scale(name, scale, k_cache)
    if look and scale is not None:
        each = scale.tolist() if isinstance(scale, torch.Tensor) else scale
        for head, number in enumerate(np.ravel(each)):
            if not (math.isfinite(number) and number > 0):
                raise ValueError(
                    f"{name} is {number} for KV head {head}: it must be a positive number"
                )
    return found
