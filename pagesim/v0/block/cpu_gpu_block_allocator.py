"""Two pools side by side: the GPU's, which kernels read, and the CPU's, for swapping.

Source: vLLM 0.6.4.post1, ``vllm/core/block/cpu_gpu_block_allocator.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

from pagesim.checks import Natural, Positive, check_choice, checked
from pagesim.errors import UsageError
from pagesim.journal import Journal, Kept, event
from pagesim.journal.effects import MOVE, NULL, Name
from pagesim.journal.state import State
from pagesim.v0.block.common import block_id_of, find_rank, first_shared, get_all_blocks
from pagesim.v0.block.interfaces import Block, BlockAllocator, Device
from pagesim.v0.block.naive_block import NaiveBlock, NaiveBlockAllocator
from pagesim.v0.block.prefix_caching_block import PrefixCachingBlockAllocator
from pagesim.v0.state import read_pools

ALLOCATORS: dict[str, Callable[..., BlockAllocator]] = {
    "naive": NaiveBlockAllocator,
    "prefix_caching": PrefixCachingBlockAllocator,
}
Kind = Annotated[str, partial(check_choice, known=tuple(ALLOCATORS))]


class NullBlock(NaiveBlock):
    """Takes the place of blocks that fell out of the sliding window; it cannot be written to.

    All tables share one, whose single GPU block is never freed.
    """

    __slots__ = ()
    content = _content = None
    """It can never be cached; the blocks after it read this to learn whether their prefix is."""
    num_empty_slots = 0
    """It has no room for tokens."""

    def __init__(self, block: Block) -> None:
        super().__init__(None, (), block.block_size, block.allocator, block.block_id)

    def append_token_ids(self, token_ids: Sequence[int]) -> None:
        """ValueError: the null block holds nothing."""
        raise ValueError("the null block cannot be written to: its slots fell out of the window")


class CpuGpuBlockAllocator:
    """The allocator of both devices. GPU ids are 0 … G-1, CPU ids G … G+C-1.

    A method without a docstring passes its call on to the `BlockAllocator` of one device. A call
    without a device infers it from the block's id; ``clear_copy_on_writes``, ``mark_*`` and
    ``get_*computed*`` concern the GPU.
    """

    @staticmethod
    @checked
    def create(
        allocator_type: Kind, num_gpu_blocks: Natural, num_cpu_blocks: Natural, block_size: Positive
    ) -> CpuGpuBlockAllocator:
        """Make two pools of one kind, "naive" or "prefix_caching"; UsageError for anything else."""
        pool = partial(ALLOCATORS[allocator_type], block_size=block_size, journal=Journal())
        cpu_ids = range(num_gpu_blocks, num_gpu_blocks + num_cpu_blocks)
        cpu = pool(num_cpu_blocks, block_ids=cpu_ids, pool="CPU")
        return CpuGpuBlockAllocator(cpu, pool(num_gpu_blocks))

    def __init__(
        self, cpu_block_allocator: BlockAllocator, gpu_block_allocator: BlockAllocator
    ) -> None:
        gpu, cpu = gpu_block_allocator, cpu_block_allocator
        shared = first_shared(gpu.block_ids, cpu.block_ids)
        if shared is not None:
            raise UsageError(f"block {shared} must belong to one device, not to both")
        if cpu.journal is not gpu.journal:
            raise UsageError("both allocators must be made with the same journal")
        if cpu.block_size != gpu.block_size:
            raise UsageError(
                f"both devices must have blocks of one size, not {cpu.block_size} on the CPU and "
                f"{gpu.block_size} on the GPU"
            )
        self.block_size, self.journal = gpu.block_size, gpu.journal
        self._gpu, self._cpu = gpu, cpu
        self._allocators = {Device.GPU: gpu, Device.CPU: cpu}
        gpu.parent = cpu.parent = self
        self.tables: Mapping[Any, Any] = {}
        """The tables of the manager that these pools belong to, if any."""
        self._swap_mapping: Kept[int, int] = Kept(self.journal)
        self._null_block: NullBlock | None = None

    # -- state -----------------------------------------------------------------------------------

    def state(self, tables: Mapping[Name, Any] | None = None) -> State:
        """Return the present state of both pools and of ``tables``, by default the manager's."""
        tables = self.tables if tables is None else tables
        return read_pools([self._gpu, self._cpu], tables, self.null_block_id)

    @property
    def all_block_ids(self) -> frozenset[int]:
        """The ids of both devices."""
        return frozenset().union(*(pool.block_ids for pool in self._allocators.values()))

    @property
    def null_block_id(self) -> int | None:
        """The id of the null block, None until a sliding window needs it."""
        return None if self._null_block is None else self._null_block.block_id

    def allocator_on(self, device: Device) -> BlockAllocator:
        """Return the allocator of one device."""
        allocator = self._allocators.get(device)
        if allocator is None:
            raise TypeError(f"device must be Device.GPU or Device.CPU, not {device!r}")
        return allocator

    def device_of(self, block_id: int) -> Device:
        """Return the device of a block."""
        for device, allocator in self._allocators.items():
            if find_rank(block_id, allocator.block_ids) is not None:
                return device
        raise UsageError(f"block {block_id!r} does not exist on any device")

    def get_num_free_blocks(self, device: Device) -> int:
        return self.allocator_on(device).get_num_free_blocks()

    def get_num_total_blocks(self, device: Device) -> int:
        return self.allocator_on(device).get_num_total_blocks()

    def free_block_ids(self, device: Device) -> tuple[int, ...]:
        return self.allocator_on(device).free_block_ids

    def get_ref_count(self, block_id: int) -> int:
        return self._allocators[self.device_of(block_id)].get_ref_count(block_id)

    def get_physical_block_id(self, device: Device, absolute_id: int) -> int:
        return self.allocator_on(device).get_physical_block_id(absolute_id)

    # -- allocating, sharing, freeing ------------------------------------------------------------

    def allocate_mutable_block(self, prev_block: Block | None, device: Device) -> Block:
        return self.allocator_on(device).allocate_mutable_block(prev_block)

    def allocate_immutable_block(
        self, prev_block: Block | None, token_ids: Sequence[int], device: Device
    ) -> Block:
        return self.allocator_on(device).allocate_immutable_block(prev_block, token_ids)

    def allocate_immutable_blocks(
        self, prev_block: Block | None, block_token_ids: Sequence[Sequence[int]], device: Device
    ) -> list[Block]:
        return self.allocator_on(device).allocate_immutable_blocks(prev_block, block_token_ids)

    @event()
    def allocate_or_get_null_block(self) -> NullBlock:
        """Return the block that replaces those outside a sliding window, allocated only once."""
        if self._null_block is None:
            self._null_block = NullBlock(self.allocate_mutable_block(None, Device.GPU))
            row = (NULL, self._null_block.block_id, None, None)
            self.journal.note(row, setattr, self, "_null_block", None)
        return self._null_block

    def free(self, block: Block) -> None:
        """Give up a handle's share of its block; the null block is never freed.

        UsageError if the handle was already freed.
        """
        if block is not self._null_block or block is None:  # None is no block, which is an error
            self._owner_of(block).free(block)

    def _free_blocks(self, blocks: Sequence[Block]) -> None:
        """Free the blocks of a table, first to last."""
        for block in self._without_null(blocks):
            self._owner_of(block)._free_block_id(block)

    @event()
    def fork(self, last_block: Block) -> list[Block]:
        """Make new handles on the chain that ends at ``last_block``, first to last."""
        block_id_of(last_block)
        return self.fork_blocks(get_all_blocks(last_block))

    @event()
    def fork_blocks(self, blocks: Sequence[Block]) -> list[Block]:
        """Make new handles on the blocks of a table; the null block keeps its single handle."""
        real = self._without_null(blocks)
        if not real:
            return list(blocks)
        forked = iter(self._owner_of(real[0]).fork_blocks(real))
        return [block if block is self._null_block else next(forked) for block in blocks]

    # -- swapping --------------------------------------------------------------------------------

    @event(atomic=True)
    def swap(
        self, blocks: Sequence[Block], src_device: Device, dst_device: Device
    ) -> dict[int, int]:
        """Move ``blocks`` to ``dst_device``; the handles get new ids. Returns {old id: new id}.

        All ids of the source are released before the first one of the destination is taken. Refresh
        the table that holds the blocks with ``table.update(blocks)``. NoFreeBlocksError if the
        destination has no room, UsageError if a block does not live on ``src_device``.
        """
        source, target = self.allocator_on(src_device), self.allocator_on(dst_device)
        if source is target:
            raise UsageError(f"swapping needs two devices, not {src_device} twice")
        blocks = self._without_null(blocks)
        old_ids = [block_id_of(block) for block in blocks]
        source.swap_out(blocks)
        target.swap_in(blocks)
        mapping = {old: block_id_of(block) for old, block in zip(old_ids, blocks, strict=True)}
        for old_id, new_id in mapping.items():
            self._swap_mapping[old_id] = new_id
            self.journal.note((MOVE, old_id, new_id))
        return mapping

    def get_and_reset_swaps(self) -> list[tuple[int, int]]:
        """Return all swaps (old id, new id) since the last call, in order, and forget them."""
        swaps = list(self._swap_mapping.items())
        self._swap_mapping = Kept(self.journal)
        return swaps

    def get_num_full_blocks_touched(self, blocks: Sequence[Block], device: Device) -> int:
        return self.allocator_on(device).get_num_full_blocks_touched(blocks)

    # -- copy-on-write and prefix caching, on the GPU --------------------------------------------

    def cow_block_if_not_appendable(self, block: Block) -> int:
        return self._owner_of(block).cow_block_if_not_appendable(block)

    def promote_to_immutable_block(self, block: Block) -> int:
        return self._owner_of(block).promote_to_immutable_block(block)

    def clear_copy_on_writes(self) -> list[tuple[int, int]]:
        return self._gpu.clear_copy_on_writes()

    def mark_blocks_as_accessed(self, block_ids: Sequence[int], now: float) -> None:
        self._gpu.mark_blocks_as_accessed(block_ids, now)

    def mark_blocks_as_computed(self, block_ids: Sequence[int]) -> None:
        self._gpu.mark_blocks_as_computed(block_ids)

    def get_computed_block_ids(
        self,
        prev_computed_block_ids: list[int],
        block_ids: Sequence[int],
        skip_last_block_id: bool = True,
    ) -> list[int]:
        return self._gpu.get_computed_block_ids(
            prev_computed_block_ids, block_ids, skip_last_block_id
        )

    def get_common_computed_block_ids(
        self, computed_seq_block_ids: Sequence[Sequence[int]]
    ) -> list[int]:
        return self._gpu.get_common_computed_block_ids(computed_seq_block_ids)

    def get_prefix_cache_hit_rate(self, device: Device) -> float:
        return self.allocator_on(device).get_prefix_cache_hit_rate()

    def _owner_of(self, block: Block) -> BlockAllocator:
        owner: Any = getattr(block, "allocator", None)
        return owner if owner is self._cpu else self._gpu  # which reports a bad block

    def _without_null(self, blocks: Sequence[Block]) -> list[Block]:
        null_block = self._null_block
        return [block for block in blocks if block is not null_block or block is None]
