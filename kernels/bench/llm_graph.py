"""Decode steps as a CUDA graph: the launches of all layers are recorded once, then replayed.

A graph has fixed addresses and fixed shapes. So a step's batch is padded to one of a few sizes, and
its tensors are copied over those that the graph was recorded with. A padding row writes nowhere,
or where that cannot be said, into a block that is never taken (`Limits.num_blocks`).

Without a GPU the recorded call is simply made again, so that the code around it can be tested.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pagesim.kernels.bench.llm_rows import Timed
from pagesim.kernels.tiny_llm.engine import Engine
from pagesim.kernels.tiny_llm.paged_attend import Torch, Triton


class Graphed(Timed):
    """An engine whose decode steps are replayed; prompts are launched as ever."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.graphs: dict[int, Recorded] = {}

    def run_model(self, batch: Any) -> Tensor:
        if batch.num_prefills or not batch.seq_ids:
            return super().run_model(batch)
        # One more: a padding row gives gathered tables their full width.
        size = 8 * (len(batch.seq_ids) // 8 + 1)
        if size not in self.graphs:
            self.graphs[size] = Recorded(self, batch, size)
        return self.graphs[size].replay(batch)


class Recorded:
    """The decode step of ``size`` sequences, its last row padding."""

    def __init__(self, engine: Engine, batch: Any, size: int) -> None:
        self.engine, self.size = engine, size
        cache = engine.cache.gpu.keys[0]
        self.block_size, self.scratch = cache.shape[1], cache.shape[0] - 1
        self.gathers = issubclass(engine.backend, Torch)
        self.nowhere = self.scratch * self.block_size if self.gathers else -1
        self.width = -(-engine.server.scheduler.scheduler_config.max_model_len // self.block_size)
        worst = replace(
            self.padded(batch),
            seq_lens=np.full(size, self.width * self.block_size, np.int32),
            context_lens=np.full(size, self.width * self.block_size - 1, np.int32),
            block_tables=np.full((size, self.width), self.scratch, np.int32),
            slot_mapping=np.full(size, self.nowhere, np.int64),
        )
        self.inputs, self.attend = self.tensors(worst)
        self.graph: Any = None
        if cache.device.type == "cuda":
            for _ in range(2):  # plans are made, kernels compiled and tuned
                self.forward()
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph), torch.inference_mode():
                self.logits = self.forward()

    def replay(self, batch: Any) -> Tensor:
        fresh = self.tensors(self.padded(batch))[0]
        for recorded, new in zip(self.inputs, fresh, strict=True):
            recorded.copy_(new)
        if self.graph is None:
            if isinstance(self.attend, Triton):
                self.attend.plans.clear()
            self.logits = self.forward()
        else:
            self.graph.replay()
        return self.logits[: len(batch.seq_ids)]

    def forward(self) -> Tensor:
        model, (tokens, positions, *_) = self.engine.model, self.inputs
        with torch.inference_mode():
            return model.logits(model(tokens, positions, self.attend))

    def tensors(self, batch: Any) -> tuple[list[Tensor], Any]:
        """What a step's attention and model read that differs from step to step."""
        attend = self.engine.backend(self.engine.cache.gpu, batch)
        device = self.engine.model.head.device
        inputs = [
            torch.from_numpy(array).to(device)
            for array in (batch.input_tokens, batch.input_positions)
        ]
        if isinstance(attend, Triton):
            inputs += [attend.slots, *attend.decodes, attend.contexts]
        elif isinstance(attend, Torch):
            (span,) = attend.spans
            slots = span.mask.numel()  # the last is the padding row's: filled up with it
            beyond = span.beyond.new_full((slots,), slots - 1)
            beyond[: len(span.beyond)] = span.beyond
            attend.spans = [span._replace(beyond=beyond)]
            inputs += [attend.slots, span.blocks, span.mask, beyond]
        return inputs, attend

    def padded(self, batch: Any) -> Any:
        """The batch with ``size`` rows, of which the last is as long as a sequence may be."""
        missing = self.size - len(batch.seq_ids)
        tables = np.full((self.size, self.width), -1, np.int32)
        tables[: len(batch.seq_ids), : batch.block_tables.shape[1]] = batch.block_tables
        tables[len(batch.seq_ids) :, 0] = self.scratch
        lens = np.append(batch.seq_lens, np.ones(missing, np.int32))
        if self.gathers:
            tables[-1], lens[-1] = self.scratch, self.width * self.block_size
        zeros = np.zeros(missing, np.int64)
        return replace(
            batch,
            seq_ids=[*batch.seq_ids, *range(-missing, 0)],
            input_tokens=np.append(batch.input_tokens, zeros),
            input_positions=np.append(batch.input_positions, zeros),
            slot_mapping=np.append(batch.slot_mapping, zeros + self.nowhere),
            block_tables=tables,
            query_start_loc=np.arange(self.size + 1, dtype=np.int32),
            context_lens=lens - 1,
            seq_lens=lens,
        )
