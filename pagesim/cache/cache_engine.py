"""The bytes behind the block ids: K and V of every layer, in a GPU pool and a CPU pool.

The cache engine carries out what the scheduler has decided, before the step computes, in every
layer, for both K and V:

    1. swap out    GPU block 1 -> CPU block 0     indices into the two pools, both from 0
    2. copy        GPU block 7 -> GPU block 1     copy-on-write, one pair after the other
    3. swap in     CPU block 3 -> GPU block 7     indices again

This is the order in which the scheduler decided: a copy may go to a block that was just swapped
out, and a swap in to a block that was copied from or to. vLLM swaps in first. With prefix caching
and forked groups that reads wrong bytes (see tests/cache/test_byte_proof.py): a block that becomes
full may turn out to be cached elsewhere; it is freed at once, and swapping in may take it before it
has been copied.

A step of V1 moves nothing: V1 preempts by computing again, and shares only blocks that are never
written again. Without a second tier its workers have no pool on the CPU. With one, they copy chunks
of blocks beside the steps: `CacheEngine.transfer` carries out one such job, and
`pagesim.v1.offload.worker.OffloadingWorker` says when.

Source: vLLM 0.6.4.post1, ``vllm/worker/cache_engine.py``, and ``Worker.execute_worker`` in
``vllm/worker/worker.py`` for its order.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pagesim.cache.offloading import block_pairs
from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.v1.output import SchedulerOutput
from pagesim.v1.transfers import TransferJob

Array = Any
"""One of NumPy, or a tensor of torch."""
CopyBlocks = Callable[[Sequence[Array], Sequence[Array], Array], None]
SwapBlocks = Callable[[Array, Array, Array], None]


class BlockMoves(Protocol):
    """The part of a step's ``SchedulerOutputs``, V0's, that moves bytes."""

    @property
    def blocks_to_swap_in(self) -> Sequence[tuple[int, int]]: ...

    @property
    def blocks_to_swap_out(self) -> Sequence[tuple[int, int]]: ...

    @property
    def blocks_to_copy(self) -> Sequence[tuple[int, int]]: ...


@dataclass(frozen=True, slots=True, eq=False)
class KVPool:
    """One device's cache: arrays ``keys[layer]`` and ``values[layer]`` whose first axis is blocks.

    They are NumPy arrays or torch tensors. In a cache of several groups (V1) a layer of each group
    may have the same arrays, because a block belongs to one group at a time. UsageError unless all
    K arrays have one shape and dtype, and all V arrays.
    """

    keys: Sequence[Array]
    values: Sequence[Array]

    def __post_init__(self) -> None:
        if not len(self.keys) or len(self.keys) != len(self.values):
            raise UsageError(
                f"a pool needs one K array and one V array per layer, not {len(self.keys)} and "
                f"{len(self.values)}"
            )
        for name, arrays in (("keys", self.keys), ("values", self.values)):
            for layer, array in enumerate(arrays):
                if array.shape != arrays[0].shape or array.dtype != arrays[0].dtype:
                    raise UsageError(
                        f"{name}[{layer}] is {_kind(array)}, {name}[0] is {_kind(arrays[0])}: "
                        "all layers must be alike"
                    )
        if self.keys[0].shape[:1] != self.values[0].shape[:1]:
            raise UsageError(
                f"keys[0] is {_kind(self.keys[0])}, values[0] is {_kind(self.values[0])}: they "
                "must have equally many blocks"
            )

    @staticmethod
    def zeros(
        num_layers: int,
        num_blocks: int,
        block_size: int,
        num_kv_heads: int,
        head_dim: int,
        dtype: DTypeLike = np.float32,
    ) -> "KVPool":
        """Make NumPy arrays of zeros, each [num_blocks, block_size, num_kv_heads, head_dim]."""
        check_int("num_layers", num_layers, 1)
        check_int("num_blocks", num_blocks, 0)
        shape = (num_blocks, block_size, num_kv_heads, head_dim)
        for name, length in zip(("block_size", "num_kv_heads", "head_dim"), shape[1:], strict=True):
            check_int(name, length, 1)
        return KVPool(
            keys=[np.zeros(shape, dtype) for _ in range(num_layers)],
            values=[np.zeros(shape, dtype) for _ in range(num_layers)],
        )

    @staticmethod
    def of_blocks(memory: Array) -> "KVPool":
        """Make views of an array [num_blocks, num_layers, 2, …], where 2 is K and V.

        All layers of a block lie side by side in it, and so do the blocks of a chunk (V1's second
        tier), so that a chunk can be copied as a whole.
        """
        layers = range(memory.shape[1])
        return KVPool(*([memory[:, layer, half] for layer in layers] for half in (0, 1)))

    @property
    def num_blocks(self) -> int:
        """The number of blocks in every array."""
        return int(self.keys[0].shape[0])


class CacheEngine:
    """Both pools, and the moves of blocks between and within them.

    ``copy_blocks(keys, values, pairs)`` and ``swap_blocks(source, target, pairs)`` move the bytes;
    they use NumPy by default, and may be ``kernels.copy_blocks`` and ``kernels.swap_blocks``.
    ``as_pairs`` converts an int64 array [P, 2] for them; the kernels need ``torch.from_numpy``.
    Without a ``cpu`` pool, nothing can be swapped. ``blocks_per_chunk`` is how many blocks of it a
    chunk of V1's second tier has. A call that raises UsageError or TypeError for one of its pairs
    has moved nothing.
    """

    def __init__(
        self,
        gpu: KVPool,
        cpu: KVPool | None = None,
        *,
        copy_blocks: CopyBlocks | None = None,
        swap_blocks: SwapBlocks | None = None,
        as_pairs: Callable[[NDArray[np.int64]], Array] | None = None,
        blocks_per_chunk: int = 1,
    ) -> None:
        cpu = cpu or KVPool([k[:0] for k in gpu.keys], [v[:0] for v in gpu.values])
        if len(gpu.keys) != len(cpu.keys):
            raise UsageError(f"the GPU pool has {len(gpu.keys)} layers, the CPU's {len(cpu.keys)}")
        for name, ours, theirs in (("K", gpu.keys, cpu.keys), ("V", gpu.values, cpu.values)):
            if ours[0].shape[1:] != theirs[0].shape[1:] or ours[0].dtype != theirs[0].dtype:
                raise UsageError(
                    f"{name} is {_kind(ours[0])} on the GPU and {_kind(theirs[0])} on the CPU: "
                    "they may differ only in the number of blocks"
                )
        self.gpu = gpu
        self.cpu = cpu
        self.blocks_per_chunk = check_int("blocks_per_chunk", blocks_per_chunk, 1)
        self.num_swapped_out = self.num_swapped_in = 0
        """Blocks that were copied to the CPU, and from there."""
        self._copy_blocks = copy_blocks or _copy_one_by_one
        self._swap_blocks = swap_blocks or _move_one_by_one
        self._as_pairs = as_pairs or (lambda pairs: pairs)

    def swap_in(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Move CPU blocks to the GPU; ``pairs`` are (CPU index, GPU index)."""
        self._swap_in(self._checked("swap_in", "CPU", "GPU", pairs))

    def swap_out(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Move GPU blocks to the CPU; ``pairs`` are (GPU index, CPU index)."""
        self._swap_out(self._checked("swap_out", "GPU", "CPU", pairs))

    def copy(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Copy blocks within the GPU pool, as if one pair (from, to) came after the other."""
        self._copy(self._checked("copy", "GPU", "GPU", pairs))

    def transfer(self, job: TransferJob) -> None:
        """Store chunks in V1's second tier, or load them from it."""
        pairs = block_pairs(job, self.blocks_per_chunk)
        if job.is_store:
            self.swap_out(pairs)
        else:
            self.swap_in(pairs)

    def execute(self, outputs: BlockMoves | SchedulerOutput) -> None:
        """Carry out a step's moves in the order above; all pairs are checked before any move.

        In a step of V1 there is nothing to do: jobs of the second tier are no part of a step, so
        they are not carried out here.

        UsageError, with nothing moved, for a step that lost blocks: policy="priority" swapped them
        out, and vLLM fails to order that move.
        """
        if isinstance(outputs, SchedulerOutput):
            return
        # Only a SchedulerOutputs has this attribute; vLLM's own requests, for example, do not.
        if lost := [gpu for gpu, _ in getattr(outputs, "blocks_lost", ())]:
            raise UsageError(
                f"the keys and values of GPU blocks {lost} are lost: policy='priority' swapped "
                f"them out, and as in vLLM the step does not order the move. Set "
                f"preemption_mode='recompute'"
            )
        swap_out = self._checked("swap_out", "GPU", "CPU", outputs.blocks_to_swap_out)
        copies = self._checked("copy", "GPU", "GPU", outputs.blocks_to_copy)
        swap_in = self._checked("swap_in", "CPU", "GPU", outputs.blocks_to_swap_in)
        self._swap_out(swap_out)
        self._copy(copies)
        self._swap_in(swap_in)

    def _checked(
        self, name: str, source: str, target: str, pairs: Iterable[tuple[int, int]]
    ) -> NDArray[np.int64]:
        sizes = {"GPU": self.gpu.num_blocks, "CPU": self.cpu.num_blocks}
        rows = [tuple(pair) for pair in pairs]
        for index, pair in enumerate(rows):
            if len(pair) != 2 or {*map(type, pair)} != {int}:
                raise TypeError(f"{name}[{index}] must be two block indices, not {pair!r}")
            for block, device in zip(pair, (source, target), strict=True):
                if not 0 <= block < (num_blocks := sizes[device]):
                    has = f"blocks 0 to {num_blocks - 1}" if num_blocks else "no blocks"
                    raise UsageError(
                        f"{name}[{index}] = {pair}: there is no block {block} in the {device} "
                        f"pool, which has {has}; each pool counts its blocks from 0"
                    )
        return np.array(rows, dtype=np.int64).reshape(-1, 2)

    def _swap_in(self, pairs: NDArray[np.int64]) -> None:
        self._swap(self.cpu, self.gpu, pairs)
        self.num_swapped_in += len(pairs)

    def _swap_out(self, pairs: NDArray[np.int64]) -> None:
        self._swap(self.gpu, self.cpu, pairs)
        self.num_swapped_out += len(pairs)

    def _swap(self, source: KVPool, target: KVPool, pairs: NDArray[np.int64]) -> None:
        if not len(pairs):
            return
        given = self._as_pairs(pairs)
        for layer in range(len(source.keys)):
            self._swap_blocks(source.keys[layer], target.keys[layer], given)
            self._swap_blocks(source.values[layer], target.values[layer], given)

    def _copy(self, pairs: NDArray[np.int64]) -> None:
        if len(pairs):
            self._copy_blocks(self.gpu.keys, self.gpu.values, self._as_pairs(pairs))


def _copy_one_by_one(
    keys: Sequence[Array], values: Sequence[Array], pairs: NDArray[np.int64]
) -> None:
    for array in (*keys, *values):
        _move_one_by_one(array, array, pairs)


def _move_one_by_one(source: Array, target: Array, pairs: NDArray[np.int64]) -> None:
    for old, new in pairs.tolist():
        target[new] = source[old]


def _kind(array: Array) -> str:
    return f"{array.dtype} {list(array.shape)}"
