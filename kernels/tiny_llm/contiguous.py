"""A request alone, its keys and values in one reserved piece: what answers over pages must equal.

    layer 0, K   [ t0 | t1 | t2 | t3 |    |    |    |    ]  max_tokens slots, filled from the left
             V   [ t0 | t1 | t2 | t3 |    |    |    |    ]

No pages, no batch and no scheduler: nothing to get wrong, and memory for answers that may never
become that long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from pagesim.kernels.tiny_llm.model import Model, visible
from pagesim.kernels.tiny_llm.sampling import SamplingParams, checked_prompt, draw, extend

Watch = Callable[[int, Tensor], None]
"""Called with the number of the sample and the logits [vocab] of its next token."""


class Contiguous:
    """One sequence's keys and values; as a model's `attend`, it appends new ones and reads all."""

    def __init__(self, model: Model, max_tokens: int) -> None:
        self.model, self.length = model, 0
        c = model.config
        shape = 2, c.num_hidden_layers, c.num_key_value_heads, max_tokens, c.head_dim
        self.cache = model.head.new_empty(shape)

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        start, end = self.length, self.length + len(q)
        keys, values = self.cache[0, layer], self.cache[1, layer]
        keys[:, start:end], values[:, start:end] = k.transpose(0, 1), v.transpose(0, 1)
        window = self.model.config.windows[layer]
        queries, mask = q.transpose(0, 1).unflatten(0, (len(keys), -1)).flatten(1, 2), None
        if window or len(q) > 1:
            mask = visible(len(q), end, window, q.device).repeat(q.shape[1] // len(keys), 1)
        out = scaled_dot_product_attention(
            queries[None], keys[None, :, :end], values[None, :, :end], attn_mask=mask
        )
        rows: Tensor = out[0].unflatten(1, (-1, len(q)))
        return rows.flatten(0, 1).transpose(0, 1)

    def logits(self, tokens: Sequence[int]) -> Tensor:
        """Append tokens; returns the logits [vocab] after the last one. ValueError if full."""
        if self.length + len(tokens) > (slots := self.cache.shape[3]):
            raise ValueError(
                f"{len(tokens)} more tokens do not fit: the cache has {slots} slots, and "
                f"{self.length} are taken"
            )
        with torch.inference_mode():
            device = self.cache.device
            positions = torch.arange(self.length, self.length + len(tokens), device=device)
            hidden = self.model(torch.tensor(tokens, device=device), positions, self)
            self.length += len(tokens)
            return self.model.logits(hidden[-1])

    def fork(self) -> Contiguous:
        """Return a copy of the whole cache, including its empty slots."""
        child = Contiguous(self.model, self.cache.shape[3])
        child.cache.copy_(self.cache)
        child.length = self.length
        return child


def generate(
    model: Model, prompt: Sequence[int], params: SamplingParams, watch: Watch | None = None
) -> list[list[int]]:
    """Return the outputs of a request: `n` samples, or the beams found, the likeliest first."""
    params = params.with_stop(model.config.eos_token_id)
    prompt = checked_prompt(prompt, model.config.vocab_size)
    cache = Contiguous(model, len(prompt) + params.max_tokens)
    first = cache.logits(prompt)
    if params.beams:
        return _search(cache, first, params)
    answers = []
    for sample in range(params.n):
        mine = cache if sample == params.n - 1 else cache.fork()
        tokens: list[int] = []
        while not tokens or not params.ends(tokens):
            row = mine.logits(tokens[-1:]) if tokens else first
            if watch is not None:
                watch(sample, row)
            greedy = params.temperature == 0
            tokens.append(int(row.argmax()) if greedy else draw(row, params, sample, len(tokens)))
        answers.append(tokens)
    return answers


def _search(cache: Contiguous, first: Tensor, params: SamplingParams) -> list[list[int]]:
    done: list[tuple[float, list[int]]] = []
    beams: list[tuple[float, list[int], Contiguous, Tensor]] = [(0.0, [], cache, first)]
    while beams:
        scores, rows = [beam[0] for beam in beams], torch.stack([beam[3] for beam in beams])
        grown = []
        for score, parent, token in extend(scores, rows, params.beams - len(done)):
            tokens, mine = [*beams[parent][1], token], beams[parent][2]
            if params.ends(tokens):
                done.append((score, tokens))
            else:
                child = mine.fork()
                grown.append((score, tokens, child, child.logits([token])))
        beams = grown
    return [tokens for _, tokens in sorted(done, key=lambda found: -found[0])]
