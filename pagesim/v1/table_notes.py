"""Whose the tables are and how far they are written, which a recording hears as it changes."""

from __future__ import annotations

from collections.abc import Sequence

from pagesim.journal.effects import KNOWN, Name
from pagesim.journal.state import Group, TableState
from pagesim.v1.kv_cache_coordinator import Blocks, KVCacheCoordinator
from pagesim.v1.request import Request, check_block_size
from pagesim.v1.state import (
    GroupTable,
    Owner,
    check_name,
    note_hits,
    note_skipped,
    note_written,
)


class TableNotes:
    """Keeps what the tables of a coordinator do not know, and writes both to the journal."""

    def __init__(self, coordinator: KVCacheCoordinator) -> None:
        self.coordinator = coordinator
        self.journal = coordinator.block_pool.journal
        self.owners: dict[Name, Request] = {}
        """The requests that have begun the tables."""
        self._tables: dict[Name, dict[Name, Owner]] = {}
        """What stands for the tables of several groups, once there has been a recording."""
        self._num_slots: dict[Name, int] = {}
        """Positions of each table that are written, or will be by the steps in flight."""

    def begin(
        self, request: Request, hits: Blocks, num_computed_tokens: int, num_external_tokens: int
    ) -> None:
        """The tables begin, with hits or none; or they go on, perhaps of another request object."""
        if self.owners.get(request.request_id) is not request:
            self._open(request)
        if num_external_tokens or any(hits):
            self._adopt(request.request_id, hits, num_computed_tokens)

    def _open(self, request: Request) -> None:
        check_block_size(request, self.coordinator.block_pool.hash_block_size)
        name = request.request_id
        if name in self.owners:
            return
        if self.journal.active and len(self.coordinator.single_type_managers) > 1:
            check_name(name, self.owners)
        self.owners[name] = request
        if self.journal.active:
            for called, owner in self._tables_of(name).items():
                self.journal.opened(owner, called)

    def _adopt(self, request_id: Name, hits: Blocks, num_computed_tokens: int) -> None:
        """The tables begin with these hits, which may end beyond max_model_len, or go on."""
        self._num_slots[request_id] = num_computed_tokens
        if not self.journal.active or self.coordinator.has_tables(request_id):
            self.coordinator.allocate_new_computed_blocks(request_id, hits, num_computed_tokens)
            return
        managers, owners = self.coordinator.single_type_managers, self._tables_of(request_id)
        for manager, owner, found in zip(managers, owners.values(), hits, strict=True):
            size, skipped = manager.block_size, manager.get_num_skipped_tokens(num_computed_tokens)
            note_hits(self.journal, owner, found, size, skipped // size)
            manager.allocate_new_computed_blocks(request_id, found, num_computed_tokens)

    def _tables_of(self, request_id: Name) -> dict[Name, Owner]:
        """What a recording calls the tables of a request, and what stands for them in its rows."""
        request = self.owners[request_id]
        num_groups = len(self.coordinator.single_type_managers)
        if num_groups == 1:
            return {request_id: request}
        if request_id not in self._tables:
            tables = [GroupTable(request, group_id) for group_id in range(num_groups)]
            self._tables[request_id] = {table.name: table for table in tables}
        return self._tables[request_id]

    def written(
        self,
        request_id: Name,
        start: int,
        end: int,
        hits: Blocks,
        new_blocks: Blocks,
        is_loading: bool = False,
    ) -> None:
        """These positions have slots now, in tables that have grown by these blocks.

        A load fills those before: with the step, or later if nothing else is written.
        """
        if is_loading:
            local = self._num_slots[request_id]
            start, end = local, end if end > start else local
        if end > self._num_slots.get(request_id, -1):
            self._num_slots[request_id] = end
        if not self.journal.active:
            return
        managers, owners = self.coordinator.single_type_managers, self._tables_of(request_id)
        for manager, owner, *grown in zip(managers, owners.values(), hits, new_blocks, strict=True):
            table, size = manager.req_to_blocks.get(request_id, []), manager.block_size
            num_new, states = sum(map(len, grown)), manager.states_written(request_id, end)
            note_written(self.journal, owner, table, size, start, end, num_new, states)

    def loaded(self, request: Request) -> None:
        """A load has filled the slots of the tokens computed so far."""
        name, no_blocks = request.request_id, self.coordinator.no_blocks
        if (start := self._num_slots.get(name)) is not None:
            self.written(name, start, request.num_computed_tokens, no_blocks, no_blocks)

    def known(self, request_id: Name) -> None:
        """The tokens are sampled whose slots were written before."""
        if request_id in self.owners:
            written = self._num_slots[request_id]
            for owner in self._tables_of(request_id).values():
                self.journal.note((KNOWN, owner, owner.all_token_ids, written))

    def skipped(self, request_id: Name, gone: Sequence[Sequence[int]]) -> None:
        """These entries were given back: those of each group."""
        tables = self.coordinator.get_blocks(request_id)
        owners = self._tables_of(request_id).values()
        for owner, table, entries in zip(owners, tables, gone, strict=True):
            note_skipped(self.journal, owner, table, entries)

    def close(self, request_id: Name) -> None:
        """The tables end, if there are any."""
        if request_id in self.owners:
            if self.journal.active:
                for owner in self._tables_of(request_id).values():
                    self.journal.closed(owner)
            self._tables.pop(request_id, None)
            del self.owners[request_id], self._num_slots[request_id]

    def state(self, groups: Sequence[Group]) -> tuple[dict[Name, TableState], dict[Name, Owner]]:
        """The present tables by their names, and what stands for each."""
        tables: dict[Name, TableState] = {}
        live: dict[Name, Owner] = {}
        for name, request in self.owners.items():
            if len(groups) > 1:
                check_name(name, self.owners)
            written, owners = self._num_slots[name], self._tables_of(name)
            tokens = tuple(request.all_token_ids[:written])
            blocks = self.coordinator.get_blocks(name)
            for called, group, table in zip(owners, groups, blocks, strict=True):
                ids = tuple(block.block_id for block in table)
                tables[called] = group.table(ids, tokens, 0, written)
            live |= owners
        return tables, live
