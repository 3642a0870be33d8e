"""The candidates: our kernels, and what others offer for the same step.

A candidate gets the inputs once and returns a `Peer`: whatever a serving engine would do once a
model or once a step is done before the clock starts. A candidate that is not installed, or cannot
do a case, raises; its row then says why.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pagesim import kernels
from pagesim.kernels.bench.cases import Inputs
from pagesim.kernels.runtime import mode

_FLEX_PAGE = 128  # FlexAttention's own block: smaller pages are slow


@dataclass(frozen=True, slots=True)
class Peer:
    """run: the attention, returns [B, Hq, D]; gather: what must precede it, timed separately."""

    run: Callable[[], Tensor]
    gather: Callable[[], list[Tensor]] | None = None


def ours(kernel: Callable[..., Any], inputs: Inputs) -> Peer:
    """One of our kernels, planned before."""
    plan = kernels.plan_decode(*inputs.arguments)
    return Peer(lambda: kernel(*inputs.arguments, plan=plan))


def sdpa(inputs: Inputs) -> Peer:
    """torch's scaled_dot_product_attention, on K and V that a gather made contiguous."""
    _same_dtype(inputs)
    slots, mask = _padded_slots(inputs)

    def gathered() -> list[Tensor]:
        caches = (inputs.k_cache, inputs.v_cache)
        return [cache.flatten(0, 1)[slots].transpose(1, 2) for cache in caches]

    # Kept as transposed views: [B, Hkv, tokens, D] without another copy.
    k, v = gathered()
    query = inputs.q[:, :, None]

    def run() -> Tensor:
        attend = torch.nn.functional.scaled_dot_product_attention
        return attend(query, k, v, attn_mask=mask, enable_gqa=True)[:, :, 0]

    return Peer(run, gathered)


def flex(inputs: Inputs) -> Peer:
    """torch's FlexAttention with its PagedAttention, in pages of its own size."""
    _same_dtype(inputs)
    flex_attention = import_module("torch.nn.attention.flex_attention")
    paged = import_module("torch.nn.attention.experimental._paged_attention").PagedAttention
    case, device = inputs.case, inputs.q.device
    page = _FLEX_PAGE if device.type == "cuda" else case.block_size
    longest = int(inputs.lengths.max())
    padded = -(-longest // page) * page
    pages = case.batch * padded // page
    table = paged(pages, page, case.batch, device=device.type)
    table.empty_pages = np.random.default_rng(0).permutation(pages).tolist()
    caches = _flex_caches(inputs, table, pages * page)
    lens = inputs.seq_lens

    def inside(b: Tensor, h: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return key < lens[b]

    logical = flex_attention.create_block_mask(
        inside, case.batch, None, 1, padded, device=device.type, BLOCK_SIZE=(128, page)
    )
    mask = table.convert_logical_block_mask(logical)
    attend: Callable[..., Tensor] = flex_attention.flex_attention
    if device.type == "cuda":
        attend = torch.compile(attend, dynamic=False)
    query = inputs.q[:, :, None]

    def run() -> Tensor:
        return attend(query, *caches, block_mask=mask, enable_gqa=True)[:, :, 0]

    return Peer(run)


def _flex_caches(inputs: Inputs, table: Any, size: int) -> list[torch.Tensor]:
    """The caches that FlexAttention reads, filled through its own page table."""
    case, device = inputs.case, inputs.q.device
    slots, _ = _padded_slots(inputs)
    room = (1, case.kv_heads, size, case.head_dim)
    caches = [torch.zeros(room, dtype=inputs.q.dtype, device=device) for _ in ("k", "v")]
    for seq in range(case.batch):
        number = torch.tensor([seq], device=device)
        length = int(inputs.lengths[seq])
        table.reserve(number[0], torch.tensor(length, device=device))
        k, v = (
            cache.flatten(0, 1)[slots[seq, :length]].transpose(0, 1)[None]
            for cache in (inputs.k_cache, inputs.v_cache)
        )
        place = torch.arange(length, device=device)[None]
        table.assign(number, place, k, v, *caches)
    return caches


def flashinfer(inputs: Inputs) -> Peer:
    """FlashInfer's paged decode with tensor cores, on our cache as it is."""
    _same_dtype(inputs)
    library = import_module("flashinfer")
    case, device = inputs.case, inputs.q.device
    counts = -(-inputs.lengths // case.block_size)
    tables = inputs.block_tables.cpu().numpy()
    indices = np.concatenate([row[:n] for row, n in zip(tables, counts, strict=True)])
    starts = np.concatenate([[0], np.cumsum(counts)])
    last = inputs.lengths - (counts - 1) * case.block_size
    workspace = torch.empty(256 * 2**20, dtype=torch.uint8, device=device)
    wrapper = library.BatchDecodeWithPagedKVCacheWrapper(workspace, "NHD", use_tensor_cores=True)
    wrapper.plan(
        *(torch.from_numpy(x.astype(np.int32)).to(device) for x in (starts, indices, last)),
        case.heads,
        case.kv_heads,
        case.head_dim,
        case.block_size,
        q_data_type=inputs.q.dtype,
        kv_data_type=inputs.k_cache.dtype,
    )
    return Peer(lambda: wrapper.run(inputs.q, (inputs.k_cache, inputs.v_cache)))


CANDIDATES: dict[str, Callable[[Inputs], Peer]] = {
    "paged_attention_v2": partial(ours, kernels.paged_attention_v2),
    "paged_attention_v1": partial(ours, kernels.paged_attention_v1),
    "SDPA": sdpa,
    "FlexAttention": flex,
    "FlashInfer": flashinfer,
}


def _same_dtype(inputs: Inputs) -> None:
    if inputs.q.dtype != inputs.k_cache.dtype:
        raise NotImplementedError(f"not measured with a {inputs.k_cache.dtype} cache")


def _padded_slots(inputs: Inputs) -> tuple[Tensor, Tensor | None]:
    """Each token's slot, [B, longest], and which entries are tokens (None: all are).

    Past a sequence's end the slot is that of its first token, which is masked.
    """
    size, longest = inputs.case.block_size, int(inputs.lengths.max())
    position = torch.arange(longest, device=mode.device())
    there = position[None] < inputs.seq_lens[:, None]
    position = torch.where(there, position[None], 0)
    block = inputs.block_tables.long().gather(1, position // size)
    mask = None if bool(there.all()) else there[:, None, None, :]
    return block * size + position % size, mask
