"""How a student's decode kernel is tried: watched, its answer beside the reference's."""

from __future__ import annotations

from typing import Any

from pagesim.exercises.values import close

HEAD_DIM = 4
NUM_BLOCKS = 8
FINE = "its own tokens, nothing else"

_near = close(1e-4, 1e-4)


def answer(kernel: Any, case_args: tuple[Any, ...], *more: Any) -> dict[str, Any]:
    """What the kernel gives for these tables, and which slot it should not have read.

    ``case_args``: tables, lengths, block size, and a window or 0. ``more`` goes to the kernel
    behind its scale.
    """
    import torch

    from pagesim.exercises.launching import decode_batch, launched, stray_read

    tables, lengths, block_size, window = case_args
    batch = _batch(decode_batch, tables, lengths, block_size, window)
    result = torch.full_like(batch["q"], float("nan"))

    def launcher(
        q: Any, k_cache: Any, v_cache: Any, block_tables: Any, seq_lens: Any, sliding_window: int
    ) -> None:
        kernel[(len(lengths),)](
            result, q, k_cache, v_cache, block_tables, seq_lens, HEAD_DIM**-0.5, *more,
            TABLE=block_tables.shape[1], BLOCK=block_size, DIM=HEAD_DIM,
        )  # fmt: skip

    trace = launched(launcher, **batch, sliding_window=window)
    stray = stray_read(trace) if trace else ""
    return {"answers": _rounded(result[:, 0].cpu().numpy()), "reads": stray or FINE}


def right(tables: Any, lengths: Any, block_size: int, window: int) -> dict[str, Any]:
    """The same by `kernels.reference`, page by page in float64."""
    from kernels.reference import online_softmax_attention
    from pagesim.exercises.launching import arrays, decode_batch

    batch = arrays(_batch(decode_batch, tables, lengths, block_size, window))
    out = online_softmax_attention(*batch, sliding_window=window)
    return {"answers": _rounded(out[:, 0]), "reads": FINE}


def _batch(make: Any, tables: Any, lengths: Any, block_size: int, window: int) -> Any:
    windows = [window] * len(lengths) if window else None
    return make(tables, lengths, NUM_BLOCKS, block_size, head_dim=HEAD_DIM, windows=windows)


def _rounded(rows: Any) -> list[list[float]]:
    return [[round(float(x), 4) for x in row] for row in rows]


def same(yours: Any, expected: Any) -> bool:
    """Only the answers count: reading a slot twice, or an own slot in vain, is no mistake."""
    return _near(yours["answers"], expected["answers"])


def first_wrong(yours: Any, expected: Any) -> int:
    """The first sequence whose answer is another."""
    pairs = zip(yours["answers"], expected["answers"], strict=True)
    return next(i for i, (a, b) in enumerate(pairs) if not _near(a, b))
