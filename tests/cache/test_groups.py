"""A step of V1 with several KV cache groups: a table and slots for each, and nothing else twice."""

from typing import Any

import numpy as np
import pytest

import pagesim
from pagesim.cache import AttentionMetadata, build_v1_metadata
from pagesim.sizing.kv_cache_spec import FullAttentionSpec, MambaSpec, SlidingWindowSpec
from pagesim.v1 import CacheConfig, Request, Scheduler, SchedulerConfig
from tests.v1.scenes import text

FULL, WINDOW = FullAttentionSpec(4), SlidingWindowSpec(4, sliding_window=6)
STATES = MambaSpec(4, mamba_cache_mode="align")


class Steps:
    """A scheduler over groups, whose requests generate 900, 901, …"""

    def __init__(self, *groups: Any, blocks: int = 60, budget: int = 16, **cache: Any) -> None:
        self.scheduler = Scheduler(
            SchedulerConfig(budget, 4, 64),
            CacheConfig(num_gpu_blocks=blocks, groups=groups, **cache),
        )
        self.hash_block_size = self.scheduler.kv_cache_manager.block_pool.hash_block_size
        self.token = 900

    def add(self, name: str, tokens: list[int], max_tokens: int = 20) -> None:
        size = self.hash_block_size
        self.scheduler.add_request(Request(name, tokens, block_size=size, max_tokens=max_tokens))

    def step(self) -> AttentionMetadata:
        """The next step's batch; the step is carried out."""
        output = self.scheduler.schedule()
        batch = build_v1_metadata(output, self.scheduler)
        sampled = {name: [self.token + i] for i, name in enumerate(batch.sample_ids)}
        self.token += len(sampled)
        self.scheduler.update_from_output(output, sampled)
        return batch


def tables(batch: AttentionMetadata) -> list[list[list[int]]]:
    return [group.block_tables.tolist() for group in batch.groups]


def slots(batch: AttentionMetadata) -> list[list[int]]:
    return [group.slot_mapping.tolist() for group in batch.groups]


def test_a_table_and_slots_for_each_group() -> None:
    steps = Steps(FULL, WINDOW, WINDOW)
    steps.add("a", text(10))
    steps.add("b", text(6, 100))
    batch = steps.step()
    assert tables(batch) == [
        [[1, 2, 3], [10, 11, -1]],
        [[4, 5, 6], [12, 13, -1]],
        [[7, 8, 9], [14, 15, -1]],
    ]
    assert slots(batch)[1] == [*range(16, 26), *range(48, 54)]
    assert [group.kv_cache_spec for group in batch.groups] == [FULL, WINDOW, WINDOW]
    assert [group.sliding_window for group in batch.groups] == [0, 6, 6]
    first, *others = batch.groups
    for group in others:
        for name in ("input_tokens", "query_start_loc", "context_lens", "seq_lens", "sample_rows"):
            assert getattr(group, name) is getattr(first, name)


def test_what_has_left_a_window_is_marked_in_its_group_alone() -> None:
    steps = Steps(FULL, WINDOW)
    steps.add("a", text(14))
    batches = [steps.step() for _ in range(6)]
    full, window = tables(batches[-1])
    # Token 18 is computed, and sees tokens 13 to 18.
    assert batches[-1].seq_lens.tolist() == [19]
    assert -1 not in full[0] and [entry == -1 for entry in window[0]] == [True] * 3 + [False] * 2
    assert 0 not in np.array(window)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_block_sizes_that_differ(order: tuple[int, int]) -> None:
    specs = [FullAttentionSpec(4), SlidingWindowSpec(8, sliding_window=5)]
    steps = Steps(*(specs[i] for i in order))
    steps.add("a", text(11))
    found = dict(
        zip(order, zip(tables(batch := steps.step()), slots(batch), strict=True), strict=True)
    )
    for index, size in ((0, 4), (1, 8)):
        (table,), mapping = found[index]
        assert len(table) == -(-11 // size)
        assert mapping == [table[i // size] * size + i % size for i in range(11)]


def test_hits_and_chunks_of_all_groups() -> None:
    steps = Steps(FULL, WINDOW, retention_interval=None, budget=9)
    steps.add("a", text(17))
    while steps.step().num_prefills:
        pass
    steps.add("b", [*text(16), 500])
    batch = steps.step()
    row = batch.seq_ids.index("b")
    assert batch.context_lens[row] == 16
    full, window = (group[row] for group in tables(batch))
    assert full[:4] == tables(batch)[0][1 - row][:4]
    # The next token sees tokens 11 to 16: of 16 cached ones two blocks are enough.
    assert window[:2] == [-1, -1] and min(window[2:5]) > 0


def test_a_state_is_in_the_block_of_its_last_token() -> None:
    steps = Steps(FULL, STATES, budget=64)
    steps.add("a", text(18))
    batch = steps.step()
    assert (batch.seq_lens.tolist(), batch.sliding_window) == ([16], 0)
    states = batch.groups[1]
    assert states.sliding_window is None and states.kv_cache_spec == STATES
    assert [entry > 0 for entry in states.block_tables[0]] == [False, False, False, True]
    assert (states.slot_mapping >= 0).sum() == 4 and states.slot_mapping.min() == -1
    before = states.block_tables[0, 3]
    batch = steps.step()
    assert batch.context_lens.tolist() == [16]
    table = batch.groups[1].block_tables[0]
    assert table[3] == before and table[4] not in (-1, before)


def test_a_window_or_a_state_that_is_gone_is_named() -> None:
    for spec, words in (
        (WINDOW, "group 1, .* left the window"),
        (STATES, "group 1, .* state is gone"),
    ):
        steps = Steps(FULL, spec)
        steps.add("a", text(14))
        while steps.step().seq_lens[0] < 16:
            pass
        output = steps.scheduler.schedule()
        # The token after this one would need neither token 11 nor the state after 16 tokens.
        steps.scheduler.kv_cache_manager.remove_skipped_blocks("a", 17)
        with pytest.raises(pagesim.UsageError, match=words):
            build_v1_metadata(output, steps.scheduler)


def test_an_empty_step_and_no_groups() -> None:
    steps = Steps(FULL, WINDOW)
    batch = steps.step()
    assert slots(batch) == [[], []] and len(batch.groups) == 2
    none = Steps(enable_prefix_caching=False)
    with pytest.raises(pagesim.UsageError, match="no groups"):
        none.step()
