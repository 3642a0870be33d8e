"""What a decoding kernel holds after each load of keys, in the order of an x-ray.

The x-ray sees addresses, not registers. So m, l and the accumulated vector are computed here, by an
online softmax over the slots in the order in which the program loaded them.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pagesim.kernels.xray.trace import AccessTrace


class Read(NamedTuple):
    """One load of keys by one program, and its state after it."""

    program: tuple[int, int, int]
    row: int
    """The row of q, which is the sequence."""
    head: int
    slots: list[int]
    """block · block_size + offset of the keys that it read, in order."""
    weights: list[float]
    """exp(score - m) of each."""
    m: float
    """The largest score so far."""
    l: float  # noqa: E741 (the course's and FlashAttention's name)
    """The sum of the weights so far."""
    acc: float
    """The length of the accumulated vector."""


def reads(trace: AccessTrace) -> Iterator[Read]:
    """The loads of keys in the order in which the programs ran, for the first head of each program.

    This is for decoding kernels, with one query per sequence. ValueError if the call had no block
    tables, or more queries than sequences.
    """
    given, owned = trace.arguments, trace.ownership
    if owned is None or len(owned.queries) != len(owned.lengths):
        raise ValueError(
            "a film needs a decoding call, with block tables and one query per sequence"
        )
    tensors = (given[name].detach().cpu().double() for name in ("q", "k_cache", "v_cache"))
    q, keys, values = (tensor.numpy() for tensor in tensors)
    scale = given.get("scale") or q.shape[-1] ** -0.5
    for program in trace.programs:
        if not program.rows or not program.heads:
            continue
        row, head = program.rows[0], program.heads[0]
        kv_head = head * keys.shape[2] // q.shape[1]
        visible = owned.visible(row)
        m, total, acc = -np.inf, 0.0, np.zeros(values.shape[-1])
        for access in program.of("read", "k_cache"):
            slots = [slot for slot in access.slots() if slot in visible]
            if not slots:
                continue
            blocks, offsets = map(list, zip(*slots, strict=True))
            scores = keys[blocks, offsets, kv_head] @ q[row, head] * scale
            before, m = m, max(m, float(scores.max()))
            weights, kept = np.exp(scores - m), float(np.exp(before - m))
            total = total * kept + float(weights.sum())
            acc = acc * kept + weights @ values[blocks, offsets, kv_head]
            numbers = [block * owned.block_size + offset for block, offset in slots]
            size = float(np.linalg.norm(acc))
            yield Read(program.index, row, head, numbers, weights.tolist(), m, total, size)
