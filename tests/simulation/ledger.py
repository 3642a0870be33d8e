"""What each step computes, reads and moves, found by keeping account of positions, not of sums.

A ledger knows of every sequence which of its positions have keys and values in its blocks. It looks
at a scheduler's steps from outside: block tables before and after, and what the worker is told.
"""

from typing import Any

from pagesim.simulation.paged import PagedServer

Step = tuple[int, int, int, int]
"""Prompt tokens computed, sequences decoded, cached tokens read, tokens moved."""


class Clock:
    """A cost model that writes down what it is asked; a step lasts a second."""

    def __init__(self) -> None:
        self.asked: list[Step] = []

    def seconds(
        self, prefill_tokens: int, decode_batch: int, kv_tokens: int, swapped_tokens: int = 0
    ) -> float:
        self.asked.append((prefill_tokens, decode_batch, kv_tokens, swapped_tokens))
        return 1.0


class Ledger:
    """Listens to the scheduler of ``engine``; ``seen`` counts what was rare enough to ask for."""

    def __init__(self, engine: PagedServer) -> None:
        self.steps: list[Step] = []
        self.tokens: list[int] = []
        """Step by step, how many slots of the GPU hold a token of a running sequence."""
        self.seen = {"swapped": 0, "recomputed": 0, "hit": 0, "full hit": 0, "passed hit": 0}
        self.seen |= {"later chunk": 0, "left out": 0, "beyond the window": 0, "samples": 0}
        self._scheduler = engine.scheduler
        self._has: dict[int, set[int]] = {}
        """Sequence -> the positions that it computed, or was told to have found."""
        self._found: dict[int, set[int]] = {}
        """Sequence -> the positions that the prefix cache said it has."""
        self._schedule = engine.scheduler.schedule
        engine.scheduler.schedule = self._watched  # type: ignore[method-assign]

    def _watched(self) -> Any:
        before = self._tables()
        metadata, out, flag = self._schedule()
        after = self._tables()
        for seq_id in [seq_id for seq_id in self._has if seq_id not in after]:
            self.seen["recomputed"] += seq_id in before
            del self._has[seq_id]
            self._found.pop(seq_id, None)
        moved = sum(
            abs(self._on_cpu(before[seq_id]) - self._on_cpu(after[seq_id]))
            for seq_id in before.keys() & after.keys()
        )
        self.seen["swapped"] += moved
        self.seen["left out"] += len(self._scheduler.running) - len(metadata)
        for group in self._scheduler.running:
            for seq in group.seqs:  # a fork has what its parent had
                of_parent = self._has.get(group.seqs[0].seq_id, set())
                self._has.setdefault(seq.seq_id, of_parent.copy())
        prefill = decodes = read = 0
        for meta in metadata:
            self.seen["samples"] += len(meta.seq_data) > 1
            for seq_id in meta.seq_data:
                has = self._has[seq_id]
                if meta.is_prompt:
                    found = self._found.setdefault(seq_id, set())
                    computed, needed = self._prompt(meta, has, found)
                    prefill += len(computed)
                    read += len(needed - computed)
                else:
                    new = self._next(has, 1)
                    assert new == {len(meta.seq_data[seq_id].token_ids) - 1}
                    decodes += 1
                    read += len(self._visible(new))
                    self.seen["beyond the window"] += self._visible(new) != has | new
                    has |= new
        if not out.is_empty():
            self.steps.append((prefill, decodes, read, moved * self._block_size))
            self.tokens.append(len(self._slots(after)))
        return metadata, out, flag

    def _prompt(self, meta: Any, has: set[int], found: set[int]) -> tuple[set[int], set[int]]:
        """The positions of a chunk that are computed, and those that they need."""
        chunk = self._next(has, meta.token_chunk_size)
        # Their number counts: as in vLLM the ids are those of before if it was swapped since.
        found |= set(range(len(meta.computed_block_nums) * self._block_size))
        computed = chunk - found or {max(chunk)}
        needed = self._visible(computed)
        assert needed <= has | found | computed, "it reads what is not there"
        self.seen["hit"] += bool(chunk & found)
        self.seen["full hit"] += chunk <= found
        self.seen["passed hit"] += bool(found and found <= has)
        self.seen["later chunk"] += bool(has)
        has |= chunk
        return computed, needed

    def _visible(self, queries: set[int]) -> set[int]:
        """The positions that any of these attends to: itself and what is before, in the window."""
        window = self._scheduler.cache_config.sliding_window
        return {
            key
            for query in queries
            for key in range(query + 1)
            if window is None or key > query - window
        }

    def _next(self, has: set[int], count: int) -> set[int]:
        """The first ``count`` positions that are missing."""
        assert has == set(range(len(has)))
        return set(range(len(has), len(has) + count))

    def _slots(self, tables: dict[int, list[int]]) -> set[tuple[int, int]]:
        """The slots, (block, offset), in which the running sequences have their tokens."""
        null = self._scheduler.block_manager.block_allocator.null_block_id
        running = [seq.seq_id for group in self._scheduler.running for seq in group.seqs]
        size = self._block_size
        slots = {
            (tables[seq_id][position // size], position % size)
            for seq_id in running
            for position in self._has[seq_id] | self._found.get(seq_id, set())
        }
        return {(block, offset) for block, offset in slots if block != null}

    def _tables(self) -> dict[int, list[int]]:
        tables = self._scheduler.block_manager.block_tables
        return {seq_id: list(table.physical_block_ids) for seq_id, table in tables.items()}

    def _on_cpu(self, table: list[int]) -> int:
        return sum(block >= self._scheduler.cache_config.num_gpu_blocks for block in table)

    @property
    def _block_size(self) -> int:
        return self._scheduler.cache_config.block_size
