"""The kernels' answers where triton cannot give them: the NumPy reference, dressed as torch.

Launchers come here after all checks when `mode.decide().mode` is "reference"; `compare` uses
the same way into NumPy. NumPy has no bfloat16 and no float8: numbers to compute with are widened
(exactly) to float32, numbers to move are taken as bits.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, overload

import numpy as np
import torch
from numpy.typing import NDArray

from pagesim.kernels import reference
from pagesim.kernels.runtime import mode
from pagesim.kernels.runtime.argument_checks import FP8
from pagesim.kernels.runtime.inputs import PagedInputs

Launch = Callable[[torch.Tensor, Any, PagedInputs], None]
"""Starts a kernel that writes its output and, if it can and is asked to, its LSE."""


def to_numpy(tensor: torch.Tensor) -> NDArray[np.number]:
    """A tensor's values, unchanged, as a NumPy array on the CPU."""
    host = tensor.detach().cpu()
    narrow = host.dtype in (torch.bfloat16, FP8)
    return (host.float() if narrow else host).numpy()


def reference_arguments(inputs: PagedInputs) -> tuple[tuple[NDArray[Any], ...], dict[str, Any]]:
    """Positional and keyword arguments for the reference, of a checked call.

    Only the blocks that the tables name come along, renumbered: a cache of many GiB stays put.
    """
    plan, (num_blocks, block_size) = inputs.found, inputs.k_cache.shape[:2]
    tables, lengths = plan.tables, plan.lengths
    # Entries past a sequence's end or older than its window may hold anything and are not read:
    # give them a block that exists.
    sane = np.where((tables >= 0) & (tables < num_blocks), tables, 0)
    sane[:, -(-int(lengths.max(initial=0)) // block_size) :] = 0
    used, renumbered = np.unique(sane, return_inverse=True)
    if num_blocks == 0:
        used = used[:0]
    rows = torch.from_numpy(used).to(inputs.q.device)
    k_rows, v_rows = (to_numpy(_take(cache, rows)) for cache in (inputs.k_cache, inputs.v_cache))
    tables = renumbered.reshape(tables.shape)
    keywords = {
        name: to_numpy(value) if isinstance(value, torch.Tensor) else value
        for name in (field.name for field in fields(inputs.options))
        for value in [getattr(inputs.options, name)]
    }
    if inputs.call == "prefill":
        starts = np.concatenate([[0], np.cumsum(plan.counts)])
        tables, lengths = reference.one_row_per_query(starts, tables, lengths)
    elif inputs.call == "fused decode":
        k_new, v_new = to_numpy(inputs.k_new), to_numpy(inputs.v_new)
        scales = {name: keywords.pop(name) for name in ("k_scale", "v_scale")}
        k_rows, v_rows, tables, lengths = reference.with_new_tokens(
            k_new, v_new, k_rows, v_rows, tables, lengths, **scales
        )
    return (to_numpy(inputs.q), k_rows, v_rows, tables, lengths), keywords


@overload
def attend(launch: Launch, inputs: PagedInputs) -> torch.Tensor: ...


@overload
def attend(
    launch: Launch, inputs: PagedInputs, return_lse: bool
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]: ...


def attend(
    launch: Launch, inputs: PagedInputs, return_lse: bool = False
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Answer a checked attention call: by its kernel, or by the reference where there is no triton.

    Returns the output in q's dtype, with return_lse also LSE, float32.
    """
    q = inputs.q
    if mode.decide().mode == "reference":
        mode.announce_reference()
        arrays, keywords = reference_arguments(inputs)
        numbers = np.empty(tuple(q.shape[:2]))
        answer = reference.online_softmax_attention(*arrays, **keywords, lse_out=numbers)
        out, lse = torch.from_numpy(answer).to(q), torch.from_numpy(numbers).float().to(q.device)
    else:
        out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
        lse = None
        if return_lse:
            lse = torch.empty(q.shape[:2], dtype=torch.float32, device=q.device)
        if q.numel() > 0:
            with torch.cuda.device_of(q):
                launch(out, lse, inputs)
    return (out, lse) if return_lse and lse is not None else out


def online_softmax(x: torch.Tensor) -> torch.Tensor:
    """Row by row by `reference.online_softmax`, in x's dtype and on its device."""
    mode.announce_reference()
    rows = np.atleast_2d(to_numpy(x))
    out = np.array([reference.online_softmax(row) for row in rows]).reshape(tuple(x.shape))
    return torch.from_numpy(out).to(x)


def copy_blocks(caches: Sequence[torch.Tensor], moves: Sequence[dict[int, int]]) -> None:
    """Batches of {destination: source}, in every cache."""
    mode.announce_reference()
    for batch in moves:
        for cache in caches:
            bits = cache.view(torch.int8) if cache.dtype == FP8 else cache
            bits[list(batch.keys())] = bits[list(batch.values())]


def reshape_and_cache(
    key: torch.Tensor,
    value: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    slot_mapping: torch.Tensor,
    k_scale: torch.Tensor | None,
    v_scale: torch.Tensor | None,
) -> None:
    """The cache write by `reference.reshape_and_cache`, in place and bit for bit."""
    mode.announce_reference()
    # On the CPU .cpu() is no copy, so NumPy writes straight into the cache.
    hosts = [tensor.detach().cpu() for tensor in (k_cache, v_cache)]
    keys, values = (
        reference.to_fp8(to_numpy(tensor), None if scale is None else to_numpy(scale)).view(np.int8)
        if k_cache.dtype == FP8
        else _bits(tensor.detach().cpu())
        for tensor, scale in ((key, k_scale), (value, v_scale))
    )
    reference.reshape_and_cache(
        keys, values, _bits(hosts[0]), _bits(hosts[1]), slot_mapping.cpu().numpy()
    )
    if k_cache.device.type != "cpu":
        k_cache.detach().copy_(hosts[0])
        v_cache.detach().copy_(hosts[1])


def _take(cache: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Some blocks of a cache; torch cannot index float8, but it can index bytes."""
    if cache.dtype != FP8:
        return cache[rows]
    return cache.view(torch.uint8)[rows].view(cache.dtype)


def _bits(host: torch.Tensor) -> NDArray[np.number]:
    """A view of the numbers as integers of the same width."""
    return host.view({1: torch.int8, 2: torch.int16, 4: torch.int32}[host.element_size()]).numpy()
