"""Attention whose keys and values lie in pages: with the Triton kernels, with torch, with NumPy.

Each class is made for one step, and called once a layer, as a model's `attend`:

    attend = Torch(pool, batch)                  # pool.keys[layer] [N, block_size, Hkv, D]
    hidden = model(tokens, positions, attend)    # batch: a step's attention metadata

A call writes the new tokens' keys and values at their slots, then answers every query through its
sequence's table. Prefills come first in a batch; a decode is a sequence with one query. A window
is the number of tokens that a query sees, 0 for all. Layers with different windows, or with tables
of different groups, have an object each: `of_step` makes them.

Only the slots below seq_len count. Where whole pages are gathered, the others are masked and set to
zero: NaN or infinity that another request left there would outlast the mask, as 0 · NaN is NaN.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from pagesim import kernels
from pagesim.kernels import reference
from pagesim.kernels.runtime.inputs import Plan
from pagesim.kernels.tiny_llm.model import Attend

Pool = Any
"""Its ``keys`` and ``values`` are a tensor a layer: `pagesim.cache.KVPool` is one."""
Batch = Any
"""A step's attention metadata, as in `pagesim.cache`."""
Backend = Callable[..., Attend]
"""Makes a step's `attend` of a pool, its attention metadata and, if there is one, a window."""


def of_step(backend: Backend, pool: Pool, batch: Batch, windows: Sequence[int]) -> Attend:
    """Make one `attend` for all layers of a model, whose windows are given (`Config.windows`).

    `batch.groups` has the batch with the tables and slots of each group of layers, and
    `sliding_window`, the tokens that its blocks are kept for. What layers share is made once.
    """
    groups = getattr(batch, "groups", (batch,))
    kept = [getattr(group, "sliding_window", 0) for group in groups]
    if len(groups) == 1 and not any((*windows, *kept)):
        return backend(pool, batch)
    made: dict[tuple[int, int], Attend] = {}
    layers = list(zip(deal(windows, kept), windows, strict=True))
    for group, window in layers:
        if (group, window) not in made:
            made[group, window] = backend(pool, groups[group], window)
    return lambda layer, q, k, v: made[layers[layer]](layer, q, k, v)


def deal(windows: Sequence[int], kept: Sequence[int | None]) -> list[int]:
    """The group of each layer, given the tokens that each group keeps (0 = all, None = no keys).

    As in V1, layers of one window take turns with the groups of this window. Without such a group
    they share those that keep all tokens. ValueError if there is none either.
    """
    found, turns = [], Counter[int]()
    for layer, window in enumerate(windows):
        wanted = window if window in kept else 0
        its = [group for group, keeps in enumerate(kept) if keeps == wanted]
        if not its:
            raise ValueError(
                f"layer {layer} attends to {window or 'all'} tokens, but the groups of the cache "
                f"keep {', '.join(str(keeps or 'all') for keeps in kept)}"
            )
        found.append(its[turns[wanted] % len(its)])
        turns[wanted] += 1
    return found


class Triton:
    """The kernels: `reshape_and_cache`, `paged_prefill` and `paged_attention_v2`.

    Tables, lengths and slots are checked in the first layer; its plans serve the others.
    """

    def __init__(self, pool: Pool, batch: Batch, window: int = 0) -> None:
        self.pool, self.window = pool, window
        prefills, self.split = batch.num_prefills, batch.num_prefill_tokens
        arrays = batch.slot_mapping, batch.block_tables, batch.query_start_loc, batch.seq_lens
        self.slots, tables, starts, lens, contexts = (
            torch.from_numpy(array).to(pool.keys[0].device)
            for array in (*arrays, batch.context_lens)
        )
        self.prompts = tables[:prefills], starts[: prefills + 1], lens[:prefills]
        self.decodes = tables[prefills:], lens[prefills:]
        self.contexts = contexts[prefills:]
        self.plans: dict[Callable[..., Tensor], Plan] = {}

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        caches, n = (self.pool.keys[layer], self.pool.values[layer]), self.split
        self.run(kernels.reshape_and_cache, kernels.plan_write, k, v, *caches, self.slots)
        out = []
        if n:
            prompts = q[:n], *caches, *self.prompts
            out.append(self.run(kernels.paged_prefill, kernels.plan_prefill, *prompts))
        if n < len(q):
            out.append(self.decode(q[n:], k[n:], v[n:], *caches))
        return torch.cat(out)

    def decode(self, q: Tensor, k: Tensor, v: Tensor, *caches: Tensor) -> Tensor:
        return self.run(kernels.paged_attention_v2, kernels.plan_decode, q, *caches, *self.decodes)

    def run(
        self, kernel: Callable[..., Tensor], plan: Callable[..., Plan], *arguments: Tensor
    ) -> Tensor:
        """The kernel's answer, by the plan that the first layer's call has made."""
        reads = kernel is not kernels.reshape_and_cache
        window = {"sliding_window": self.window} if reads else {}
        if kernel not in self.plans:
            self.plans[kernel] = plan(*arguments, **window)
        return kernel(*arguments, **window, plan=self.plans[kernel])


class Fused(Triton):
    """The kernels with `fused_decode`, which takes a decode's own key and value from registers."""

    def decode(self, q: Tensor, k: Tensor, v: Tensor, *caches: Tensor) -> Tensor:
        decodes = q, k, v, *caches, self.decodes[0], self.contexts
        return self.run(kernels.fused_decode, kernels.plan_fused_decode, *decodes)


class Span(NamedTuple):
    """Sequences whose queries are computed in one call: a prompt, or all decodes of a step."""

    rows: slice
    """Their tokens in the batch."""
    blocks: Tensor
    """[sequences · W], their tables one after the other, each W blocks long."""
    sequences: int
    mask: Tensor
    """[sequences, 1, queries, W · block_size]: True where a query may look."""
    beyond: Tensor
    """Which of the sequences · W · block_size gathered slots hold no token that is looked at."""


class Torch:
    """Whole pages, gathered by one `index_select` for K and one for V; then torch's attention.

    The query heads that share a KV head become further queries of it, so that no key is repeated.
    """

    def __init__(self, pool: Pool, batch: Batch, window: int = 0) -> None:
        self.pool, self.window = pool, window
        self.block_size, self.kv_heads = pool.keys[0].shape[1:3]
        self.device = pool.keys[0].device
        self.slots = torch.from_numpy(batch.slot_mapping).to(self.device)
        self.spans = list(self._spans(batch))

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        keys, values = self.pool.keys[layer], self.pool.values[layer]
        keys.flatten(0, 1).index_copy_(0, self.slots, k)
        values.flatten(0, 1).index_copy_(0, self.slots, v)
        out = torch.empty_like(q)
        for span in self.spans:
            # [S · n, Hkv · G, D] -> [S, Hkv, G · n, D]
            x = q[span.rows].view(
                span.sequences, -1, self.kv_heads, q.shape[1] // self.kv_heads, q.shape[2]
            )
            n, group = x.shape[1], x.shape[3]
            x = x.permute(0, 2, 3, 1, 4).flatten(2, 3)
            k_, v_ = self._gather(keys, span), self._gather(values, span)
            mask = span.mask if n == 1 else span.mask.repeat(1, 1, group, 1)
            y = scaled_dot_product_attention(x, k_, v_, attn_mask=mask)
            y = y.unflatten(2, (group, n)).permute(0, 3, 1, 2, 4)
            out[span.rows] = y.reshape(-1, *q.shape[1:])
        return out

    def _gather(self, cache: Tensor, span: Span) -> Tensor:
        pages = cache.flatten(1).index_select(0, span.blocks)
        pages.view(-1, *cache.shape[2:]).index_fill_(0, span.beyond, 0)
        return pages.view(span.sequences, -1, *cache.shape[2:]).transpose(1, 2)  # [S, Hkv, L, D]

    def _spans(self, batch: Batch) -> Iterator[Span]:
        tables, _ = batch.gather_tables()
        # Each prompt on its own, then all decodes.
        for first, end in pairwise(sorted({*range(batch.num_prefills + 1), len(batch.seq_ids)})):
            rows = slice(*(int(batch.query_start_loc[i]) for i in (first, end)))
            lens, count = batch.seq_lens[first:end], (rows.stop - rows.start) // (end - first)
            longest = int(lens.max())
            newest = lens[:, None] - count + np.arange(count)  # each query's own position
            oldest = np.maximum(newest - (self.window or longest) + 1, 0)
            pages = slice(int(oldest.min()) // self.block_size, -(-longest // self.block_size))
            slots = np.arange(pages.start * self.block_size, pages.stop * self.block_size)
            mask = (slots <= newest[:, None, :, None]) & (slots >= oldest[:, None, :, None])
            unread = (slots >= lens[:, None]) | (slots < oldest[:, :1])
            arrays = tables[first:end, pages].flatten(), mask, np.flatnonzero(unread)
            blocks, seen, beyond = (torch.from_numpy(array).to(self.device) for array in arrays)
            yield Span(rows, blocks, end - first, seen, beyond)


class Numpy:
    """The reference in float64, query by query: slow, for comparing."""

    def __init__(self, pool: Pool, batch: Batch, window: int = 0) -> None:
        self.pool, self.slots, self.window = pool, batch.slot_mapping, window
        self.tables, self.lens = reference.one_row_per_query(
            batch.query_start_loc, batch.block_tables, batch.seq_lens
        )

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        caches = self.pool.keys[layer].numpy(), self.pool.values[layer].numpy()
        reference.reshape_and_cache(k.numpy(), v.numpy(), *caches, self.slots)
        given = q.numpy(), *caches, self.tables, self.lens
        out = reference.gather_attention(*given, sliding_window=self.window)
        return torch.from_numpy(out).to(q.dtype)


BACKENDS: dict[str, Backend] = {"torch": Torch, "triton": Triton, "fused": Fused, "numpy": Numpy}
