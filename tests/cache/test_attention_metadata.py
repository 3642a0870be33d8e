"""A step's batch for attention kernels: by hand, and what is left out."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

import pagesim
from pagesim.cache import AttentionMetadata, build_attention_metadata
from pagesim.v0.sequence import SequenceData
from tests.rows import rows


@dataclass(slots=True)
class Group:
    """What build_attention_metadata reads, by hand."""

    request_id: str
    is_prompt: bool
    seq_data: dict[int, SequenceData]
    block_tables: dict[int, list[int]]
    token_chunk_size: int
    computed_block_nums: list[int] = field(default_factory=list)
    do_sample: bool = True


def data(length: int, computed: int, first: int = 100) -> SequenceData:
    made = SequenceData(list(range(first, first + length)))
    made.update_num_computed_tokens(computed)
    return made


def lists(batch: AttentionMetadata, *names: str) -> list[Any]:
    return [getattr(batch, name).tolist() for name in names]


def test_the_batch_drawn_in_the_module(snapshot: SnapshotAssertion) -> None:
    batch = build_attention_metadata(
        [
            Group("a", True, {7: data(5, 2)}, {7: [3, 0]}, 3),
            Group("b", True, {8: data(4, 0, 200)}, {8: [2]}, 3, do_sample=False),
            Group("c", False, {9: data(9, 8, 300)}, {9: [4, 1, 5]}, 1),
        ],
        block_size=4,
    )
    assert rows(batch) == snapshot
    assert (batch.max_seq_len, batch.sample_ids) == (9, [7, 9])
    tables, present = batch.gather_tables()
    assert tables.tolist() == [[3, 0, 0], [2, 0, 0], [4, 1, 5]]
    assert present.sum(axis=1).tolist() == [2, 1, 3]


def test_an_empty_batch() -> None:
    batch = build_attention_metadata([], 4)
    assert lists(batch, "slot_mapping", "query_start_loc", "seq_lens") == [[], [0], []]
    assert batch.block_tables.shape == (0, 0)
    assert (batch.max_query_len, batch.max_seq_len, batch.num_prefills) == (0, 0, 0)


@pytest.mark.parametrize(
    ("computed", "chunk", "cached", "first"),
    [
        (0, 14, 0, 0),
        (0, 14, 2, 8),  # two blocks are there: begin behind them
        (4, 10, 2, 8),
        (8, 6, 2, 8),  # the cached blocks lie behind us
        (10, 4, 2, 10),
        (0, 8, 3, 7),  # all of the chunk is there: its last token alone
        (0, 12, 3, 11),
    ],
)
def test_what_is_computed_already_is_left_out(
    computed: int, chunk: int, cached: int, first: int
) -> None:
    group = Group("a", True, {1: data(14, computed)}, {1: [5, 6, 7, 8]}, chunk, [5, 6, 7][:cached])
    end = computed + chunk
    batch = build_attention_metadata([group], 4)
    assert lists(batch, "context_lens", "seq_lens") == [[first], [end]]
    assert batch.input_positions.tolist() == list(range(first, end))
    assert batch.slot_mapping.tolist() == list(range(20 + first, 20 + end))
    # As in vLLM, where prefix caching and sliding windows do not go together.
    windowed = build_attention_metadata([group], 4, sliding_window=100)
    assert windowed.context_lens.tolist() == [computed]


def test_a_window_shortens_what_prompts_write_and_not_what_decodes_do() -> None:
    groups = [
        Group("a", True, {1: data(10, 0)}, {1: [0, 1, 2]}, 10),
        Group("b", False, {2: data(10, 9)}, {2: [3, 4, 5]}, 1),
    ]
    batch = build_attention_metadata(groups, 4, sliding_window=8)
    assert batch.slot_mapping.tolist() == [-1, -1, 2, 3, 4, 5, 6, 7, 8, 9, 21]
    assert batch.query_start_loc.tolist() == [0, 10, 11]


def test_errors_name_the_group() -> None:
    decode = Group("d", False, {1: data(5, 4)}, {1: [0, 1]}, 1)
    prompt = Group("p", True, {2: data(5, 0)}, {2: [2, 3]}, 5)
    with pytest.raises(pagesim.UsageError, match="group 'p' prefills, so it must come before"):
        build_attention_metadata([decode, prompt], 4)
    short = Group("s", True, {2: data(9, 0)}, {2: [2, 3]}, 9)
    with pytest.raises(pagesim.UsageError, match="group 's': sequence 2 has 2 blocks of 4 slots"):
        build_attention_metadata([short], 4)
    short.block_tables.clear()
    with pytest.raises(pagesim.UsageError, match="sequence 2 has 0 blocks"):
        build_attention_metadata([short], 4)
