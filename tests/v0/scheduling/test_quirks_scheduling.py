"""vLLM 0.6.4.post1's surprises that concern scheduling: mirrored, or mended (then both show)."""

import pytest

import pagesim
from tests.v0.scheduling.engine import CHUNKS_AND_SWAP, Engine, names


def test_q16_a_group_that_needs_more_than_the_watermark_leaves_stays_swapped() -> None:
    e = Engine(gpu=4, cpu=8, watermark=0.25, preemption_mode="swap")
    e.add("a", 8)
    e.step()
    e.add("b", 4)
    e.steps(5)  # b is admitted, then a outgrows the rest and b has to go, or a itself
    while not e.queues[2]:
        e.step()
    swapped = e.queues[2]
    group = e.groups[swapped[0]]
    group.first_seq.data.token_ids.extend([7] * (13 - group.first_seq.get_len()))
    for name in e.queues[1]:
        e.scheduler.abort_seq_group(name)
    assert e.free[0] == 4
    for _ in range(3):
        assert e.step().is_empty()  # needs all four blocks: LATER for ever, never ignored
    assert e.queues[2] == swapped
    assert e.scheduler.block_manager.can_swap_in(group, 0) is pagesim.AllocStatus.LATER


def test_q18_a_half_prefilled_victim_never_returns_if_its_rest_exceeds_the_budget() -> None:
    e = Engine(gpu=10, cpu=16, watermark=0.0, max_num_batched_tokens=8, **CHUNKS_AND_SWAP)
    e.add("a", 4)
    e.step()
    e.add("b", 30)  # all its eight blocks are taken with its first chunk of 7
    e.step()
    while not e.queues[2]:
        e.step()
    rest = e.groups["b"].first_seq.get_num_new_tokens()
    assert rest > 8
    e.scheduler.abort_seq_group("a")
    assert e.free[0] == 10
    for _ in range(3):
        assert e.step().is_empty()
    assert e.queues == ("", "", "b") and e.scheduler.has_unfinished_seqs()


def test_q20_the_same_by_swap_and_its_cpu_blocks_are_never_freed() -> None:
    e = Engine(gpu=2, cpu=4, watermark=0.0, preemption_mode="swap")
    e.add("a", 8)
    e.step()
    assert e.step().preempted == 1
    out = e.step()
    assert [group.request_id for group in out.ignored_seq_groups] == ["a"]
    assert not e.scheduler.has_unfinished_seqs()
    assert e.free == (2, 2)


@pytest.mark.parametrize("mode", [None, "recompute"])
def test_q21_a_forked_group_cannot_be_recomputed(mode: str | None) -> None:
    """Without a mode too: vLLM asks for a count that is 1 for every group."""
    e = Engine(gpu=4, watermark=0.0, preemption_mode=mode)
    e.add("a", 8)
    e.step()
    e.fork("a", 9)
    e.step()  # each takes a block of its own for its ninth token
    e.refuses(AssertionError, r"'a' has 2 sequences .* preemption_mode='swap'")


def test_q24_the_metadata_hold_copies_that_later_steps_do_not_change() -> None:
    e = Engine()
    e.add("a", 4)
    e.step()
    first = e.metadata[0]
    assert first.block_tables == {0: [0]}
    e.step()
    assert e.metadata[0].block_tables == {0: [0, 1]}
    assert first.block_tables == {0: [0]}


def test_q25_the_computed_prefix_is_remembered_across_a_swap() -> None:
    e = Engine(gpu=9, cpu=8, watermark=0.0, enable_prefix_caching=True)
    prompt = list(range(8))
    e.add("a", [*prompt, 50])
    e.step()
    e.add("b", [*prompt, 60, 61, 62])
    e.step()
    assert e.metadata[0].computed_block_nums == [0, 1]
    manager, b = e.scheduler.block_manager, e.groups["b"]
    manager.swap_out(b)
    b.first_seq.status = pagesim.SequenceStatus.SWAPPED
    manager.free(e.groups["a"].first_seq)
    for seq_id, prompt in {77: range(200, 224), 78: range(300, 312)}.items():
        others = pagesim.SequenceGroup("x", [pagesim.Sequence(seq_id, prompt, 4)])
        manager.allocate(others)  # the second one finds no unused block left, and evicts
        if seq_id == 78:
            assert {0, 1} < set(manager.get_block_table(others.first_seq))
    manager.free(pagesim.Sequence(77, [], 4))
    manager.swap_in(b)
    b.first_seq.status = pagesim.SequenceStatus.RUNNING
    table = manager.get_block_table(b.first_seq)
    assert table[:2] != [0, 1]
    assert manager.get_common_computed_block_ids([b.first_seq]) == [0, 1]


def test_q31_a_chunked_prompt_that_fills_the_gpu_preempts_itself_for_ever() -> None:
    e = Engine(gpu=4, watermark=0.0, max_num_batched_tokens=8, enable_chunked_prefill=True)
    e.add("a", 15)
    for _ in range(3):
        assert names(e.step()) == "a"
        assert e.groups["a"].first_seq.get_num_computed_tokens() == 8
        out = e.step()
        assert (out.preempted, e.groups["a"].first_seq.get_num_computed_tokens()) == (1, 0)


def test_q35_a_cached_prompt_needs_its_whole_length_of_the_budget() -> None:
    e = Engine(enable_prefix_caching=True, max_num_batched_tokens=12, max_model_len=12)
    prompt = list(range(9))
    e.add("a", prompt)
    e.step()
    e.add("b", prompt)
    e.add("c", prompt)
    assert names(e.step()) == "b"  # 8 of c's 9 tokens are cached; it must wait all the same


@pytest.mark.parametrize("chunked", [False, True])
def test_q37_the_chunk_is_compared_with_the_limit_not_the_prompt(chunked: bool) -> None:
    e = Engine(max_model_len=10, max_num_batched_tokens=10, enable_chunked_prefill=chunked)
    e.add("a", 14)
    out = e.step()
    assert [group.request_id for group in out.ignored_seq_groups] == ([] if chunked else ["a"])
    assert names(out) == ("a" if chunked else "")
