"""Who computes when: budgets, prefill before decode, chunks, preemption and the way back."""

from typing import Any

import pagesim
from tests.v0.scheduling.engine import CHUNKS_AND_SWAP, Engine, names


def test_chunked_prefill_with_caching_keeps_to_whole_blocks() -> None:
    e = Engine(max_num_batched_tokens=12, enable_chunked_prefill=True, enable_prefix_caching=True)
    e.add("a", 2)
    e.add("b", 30)
    e.step()
    assert [m.token_chunk_size for m in e.metadata] == [2, 8]
    e = Engine(max_num_batched_tokens=10, enable_chunked_prefill=True, enable_prefix_caching=True)
    e.add("a", 2)
    e.refuses(pagesim.UsageError, r"multiple of block_size \(4\) .* not 10")


def test_the_counts_of_unfinished_groups() -> None:
    e = Engine(max_num_seqs=1)
    e.add("a", 3)
    e.add("b", 3)
    assert e.scheduler.get_num_unfinished_seq_groups() == 2
    e.step(finish="a")
    assert e.scheduler.get_and_reset_finished_requests_ids() == ["a"]
    assert e.scheduler.get_num_unfinished_seq_groups() == 1
    e.step(finish="b")
    assert not e.scheduler.has_unfinished_seqs()
    assert e.free == (100, 0)


def test_chunks_reserve_nothing_ahead_neither_running_nor_back_from_the_cpu() -> None:
    e = Engine(gpu=12, cpu=12, max_num_batched_tokens=8, num_lookahead_slots=4, **CHUNKS_AND_SWAP)
    e.add("a", 16)  # four blocks, taken with the first of two chunks
    e.step()
    e.step()
    assert [(m.is_prompt, len(m.block_tables[0])) for m in e.metadata] == [(True, 4)]
    e.add("b", 14)  # 7 of its tokens beside a's one; the other 7 are to come
    e.step()
    scheduler, group = e.scheduler, e.groups["b"]
    scheduler.running.remove(group)
    scheduler._preempt(group, [])
    scheduler.swapped.append(group)
    out = e.step()
    tables = {m.request_id: (m.is_prompt, len(*m.block_tables.values())) for m in e.metadata}
    assert tables == {"a": (False, 6), "b": (True, 4)}
    assert len(out.blocks_to_swap_in) == 4
    assert out.num_lookahead_slots == 4


def test_ignored_prompts_are_told_before_those_ignored_on_their_way_back() -> None:
    e = Engine(gpu=4, cpu=8, **CHUNKS_AND_SWAP)
    e.add("a", 16)
    while not e.queues[2]:
        e.step()
    e.add("b", 40)  # never fits four blocks
    e.add("c", 41)
    ignored = [group.request_id for group in e.step().ignored_seq_groups]
    assert ignored == ["b", "c", "a"]
    assert not e.scheduler.has_unfinished_seqs()


def groups_of_three(prompt: int, **config: Any) -> Engine:
    """Groups a and b of three sequences each, and four tokens a step."""
    e = Engine(max_num_batched_tokens=4, max_num_seqs=4, **config)
    for name in "ab":
        e.add(name, prompt)
    e.step()
    for child, name in enumerate("aabb", 8):
        e.fork(name, child)
    return e


def test_q46_a_forked_group_waits_for_a_step_in_which_it_fits_the_budget() -> None:
    """vLLM overdraws the budget and stops at an assertion, or gives the next prompt -1 tokens."""
    e = groups_of_three(2, enable_chunked_prefill=True)
    e.add("c", 6)
    shares = []
    for _ in range(5):
        out = e.step()
        assert out.num_batched_tokens <= 4
        assert all(scheduled.token_chunk_size >= 1 for scheduled in out.scheduled_seq_groups)
        shares.append((names(out), out.num_batched_tokens, e.queues[1]))
    # Whatever the budget does not reach goes first in the next step; c, a prompt, fills up.
    assert shares == [("ca", 4, "bac"), ("b", 3, "acb")] * 2 + [("ca", 4, "bac")]


def test_without_chunks_a_forked_group_waits_its_turn_too() -> None:
    e = groups_of_three(1, max_model_len=4, block_size=1)
    for first, rest in ("a", "ba"), ("b", "ab"):
        out = e.step()
        assert (names(out), out.num_batched_tokens, e.queues[1]) == (first, 3, rest)


def test_a_group_of_more_sequences_than_the_budget_has_tokens_is_named() -> None:
    e = Engine(max_num_batched_tokens=2, max_num_seqs=2, enable_chunked_prefill=True)
    e.add("a", 1)
    e.step()
    for child in (8, 9):
        e.fork("a", child)
    e.refuses(pagesim.UsageError, r"'a' has 3 sequences, .* max_num_batched_tokens \(2\)")
