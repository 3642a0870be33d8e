"""Arrays for the emulated kernel: tables from the simulator, NaN in every slot not in use."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from pagesim.kernels import reference, simt, to_cuda_layout
from pagesim.kernels.simt.memory import VALUES
from tests.kernels import pages

NAN_CODE = 0x7F  # e4m3 for NaN


@dataclass(frozen=True, slots=True)
class World:
    """A decode call: caches as [num_blocks, block_size, kv_heads, head_size], and where they lie.

    options: scale, slopes and so on, understood by the emulation and by the reference alike.
    """

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    tables: np.ndarray
    lens: np.ndarray
    options: dict[str, Any]

    @property
    def arguments(self) -> tuple[np.ndarray, ...]:
        caches = to_cuda_layout(torch.from_numpy(self.k), torch.from_numpy(self.v))
        return self.q, *(cache.numpy() for cache in caches), self.tables, self.lens

    def run(self, **options: Any) -> np.ndarray:
        """v1, or v2 if a partition_size is given."""
        split = "partition_size" in options
        launch = simt.paged_attention_v2 if split else simt.paged_attention_v1
        return launch(*self.arguments, **self.options, **options)

    def trace(self, **options: Any) -> simt.Trace:
        kept = simt.Trace()
        self.run(trace=kept, **options)
        return kept

    def decoded(self) -> tuple[np.ndarray, np.ndarray]:
        return tuple(VALUES[a] if a.dtype == np.uint8 else a for a in (self.k, self.v))

    def expected(self) -> np.ndarray:
        k, v = self.decoded()
        return reference.gather_attention(self.q, k, v, self.tables, self.lens, **self.options)

    def error(self, out: np.ndarray) -> float:
        """Largest deviation from the reference ÷ largest |V| that anyone may read."""
        largest = np.nanmax(np.abs(self.decoded()[1]), initial=1.0)
        deviation = np.abs(out.astype(np.float64) - self.expected())
        return float(deviation.max(initial=0.0) / (largest * self.options.get("v_scale", 1.0)))

    def tokens(self, seq: int) -> np.ndarray:
        """Slots of a sequence's tokens, in order."""
        position, size = np.arange(self.lens[seq]), self.k.shape[1]
        return self.tables[seq, position // size] * size + position % size


def make_world(
    lengths: list[int],
    *,
    head_size: int = 64,
    block_size: int = 16,
    heads: int = 4,
    kv_heads: int = 2,
    dtype: Any = np.float16,
    quantized: bool = False,
    seed: int = 0,
    **options: Any,
) -> World:
    made = pages.fragmented(lengths, block_size, seed=seed % 7)
    rng = np.random.default_rng(seed)
    slots = made.num_blocks * block_size
    unused = np.ones(slots, dtype=bool)
    for seq in range(len(lengths)):
        unused[made.slots(seq)] = False

    def cache() -> np.ndarray:
        if quantized:
            # Exponents up to 9: numbers up to 7.5, of both signs.
            rows = rng.integers(0, 80, (slots, kv_heads, head_size)).astype(np.uint8)
            rows |= rng.integers(0, 2, rows.shape).astype(np.uint8) << 7
            rows[unused] = NAN_CODE
        else:
            rows = rng.normal(size=(slots, kv_heads, head_size)).astype(dtype)
            rows[unused] = np.nan
        return rows.reshape(made.num_blocks, block_size, kv_heads, head_size)

    q = rng.normal(size=(len(lengths), heads, head_size)).astype(dtype)
    tables = made.block_tables().cpu().numpy()
    return World(q, cache(), cache(), tables, np.array(lengths, dtype=np.int32), options)
