"""Which pages a query looks at: attention's weights, added up page by page."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pagesim.kernels.tiny_llm.paged_attend import Torch


class Watching(Torch):
    """The torch backend that also keeps every layer's weights of each sequence's last query.

    weights: for each layer, [sequences, Hq, longest table]; a page's share of the attention, which
    adds up to 1 over a sequence's pages.
    """

    def __init__(self, pool: Any, batch: Any) -> None:
        super().__init__(pool, batch)
        self.weights: list[Tensor] = []
        tables, _ = batch.gather_tables()
        self.tables = torch.from_numpy(tables).to(self.device)
        self.last = torch.from_numpy(batch.query_start_loc[1:] - 1).to(self.device)
        self.lens = torch.from_numpy(batch.seq_lens).to(self.device)

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        out = super().__call__(layer, q, k, v)
        keys = self.pool.keys[layer][self.tables].flatten(1, 2)  # [S, W · block_size, Hkv, D]
        grouped = q[self.last].unflatten(1, (self.kv_heads, -1))  # [S, Hkv, G, D]
        scores = torch.einsum("shgd,slhd->shgl", grouped, keys) / q.shape[2] ** 0.5
        hidden = torch.arange(keys.shape[1], device=self.device) >= self.lens[:, None]
        weights = scores.masked_fill(hidden[:, None, None], float("-inf")).softmax(-1).flatten(1, 2)
        self.weights.append(weights.unflatten(-1, (-1, self.block_size)).sum(-1))
        return out
