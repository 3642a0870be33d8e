"""The operations of a recording of vLLM V0: one player for each kind of recording.

A player has a method ``op_x`` for each operation ``x``, with the arguments of the recording.
"""

from collections.abc import Iterable
from typing import Any, ClassVar, TypeVar

from pagesim.files.jsonl import JsonObject
from pagesim.timeline import Timeline
from pagesim.v0.block.block_table import BlockTable
from pagesim.v0.block.cpu_gpu_block_allocator import CpuGpuBlockAllocator
from pagesim.v0.block.interfaces import Device
from pagesim.v0.block_manager import SelfAttnBlockSpaceManager
from pagesim.v0.sequence import Logprob, Sequence, SequenceGroup, SequenceStatus

K = TypeVar("K")
V = TypeVar("V")
Ids = list[int] | list[list[int]]
"""Of the blocks of a request: in the only KV cache group, or in each of several."""


def pairs(mapping: dict[int, int] | Iterable[tuple[int, int]]) -> list[list[int]]:
    """A mapping, or pairs, as JSON has them."""
    items = mapping.items() if isinstance(mapping, dict) else mapping
    return [list(pair) for pair in items]


class UnknownNameError(KeyError):
    """A line refers to a table, group or sequence that no earlier line has created."""

    def __str__(self) -> str:
        return f"unknown name {self.args[0]!r}"


class Named(dict[K, V]):
    """Objects by their names in the recording."""

    def __missing__(self, name: K) -> V:
        raise UnknownNameError(name)

    def take(self, name: K) -> V:
        """Remove and return the object of that name."""
        found = self[name]
        del self[name]
        return found


class Player:
    """Runs the operations of one kind of recording: ``op_x`` runs the operation ``x``.

    ``start`` discards everything and makes a new ``subject``, the object under test; ``state`` is
    its state as a recording has it after each operation; with ``state_after_error``, also after one
    that failed. ``pools`` are the entries of the config that say how many blocks there are.
    """

    config: JsonObject
    run: Timeline | None = None
    subject: Any
    pools: ClassVar[tuple[str, ...]] = ("num_gpu_blocks", "num_cpu_blocks")
    max_blocks: ClassVar[int] = 10_000_000
    state_after_error: ClassVar[bool] = False
    has_pages: ClassVar[bool] = True
    """Whether the subject can be recorded."""

    def start(self, config: JsonObject) -> None:
        raise NotImplementedError

    def state(self) -> JsonObject:
        raise NotImplementedError


class BlockTablePlayer(Player):
    """Named tables on one allocator."""

    def call(self, name: str, table: BlockTable) -> None:
        """Remember a table under its name in the trace."""
        self.tables[name] = table
        if self.run is not None:
            self.run.label(table, name)

    def start(self, config: JsonObject) -> None:
        self.subject = self.allocator = CpuGpuBlockAllocator.create(**config)
        self.tables = Named[str, BlockTable]()

    def state(self) -> JsonObject:
        return {
            "tables": {name: table.physical_block_ids for name, table in self.tables.items()},
            "full": {name: table.num_full_slots for name, table in self.tables.items()},
            "free": [self.allocator.get_num_free_blocks(device) for device in Device],
            "cow": pairs(self.allocator.clear_copy_on_writes()),
        }

    def op_allocate(self, table: str, tokens: list[int], device: str) -> None:
        new = BlockTable(self.config["block_size"], self.allocator)
        new.allocate(tokens, Device[device])
        self.call(table, new)

    def op_append(self, table: str, tokens: list[int], lookahead: int) -> None:
        self.tables[table].append_token_ids(tokens, lookahead)

    def op_ensure(self, table: str, num_empty_slots: int) -> None:
        self.tables[table].ensure_num_empty_slots(num_empty_slots)

    def op_fork(self, table: str, child: str) -> None:
        self.call(child, self.tables[table].fork())

    def op_free(self, table: str) -> None:
        self.tables.take(table).free()

    def op_swap(self, table: str, src: str, dst: str) -> JsonObject:
        blocks = self.tables[table].blocks
        mapping = self.allocator.swap(blocks, Device[src], Device[dst])
        self.tables[table].update(blocks)
        index = self.allocator.get_physical_block_id
        physical = [[index(Device[src], a), index(Device[dst], b)] for a, b in mapping.items()]
        return {"mapping": pairs(mapping), "physical": physical}

    def op_get_and_reset_swaps(self) -> list[list[int]]:
        return pairs(self.allocator.get_and_reset_swaps())

    def op_touched(self, table: str, tokens: list[int], lookahead: int) -> int:
        return self.tables[table].get_num_blocks_touched_by_append_slots(tokens, lookahead)

    def op_unseen(self, table: str, tokens: list[int]) -> list[int]:
        return self.tables[table].get_unseen_token_ids(tokens)

    def op_required(self, num_tokens: int, lookahead: int) -> int:
        tokens = range(num_tokens)
        return BlockTable.get_num_required_blocks(tokens, self.config["block_size"], lookahead)

    def op_full_touched(self, tables: list[str], device: str) -> int:
        blocks = [block for name in tables for block in self.tables[name].blocks]
        return self.allocator.get_num_full_blocks_touched(blocks, Device[device])

    def op_mark_accessed(self, table: str, now: float) -> None:
        self.allocator.mark_blocks_as_accessed(self.tables[table].physical_block_ids, now)

    def op_mark_computed(self) -> None:
        self.allocator.mark_blocks_as_computed([])

    def op_computed(self, table: str, skip_last: bool) -> list[int]:
        ids = self.tables[table].physical_block_ids
        return self.allocator.get_computed_block_ids([], ids, skip_last)

    def op_hit_rate(self, device: str) -> float:
        return round(float(self.allocator.get_prefix_cache_hit_rate(Device[device])), 9)

    def op_totals(self) -> list[int]:
        return [self.allocator.get_num_total_blocks(device) for device in Device]


class BlockManagerPlayer(Player):
    """Groups of sequences on one block manager."""

    def start(self, config: JsonObject) -> None:
        self.subject = self.manager = SelfAttnBlockSpaceManager(**config)
        self.groups = Named[str, SequenceGroup]()
        self.seqs, self.group_of = Named[int, Sequence](), Named[int, str]()

    def state(self) -> JsonObject:
        manager = self.manager
        tables = {
            str(seq_id): manager.get_block_table(seq)
            for seq_id, seq in self.seqs.items()
            if seq_id in manager.block_tables
        }
        free = [manager.get_num_free_gpu_blocks(), manager.get_num_free_cpu_blocks()]
        return {"tables": tables, "free": free}

    def regroup(self, group: str, seqs: list[Sequence]) -> None:
        """Replace a group: a group object never changes its members."""
        self.groups.pop(group, None)
        if seqs:
            self.groups[group] = SequenceGroup(group, seqs)

    def set_status(self, group: str, status: SequenceStatus) -> None:
        for seq in self.groups[group].seqs:
            seq.status = status

    def op_new_group(self, group: str, seqs: list[int], prompt: list[int]) -> None:
        new = [Sequence(seq_id, prompt, self.config["block_size"]) for seq_id in seqs]
        self.seqs |= {seq.seq_id: seq for seq in new}
        self.group_of |= dict.fromkeys(seqs, group)
        self.regroup(group, new)

    def op_drop_group(self, group: str) -> None:
        for seq in self.groups.take(group).seqs:
            del self.seqs[seq.seq_id], self.group_of[seq.seq_id]

    def op_can_allocate(self, group: str, lookahead: int) -> str:
        return self.manager.can_allocate(self.groups[group], lookahead).name

    def op_allocate(self, group: str) -> None:
        self.manager.allocate(self.groups[group])
        self.set_status(group, SequenceStatus.RUNNING)

    def op_append_tokens(self, seq: int, tokens: list[int]) -> None:
        for token in tokens:
            self.seqs[seq].append_token_id(token, {token: Logprob(0.0)})

    def op_can_append_slots(self, group: str, lookahead: int) -> bool:
        return self.manager.can_append_slots(self.groups[group], lookahead)

    def op_append_slots(self, seq: int, lookahead: int) -> list[list[int]]:
        return pairs(self.manager.append_slots(self.seqs[seq], lookahead))

    def op_fork(self, parent: int, child: int) -> None:
        group = self.group_of[parent]
        twin = self.seqs[parent].fork(child)
        self.seqs[child], self.group_of[child] = twin, group
        self.regroup(group, [*self.groups[group].seqs, twin])
        self.manager.fork(self.seqs[parent], twin)

    def op_can_swap_out(self, group: str) -> bool:
        return self.manager.can_swap_out(self.groups[group])

    def op_swap_out(self, group: str) -> list[list[int]]:
        moved = pairs(self.manager.swap_out(self.groups[group]))
        self.set_status(group, SequenceStatus.SWAPPED)
        return moved

    def op_can_swap_in(self, group: str, lookahead: int) -> str:
        return self.manager.can_swap_in(self.groups[group], lookahead).name

    def op_swap_in(self, group: str) -> list[list[int]]:
        moved = pairs(self.manager.swap_in(self.groups[group]))
        self.set_status(group, SequenceStatus.RUNNING)
        return moved

    def op_free(self, seq: int) -> None:
        freed, group = self.seqs.take(seq), self.group_of.take(seq)
        freed.status = SequenceStatus.FINISHED_STOPPED
        self.manager.free(freed)
        self.regroup(group, [other for other in self.groups[group].seqs if other is not freed])

    def op_preempt(self, group: str) -> None:
        (seq,) = self.groups[group].seqs
        seq.status = SequenceStatus.WAITING
        self.manager.free(seq)
        seq.reset_state_for_recompute()

    def op_access(self, seq: int, now: float) -> None:
        self.manager.access_all_blocks_in_seq(self.seqs[seq], now)

    def op_computed(self, seqs: list[int]) -> list[int]:
        return self.manager.get_common_computed_block_ids([self.seqs[i] for i in seqs])

    def op_mark_computed(self, group: str, token_chunk_size: int) -> None:
        self.manager.mark_blocks_as_computed(self.groups[group], token_chunk_size)

    def op_hit_rate(self) -> float:
        return round(float(self.manager.get_prefix_cache_hit_rate(Device.GPU)), 9)
