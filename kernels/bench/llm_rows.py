"""The rows of the language model's benchmark: the same requests, answered in different ways.

A row is called with a model, the requests and a `Meter`, which is told what each step answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from pagesim.kernels.bench.llm_meter import Meter
from pagesim.kernels.bench.llm_serving import Limits, served
from pagesim.kernels.bench.llm_work import Work
from pagesim.kernels.tiny_llm.contiguous import Contiguous
from pagesim.kernels.tiny_llm.engine import Engine
from pagesim.kernels.tiny_llm.model import Model, causal
from pagesim.kernels.tiny_llm.paged_attend import Torch
from pagesim.kernels.tiny_llm.sampling import SamplingParams

Row = Callable[[Model, Sequence[Work], Meter], Any]


def no_cache(model: Model, work: Sequence[Work], meter: Meter) -> None:
    """One by one, and every token reads the whole sequence again."""
    for request, one in enumerate(work):
        tokens = list(one.prompt)
        for step in range(one.max_tokens):
            ids, positions = _tensors(model, tokens, 0)
            hidden = model(ids, positions, causal([len(tokens)]))
            tokens.append(int(model.logits(hidden[-1]).argmax()))
            meter.step({request: tokens[-1]}, decode=step > 0)


def naive(model: Model, work: Sequence[Work], meter: Meter) -> None:
    """One by one, keys and values in one reserved contiguous piece: what rosellm calls naive."""
    for request, one in enumerate(work):
        cache = Contiguous(model, len(one.prompt) + one.max_tokens)
        new = one.prompt
        for step in range(one.max_tokens):
            new = [int(cache.logits(new).argmax())]
            meter.step({request: new[0]}, decode=step > 0)


def static(size: int) -> Row:
    """Batches of ``size`` on padded contiguous caches: a batch runs until its last answer ends."""

    def row(model: Model, work: Sequence[Work], meter: Meter) -> None:
        for first in range(0, len(work), size):
            part = work[first : first + size]
            longest = max(len(one.prompt) for one in part) + max(one.max_tokens for one in part)
            cache = Padded(model, len(part), longest)
            last = torch.zeros(len(part), dtype=torch.long, device=model.head.device)
            for i, one in enumerate(part):
                last[i] = cache.prefill(i, one.prompt)
                meter.step({first + i: int(last[i])}, decode=False)
            for done in range(1, max(one.max_tokens for one in part)):
                last = cache.decode(last)
                tokens = dict(enumerate(last.tolist(), first))
                kept = {i: t for i, t in tokens.items() if done < work[i].max_tokens}
                meter.step(kept, decode=True)

    return row


class Padded:
    """A batch's keys and values, [2, L, sequences, Hkv, longest, D], each row filled to its end."""

    def __init__(self, model: Model, sequences: int, longest: int) -> None:
        self.model, c = model, model.config
        shape = 2, c.num_hidden_layers, sequences, c.num_key_value_heads, longest, c.head_dim
        self.cache = model.head.new_zeros(shape)
        self.lens = torch.zeros(sequences, dtype=torch.long, device=model.head.device)
        self.rows = torch.arange(sequences, device=model.head.device)

    def prefill(self, row: int, prompt: Sequence[int]) -> Tensor:
        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            keys, values = self.cache[:, layer, row, :, : len(prompt)]
            keys.copy_(k.transpose(0, 1)), values.copy_(v.transpose(0, 1))
            return alone(layer, q, k, v)

        alone = causal([len(prompt)])
        self.lens[row] = len(prompt)
        hidden = self.model(*_tensors(self.model, prompt, 0), attend)
        return self.model.logits(hidden[-1]).argmax()

    def decode(self, tokens: Tensor) -> Tensor:
        longest = int(self.lens.max()) + 1
        there = torch.arange(longest, device=self.lens.device) <= self.lens[:, None]

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            keys, values = self.cache[:, layer]
            keys[self.rows, :, self.lens], values[self.rows, :, self.lens] = k, v
            queries = q.unflatten(1, (keys.shape[1], -1))
            mask = there[:, None, None]
            parts = keys[:, :, :longest], values[:, :, :longest]
            return scaled_dot_product_attention(queries, *parts, attn_mask=mask).flatten(1, 2)

        hidden = self.model(tokens, self.lens, attend)
        self.lens = self.lens + 1
        return self.model.logits(hidden).argmax(-1)


class Copied(Torch):
    """rosellm before its kernel: Python copies a sequence's blocks one by one, then SDPA."""

    def _gather(self, cache: Tensor, span: Any) -> Tensor:
        if span.mask.shape[2] > 1:  # a prompt
            return super()._gather(cache, span)
        tables = span.blocks.view(span.sequences, -1)
        lens = span.mask[:, 0, -1].sum(-1).tolist()
        out = cache.new_zeros(*tables.shape, *cache.shape[1:])
        size = cache.shape[1]
        for row, (table, length) in enumerate(zip(tables.tolist(), lens, strict=True)):
            for place, block in enumerate(table[: -(-length // size)]):
                filled = min(size, length - place * size)
                out[row, place, :filled] = cache[block, :filled]
        return out.flatten(1, 2).transpose(1, 2)


class Timed(Engine):
    """An engine that knows how long its model took."""

    def __init__(self, *arguments: Any, meter: Meter) -> None:
        super().__init__(*arguments)
        self.meter = meter

    def forward(self, batch: Any) -> Tensor:
        self.decodes = batch.num_prefills == 0
        begin = self.meter.clock.now()
        logits = self.run_model(batch)
        self.meter.ran_model(self.meter.clock.now() - begin, batch)
        return logits

    def run_model(self, batch: Any) -> Tensor:
        return super().forward(batch)


def pages(backend: Any = "torch", limits: Limits | None = None, engine: type[Timed] = Timed) -> Row:
    """Continuous batching on pages, by vLLM's scheduler, with any backend of the engine."""
    limits = limits or Limits()

    def row(model: Model, work: Sequence[Work], meter: Meter) -> None:
        runner = served(model, limits, backend, partial(engine, meter=meter))
        coming = list(enumerate(work))[::-1]
        meter.begin()
        while True:
            while coming and meter.has_arrived(coming[-1][0]):
                _, one = coming.pop()
                runner.add(one.prompt, SamplingParams(max_tokens=one.max_tokens, stop=()))
            tokens = runner.step()
            if tokens is not None:
                meter.step({token.answer: token.token for token in tokens}, runner.decodes)
            elif not coming:
                return
            else:
                meter.skip_to(coming[-1][0])

    return row


def gathering(model: Model, work: Sequence[Work], meter: Meter) -> None:
    """Gathered pages, with the gathers of decode steps timed one by one."""

    class Watched(Torch):
        def _gather(self, cache: Tensor, span: Any) -> Tensor:
            begin = meter.clock.now()
            out = super()._gather(cache, span)
            if span.mask.shape[2] == 1:
                meter.gather += meter.clock.now() - begin
            return out

    pages(Watched)(model, work, meter)


def _tensors(model: Model, tokens: Sequence[int], first: int) -> tuple[Tensor, Tensor]:
    device = model.head.device
    positions = torch.arange(first, first + len(tokens), device=device)
    return torch.tensor(tokens, device=device), positions
