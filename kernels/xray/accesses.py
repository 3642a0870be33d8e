"""The vocabulary of an access trace: memory as tensors, and what a program did to it.

An address becomes an element of a `Region`, and an element of a cache a (block, row, head,
dimension). A `Program` is its accesses in order.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pagesim.kernels.xray.interpreter import Addresses, Kind
from pagesim.kernels.xray.ownership import Slot

SECTOR, LINE = 32, 128
OUTSIDE = "outside"
# Tensors with the axes [num_blocks, block_size, Hkv, D], by the names that launchers give them.
CACHES = ("k_cache", "v_cache", "k_caches", "v_caches", "src", "dst")
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Region:
    """A tensor as memory: where its elements lie.

    name: the caller's (a list's member is `k_caches[1]`), or the kernel's for a tensor that the
    launcher made (`out`, the next launch's `out#2`). start, base: addresses of the tensor and of
    its storage; strides in bytes; uses: how many of the caller's arguments are this tensor.
    """

    name: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int
    start: int
    base: int
    from_caller: bool
    uses: int = 1

    @property
    def size(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)

    @property
    def is_cache(self) -> bool:
        """Whether its axes are [num_blocks, block_size, Hkv, D], by its name."""
        return self.name.split("[")[0] in CACHES and len(self.shape) == 4

    def locate(self, addresses: Addresses, itemsize: int) -> Numbers:
        """Row-major numbers of the elements touched by accesses of `itemsize` bytes, [lanes, n].

        n is 1, or more for a lane that spans several elements; -1 = no element of this tensor. An
        axis of stride 0 counts as its first index.
        """
        span = np.arange(max(itemsize // self.itemsize, 1)) * self.itemsize
        rest = addresses.astype(np.int64)[:, None] - self.start + span
        if itemsize < self.itemsize:
            rest -= rest % self.itemsize  # a part of an element is that element
        outside = (rest < 0) | (0 in self.shape)
        found = np.zeros_like(rest)
        weights = np.cumprod((1, *self.shape[:0:-1]))[::-1]
        axes = zip(self.shape, self.strides, weights, strict=True)
        for size, stride, weight in sorted(axes, key=lambda axis: -axis[1]):
            if size > 1 and stride > 0:
                # What is past the last index stays in `rest`, which marks it as outside.
                index = np.minimum(rest // stride, size - 1)
                rest = rest - index * stride
                found += index * weight
        return np.where(outside | (rest != 0), -1, found)


@dataclass(frozen=True, slots=True)
class Access:
    """The part of one load, store or atomic of one program that concerns one tensor.

    elements: row-major numbers in the tensor, in lane order; offsets: for each lane, bytes from the
    start of the storage. Outside every tensor both are the raw addresses, and region is None.
    """

    kind: Kind
    region: Region | None
    elements: Numbers
    offsets: Numbers
    itemsize: int

    @property
    def tensor(self) -> str:
        return self.region.name if self.region else OUTSIDE

    @property
    def num_bytes(self) -> int:
        """Bytes that the lanes ask for; two lanes with one address count twice."""
        return self.offsets.size * self.itemsize

    @property
    def sectors(self) -> int:
        """How many 32-byte sectors the access touches."""
        return self._units(SECTOR)

    @property
    def lines(self) -> int:
        """How many 128-byte lines the access touches."""
        return self._units(LINE)

    @property
    def efficiency(self) -> float:
        """Distinct bytes wanted ÷ bytes of the sectors touched, 0 to 1."""
        return len(np.unique(self.offsets)) * self.itemsize / (SECTOR * self.sectors)

    def coordinates(self) -> tuple[Numbers, ...]:
        """The elements' indices, one array an axis: in a cache block, row, KV head, dimension."""
        if self.region is None:
            raise ValueError("an access outside every tensor has addresses, but no coordinates")
        return tuple(np.unravel_index(self.elements, self.region.shape))

    def slots(self) -> list[Slot]:
        """The (block, row) of a cache access in order, each once; [] for another tensor."""
        if self.region is None or not self.region.is_cache:
            return []
        block, row = self.coordinates()[:2]
        return list(dict.fromkeys(zip(block.tolist(), row.tolist(), strict=True)))

    def _units(self, size: int) -> int:
        ends = np.concatenate([self.offsets, self.offsets + self.itemsize - 1])
        return len(np.unique(ends // size))


@dataclass(frozen=True, slots=True)
class Program:
    """One program: its launch, its place in the grid, and what it did, in order.

    rows, heads: the rows and heads of q that it read, which say what it works for.
    """

    launch: int
    kernel: str
    index: tuple[int, int, int]
    accesses: list[Access] = field(default_factory=list)

    @property
    def label(self) -> str:
        return f"{self.kernel}{self.index}"

    @property
    def rows(self) -> list[int]:
        return self._of_q(0)

    @property
    def heads(self) -> list[int]:
        return self._of_q(1)

    def of(self, kind: Kind, *tensors: str) -> Iterator[Access]:
        """Its accesses of a kind, to the named tensors only if any are named."""
        for access in self.accesses:
            if access.kind == kind and (not tensors or access.tensor in tensors):
                yield access

    def _of_q(self, axis: int) -> list[int]:
        seen = [np.unique(access.coordinates()[axis]) for access in self.of("read", "q")]
        return sorted({int(index) for indices in seen for index in indices})
