"""What the benchmark decodes: shapes, shuffled pages, lengths, poison, and the bytes that count."""

from dataclasses import dataclass
from typing import Any, no_type_check

import numpy as np
import torch
from numpy.typing import NDArray

from pagesim.kernels import compare
from pagesim.kernels.runtime import mode

triton, tl = mode.load_triton()

_CHECKED = 4  # sequences compared with the reference, which takes about a second for 4k tokens


@dataclass(frozen=True, slots=True)
class BenchCase:
    """A decode step: `batch` sequences of `tokens` (ragged: of 1/8 to all of them, at random).

    pages: "shuffled" or "identity"; cache: the cache's dtype, q's is bfloat16 then or the same.
    """

    name: str
    batch: int
    tokens: int
    ragged: bool = False
    pages: str = "shuffled"
    heads: int = 32
    kv_heads: int = 8
    head_dim: int = 128
    block_size: int = 16
    cache: str = "bfloat16"


CASES = (
    BenchCase("4k, batch 64", 64, 4096),
    BenchCase("4k, batch 256", 256, 4096),
    BenchCase("4k, batch 64, identity", 64, 4096, pages="identity"),
    BenchCase("2k, batch 128", 128, 2048),
    BenchCase("1k, batch 256", 256, 1024),
    BenchCase("ragged to 8k, batch 64", 64, 8192, ragged=True),
    BenchCase("32k, batch 4", 4, 32768),
    BenchCase("4k, batch 64, fp8", 64, 4096, cache="float8_e4m3fn"),
)
_SMALL: dict[str, Any] = {"heads": 4, "kv_heads": 2, "head_dim": 16, "block_size": 4}
TINY = (
    BenchCase("tiny", 2, 12, **_SMALL),
    BenchCase("tiny ragged", 3, 16, ragged=True, pages="identity", **_SMALL),
)


@dataclass(frozen=True, slots=True)
class Inputs:
    """The tensors of a case; `lengths` is seq_lens on the CPU."""

    case: BenchCase
    q: torch.Tensor
    k_cache: torch.Tensor
    v_cache: torch.Tensor
    block_tables: torch.Tensor
    seq_lens: torch.Tensor
    lengths: NDArray[np.int64]

    @property
    def arguments(self) -> tuple[torch.Tensor, ...]:
        return self.q, self.k_cache, self.v_cache, self.block_tables, self.seq_lens

    @property
    def cached_bytes(self) -> int:
        """Keys and values of all tokens, once."""
        row = self.case.kv_heads * self.case.head_dim * self.k_cache.element_size()
        return 2 * row * int(self.lengths.sum())

    @property
    def useful_bytes(self) -> int:
        """What a decode kernel cannot avoid moving: K and V once, q, the output, the table."""
        pages = int((-(-self.lengths // self.case.block_size)).sum())
        return self.cached_bytes + 2 * self.q.numel() * self.q.element_size() + 4 * pages

    @property
    def gather_bytes(self) -> int:
        """What making K and V contiguous moves: all of it read, all of it written."""
        return 2 * self.cached_bytes

    def check(self, out: torch.Tensor) -> None:
        """AssertionError if the first sequences' answers are not the reference's, or any is NaN."""
        few = slice(0, _CHECKED)
        tables, lens = self.block_tables[few], self.seq_lens[few]
        compare.assert_matches_reference(
            out[few], self.q[few], self.k_cache, self.v_cache, tables, lens
        )
        if not bool(out.isfinite().all()):
            raise AssertionError("the output of a later sequence is not finite")


def make_inputs(case: BenchCase, seed: int = 0) -> Inputs:
    """Random numbers where a sequence has tokens, NaN in all other slots."""
    random = np.random.default_rng(seed)
    device = mode.device()
    lengths = np.full(case.batch, case.tokens, dtype=np.int64)
    if case.ragged:
        lengths = random.integers(max(1, case.tokens // 8), case.tokens + 1, case.batch)
    counts = -(-lengths // case.block_size)
    # Some blocks belong to no sequence, as in a pool in use.
    num_blocks = int(counts.sum()) + 8
    order = np.arange(num_blocks)
    if case.pages == "shuffled":
        random.shuffle(order)
    tables = np.zeros((case.batch, int(counts.max())), dtype=np.int32)
    shape = (num_blocks, case.block_size, case.kv_heads, case.head_dim)
    owned = np.zeros(shape[:2], dtype=bool)
    for seq, blocks in enumerate(np.split(order, np.cumsum(counts))[: case.batch]):
        tables[seq, : len(blocks)] = blocks
        page, row = np.divmod(np.arange(lengths[seq]), case.block_size)
        owned[blocks[page], row] = True
    unused = torch.from_numpy(~owned).to(device)
    dtype = getattr(torch, case.cache)
    q_dtype = torch.bfloat16 if case.cache.startswith("float8") else dtype
    torch.manual_seed(seed)

    def cache() -> torch.Tensor:
        numbers = torch.randn(shape, dtype=torch.bfloat16, device=device)
        numbers[unused] = float("nan")
        return numbers.to(dtype)

    size = (case.batch, case.heads, case.head_dim)
    return Inputs(
        case=case,
        q=torch.randn(size, dtype=q_dtype, device=device),
        k_cache=cache(),
        v_cache=cache(),
        block_tables=torch.from_numpy(tables).to(device),
        seq_lens=torch.from_numpy(lengths.astype(np.int32)).to(device),
        lengths=lengths,
    )


@no_type_check
@triton.jit
def read_kernel(x_ptr, out_ptr, size, TILE: tl.constexpr):
    """One program: TILE numbers read, one written."""
    index = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    x = tl.load(x_ptr + index, mask=index < size, other=0.0)
    tl.store(out_ptr + tl.program_id(0), tl.sum(x, axis=0))


def read_stream(x: torch.Tensor) -> torch.Tensor:
    """Read a float32 vector and write almost nothing: the ceiling for reading."""
    tile = 8192
    programs = -(-x.numel() // tile)
    out = torch.empty(programs, device=x.device)
    if mode.decide().mode == "reference":
        return x.sum()
    read_kernel[(programs,)](x, out, x.numel(), TILE=tile)
    return out
