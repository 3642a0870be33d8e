"""How a student's decode kernel is tried: watched, its answer beside the reference's."""

from typing import Any

from pagesim.exercises import launching
from pagesim.exercises.kit import close, parted
from pagesim.exercises.launching import Tensor
from pagesim.files.jsonl import JsonObject

Tables = list[list[int]]
Answer = JsonObject
"""``answers``, a row for each sequence, and ``reads``, what was read too much or too little."""

HEAD_DIM = 4
NUM_BLOCKS = 8
FINE = "its own tokens, nothing else"
FAR = 2**31 // HEAD_DIM
"""Slots: the block behind them begins at element 2**31, one more than the largest int32."""

_near = close(1e-4, 1e-4)
_CACHES = "k_cache", "v_cache"


def call(
    kernel: Any, tables: Tables, lengths: list[int], block_size: int, window: int, *more: int
) -> Answer:
    """What the kernel gives for these tables; ``window`` may be 0, ``more`` follows its scale."""
    far = FAR // block_size in tables[0]
    if far and not launching.interpreted():
        return oracle(tables, lengths, block_size, window)
    batch = _batch(tables, lengths, block_size, window)
    result = batch["q"].new_full(batch["q"].shape, float("nan"))

    def launcher(
        q: Tensor, k_cache: Tensor, v_cache: Tensor, block_tables: Tensor, seq_lens: Tensor,
        sliding_window: int,
    ) -> None:  # fmt: skip
        given = (result, q, k_cache, v_cache, block_tables, seq_lens, HEAD_DIM**-0.5, *more)
        sizes = {"TABLE": block_tables.shape[1], "BLOCK": block_size, "DIM": HEAD_DIM}
        launching.jitted(kernel)[(len(lengths),)](*given, **sizes)

    trace = launching.launched(launcher, **batch, sliding_window=window)
    if far:
        size = lengths[0] * HEAD_DIM
        rows = [launching.FarRow(name, batch[name], FAR * HEAD_DIM, size) for name in _CACHES]
        seen = launching.far_rows(trace, "read", rows).items()
        few = (f"the program {what} in {name}" for name, what in seen if what != launching.ALL)
        return {"answers": [], "reads": ", and ".join(few) or FINE}
    reads = (launching.stray_read(trace) or _unread(trace)) if trace else ""
    return {"answers": _rounded(result), "reads": reads or FINE}


def _unread(trace: Any) -> str:
    """The first program that did not read both caches of every token that its query sees."""
    for program in trace.by_program():
        mine = {slot for row in program.rows for slot in trace.ownership.visible(row)}
        for cache in _CACHES:
            seen = {slot for access in program.of("read", cache) for slot in access.slots()}
            if len(seen) < len(mine):
                seq, few = trace.sequences_of(program)[0], f"{len(seen)} of its {len(mine)} tokens"
                return f"the program of sequence {seq} read {few} in {cache}"
    return ""


def oracle(tables: Tables, lengths: list[int], block_size: int, window: int) -> Answer:
    """The same by `kernels.reference`, page by page in float64."""
    from pagesim.kernels.reference import online_softmax_attention

    if FAR // block_size in tables[0]:
        return {"answers": [], "reads": FINE}
    batch = launching.arrays(_batch(tables, lengths, block_size, window))
    out = online_softmax_attention(*batch, sliding_window=window)
    return {"answers": _rounded(out), "reads": FINE}


def _batch(tables: Tables, lengths: list[int], block_size: int, window: int) -> dict[str, Tensor]:
    """The tables as they are, the caches filled as if no block were far."""
    near = [[block % (FAR // block_size) for block in table] for table in tables]
    windows = [window] * len(lengths) if window else None
    batch = launching.decode_batch(
        near, lengths, NUM_BLOCKS, block_size, head_dim=HEAD_DIM, windows=windows
    )
    for row, table in zip(batch["block_tables"], tables, strict=True):
        for page, block in enumerate(table):
            row[page] = block
    return batch


def _rounded(out: Any) -> list[list[float]]:
    """The rows of the only head."""
    return [[round(x, 4) for x in row] for [row] in out.tolist()]


def same(yours: Answer, expected: Answer) -> bool:
    """The answers, and that exactly the sequence's slots were read, as often as one likes."""
    return yours["reads"] == FINE and _near(yours["answers"], expected["answers"])


def first_wrong(yours: Answer, expected: Answer) -> int:
    """The first sequence whose answer is another."""
    return parted(yours["answers"], expected["answers"], _near)
