"""What the programs of an attention kernel hold after each load of keys, from an x-ray.

The x-ray sees addresses, not registers. So m, l and the accumulated vector are computed here, by an
online softmax over the slots in the order in which each program loaded them. At the end the result
is compared with what the kernel itself has returned.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pagesim.kernels.xray.accesses import Program
from pagesim.kernels.xray.trace import AccessTrace

Vector = NDArray[np.float64]


class Read(NamedTuple):
    """What one program holds for one query and one head after a load of keys."""

    program: tuple[int, int, int]
    load: int
    """Which of the program's loads this is, from 1."""
    seq: int
    """Which sequence of the batch."""
    query: int
    """The position of the query in its sequence."""
    head: int
    slots: list[int | None]
    """block · block_size + offset of the keys that the query sees, in order. None is a key outside
    the cache: the new token of a fused kernel. [] in a reduction, which merges partitions."""
    weights: list[float]
    """exp(score - m) of each key; in a reduction exp(m of the partition - m) of each partition."""
    m: float
    """The largest score so far."""
    l: float  # noqa: E741 (the course's and FlashAttention's name)
    """The sum of the weights so far."""
    acc: float
    """The length of the accumulated vector."""
    error: float | None = None
    """In the last one of a query and head: the largest difference between acc ÷ l and the output of
    the kernel."""


class _Online:
    """An online softmax over keys, or over partitions."""

    def __init__(self) -> None:
        self.m, self.total, self.acc = -np.inf, 0.0, np.zeros(1)

    def add(self, scores: Vector, sums: Vector, values: Vector) -> list[float]:
        """Add what has these largest scores, sums and weighted values; its weights."""
        before, self.m = self.m, max(self.m, float(scores.max()))
        weights, kept = np.exp(scores - self.m), float(np.exp(before - self.m))
        self.total = self.total * kept + float(weights @ sums)
        self.acc = self.acc * kept + weights @ values
        return [float(weight) for weight in weights]

    @property
    def held(self) -> tuple[float, float, float]:
        """m, l and the length of acc."""
        return self.m, self.total, float(np.linalg.norm(self.acc))


class _Call:
    """The tensors of an attention call as NumPy arrays, and who sees what."""

    def __init__(self, trace: AccessTrace) -> None:
        given, owned = trace.arguments, trace.ownership
        if owned is None:
            raise ValueError("a film needs an attention call, with block tables")
        for name in ("alibi_slopes", "softcap", "k_scale", "v_scale"):
            if given.get(name) is not None and not (name == "softcap" and given[name] == 0):
                raise ValueError(f"a film shows attention without {name}: leave it out")
        self.owned = owned
        names = ("q", "k_cache", "v_cache", "k_new", "v_new")
        self.of = {n: given[n].detach().cpu().double().numpy() for n in names if n in given}
        self.scale = given.get("scale") or self.of["q"].shape[-1] ** -0.5
        out = trace.result[0] if isinstance(trace.result, tuple) else trace.result
        self.out = out.detach().cpu().double().numpy()

    def kv_head(self, head: int) -> int:
        """The KV head of a query head."""
        return int(head * self.of["k_cache"].shape[2] // self.of["q"].shape[1])

    def query(self, row: int) -> tuple[int, int]:
        """The sequence of a row of q, and the position of its query."""
        query = self.owned.queries[row]
        return query.seq, query.sees.stop - ("k_new" not in self.of)

    def error(self, row: int, head: int, softmax: _Online) -> float:
        """How far acc ÷ l is from what the kernel returned."""
        return float(np.abs(softmax.acc / softmax.total - self.out[row, head]).max())


def reads(trace: AccessTrace) -> Iterator[Read]:
    """The loads of keys in the order in which the programs ran, for each query and head of each.

    A load that a query sees nothing of is left out for this query. The partitions of a sequence are
    merged by as many more reads, one load after all others. ValueError if the call had no block
    tables, or options that change the scores.
    """
    call, ends, last = _Call(trace), dict[tuple[int, int], list[_Online]](), 0
    merges = {p.index[:2]: p.index for p in trace.programs if any(p.of("read", "partial"))}
    for program in trace.programs:
        for row in program.rows:
            for head in program.heads:
                softmax, found = _loads(call, program, row, head)
                last = max([last, *(read.load for read in found)])
                if found and not merges:
                    found[-1] = found[-1]._replace(error=call.error(row, head, softmax))
                elif found:
                    ends.setdefault((row, head), []).append(softmax)
                yield from found
    for (row, head), parts in ends.items():
        whole, (seq, query) = _Online(), call.query(row)
        m, total = (np.array([getattr(part, name) for part in parts]) for name in ("m", "total"))
        weights = whole.add(m, total, np.array([part.acc for part in parts]))
        error = call.error(row, head, whole)
        index = merges[row, head]
        yield Read(index, last + 1, seq, query, head, [], weights, *whole.held, error)


def _loads(call: _Call, program: Program, row: int, head: int) -> tuple[_Online, list[Read]]:
    """The loads of one program, as one of its queries and heads sees them."""
    kv_head, (seq, query) = call.kv_head(head), call.query(row)
    owned, visible = call.owned, call.owned.visible(row)
    q, softmax, found, load = call.of["q"][row, head], _Online(), list[Read](), 0

    def add(keys: Vector, values: Vector, slots: list[int | None]) -> None:
        weights = softmax.add(keys @ q * call.scale, np.ones(len(keys)), values)
        found.append(Read(program.index, load, seq, query, head, slots, weights, *softmax.held))

    if "k_new" in call.of:
        load = 1
        add(call.of["k_new"][[row], kv_head], call.of["v_new"][[row], kv_head], [None])
    for access in program.of("read", "k_cache"):
        load += 1
        if slots := [slot for slot in access.slots() if slot in visible]:
            at = (*map(list, zip(*slots, strict=True)), kv_head)
            numbers = [block * owned.block_size + offset for block, offset in slots]
            add(call.of["k_cache"][at], call.of["v_cache"][at], [*numbers])
    return softmax, found
