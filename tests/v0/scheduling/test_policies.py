"""Who computes when: budgets, prefill before decode, chunks, preemption and the way back."""

from typing import Any

import pytest

import pagesim
from tests.v0.scheduling.engine import Engine, names


def test_a_prompt_too_long_is_ignored_and_the_next_one_goes_on() -> None:
    e = Engine(max_model_len=10)
    e.add("a", 11)
    e.add("b", 10)
    out = e.step()
    assert [group.request_id for group in out.ignored_seq_groups] == ["a"]
    assert names(out) == "b"
    assert e.status("a") == "FINISHED_IGNORED"


def test_a_prompt_that_can_never_fit_is_ignored() -> None:
    e = Engine(gpu=4, watermark=0.25)  # one block stays free
    e.add("a", 13)  # four blocks
    e.add("b", 12)
    assert [group.request_id for group in e.step().ignored_seq_groups] == ["a"]
    assert e.queues == ("", "b", "")


def test_chunked_prefill_with_caching_keeps_to_whole_blocks() -> None:
    e = Engine(max_num_batched_tokens=12, enable_chunked_prefill=True, enable_prefix_caching=True)
    e.add("a", 2)
    e.add("b", 30)
    e.step()
    assert [m.token_chunk_size for m in e.metadata] == [2, 8]
    e = Engine(max_num_batched_tokens=10, enable_chunked_prefill=True, enable_prefix_caching=True)
    e.add("a", 2)
    e.refuses(pagesim.UsageError, r"multiple of block_size \(4\) .* not 10")


def test_caching_names_the_blocks_that_need_not_be_computed() -> None:
    e = Engine(enable_prefix_caching=True)
    prompt = list(range(10))
    e.add("a", prompt)
    e.step()
    assert e.metadata[0].computed_block_nums == []
    e.add("b", prompt)
    e.step()
    assert e.metadata[0].computed_block_nums == [0, 1]
    assert e.metadata[0].token_chunk_size == 10  # q35: the budget is charged all the same
    assert e.scheduler.get_prefix_cache_hit_rate(pagesim.Device.GPU) == 0.5


def test_eviction_follows_the_scheduler_s_clock() -> None:
    e = Engine(enable_prefix_caching=True, gpu=4, watermark=0.0)
    e.add("a", 4)
    e.step(finish="a")
    e.add("b", 4)
    e.step(finish="b")
    e.add("c", list(range(4)))  # a's prompt: found, and used again later than b's
    e.step(finish="c")
    e.add("d", 16)
    e.step()
    assert e.metadata[0].block_tables[3] == [2, 3, 1, 0]  # unused first, then b's, then a's


def test_lookahead_reserves_slots_for_decodes_alone() -> None:
    e = Engine(num_lookahead_slots=4)
    e.add("a", 4)
    out = e.step()
    assert (out.num_lookahead_slots, len(e.metadata[0].block_tables[0])) == (0, 1)
    out = e.step()
    assert (out.num_lookahead_slots, len(e.metadata[0].block_tables[0])) == (4, 3)


@pytest.mark.parametrize("queue", ["waiting", "running", "swapped"])
@pytest.mark.parametrize("caching", [False, True], ids=["naive", "caching"])
def test_abort_in_any_queue_gives_everything_back(queue: str, caching: bool) -> None:
    e = Engine(gpu=5, cpu=4, preemption_mode="swap", enable_prefix_caching=caching)
    e.add("a", 8)
    e.add("b", 8)
    e.step()
    e.step()
    e.add("c", 4)
    assert e.queues == ("c", "a", "b")
    name = {"waiting": "c", "running": "a", "swapped": "b"}[queue]
    e.scheduler.abort_seq_group([name, "nobody"])
    assert name not in "".join(e.queues)
    assert e.status(name) == "FINISHED_ABORTED"
    assert e.scheduler.get_and_reset_finished_requests_ids() == [name]
    assert e.scheduler.get_and_reset_finished_requests_ids() == []
    e.scheduler.abort_seq_group(list("".join(e.queues)))
    assert e.free == (5, 4)
    assert not e.scheduler.has_unfinished_seqs()


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
    e = Engine(
        gpu=12,
        cpu=12,
        max_num_batched_tokens=8,
        num_lookahead_slots=4,
        enable_chunked_prefill=True,
        preemption_mode="swap",
    )
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
    e = Engine(gpu=4, cpu=8, enable_chunked_prefill=True, preemption_mode="swap")
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
