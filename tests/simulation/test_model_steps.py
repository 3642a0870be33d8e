"""The paged server as a language model drives it: its own tokens, ends, forks, and why not."""

from collections.abc import Callable, Collection

import pytest

import pagesim
from pagesim.cache import CacheEngine, KVPool
from pagesim.simulation.paged import PagedServer
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.workload import Request

BLOCKS = 12


def server(blocks: int = BLOCKS, **keywords: bool) -> PagedServer:
    config = SchedulerConfig(64, 8, 64, preemption_mode="swap")
    return PagedServer(config, CacheConfig(4, blocks, 40, watermark=0.0), **keywords)


def request(name: str = "a", tokens: Collection[int] = range(10), most: int = 7) -> Request:
    return Request(name, 0.0, len(tokens), most, token_ids=tuple(tokens))


def step(engine: PagedServer, *ended: int, token: Callable[[int], int] = lambda i: 100 + i) -> list:
    assert engine.schedule(0.0) is not None
    sampled = {seq_id: token(seq_id) for seq_id in engine.batch().seq_ids}
    return list(engine.commit(sampled, ended)[1])


def forked(n: int = 3, record: bool = False) -> PagedServer:
    engine = server(record=record)
    assert engine.add(0, request(), samples=n)
    engine.schedule(0.0)
    for child in range(1, n):
        engine.fork(0, 70 + child)
    engine.commit({i: i for i in (0, *range(71, 70 + n))})
    return engine


def free(engine: PagedServer) -> int:
    return engine.scheduler.block_manager.get_num_free_gpu_blocks()


def test_a_step_is_a_batch_moves_and_tokens() -> None:
    engine = server()
    engine.add(5, request(tokens=[7, 8, 9]))
    engine.schedule(0.0)
    batch = engine.batch()
    assert (batch.seq_ids, batch.input_tokens.tolist()) == ([5], [7, 8, 9])
    assert engine.moves.blocks_to_swap_in == []
    CacheEngine(*[KVPool.zeros(1, n, 4, 1, 1) for n in (BLOCKS, 40)]).execute(engine.moves)
    engine.commit({5: 33})
    engine.schedule(0.0)
    batch = engine.batch()
    assert (batch.input_tokens.tolist(), batch.input_positions.tolist()) == ([33], [3])


def test_tokens_and_ends_are_checked_before_anything_changes() -> None:
    engine = server()
    engine.add(0, request())
    engine.schedule(0.0)
    for tokens, ended, error in [
        ({}, (), "no entry for sequence 0"),
        ({1: 3}, (), "no entry for sequence 0"),
        ({0: 3}, (1,), "ended names 1"),
    ]:
        with pytest.raises(pagesim.UsageError, match=error):
            engine.commit(tokens, ended)
    with pytest.raises(TypeError, match=r"tokens\[0\] must be an int, not 3.0"):
        engine.commit({0: 3.0})  # type: ignore[dict-item]
    assert engine.commit({0: 3}) == ([0], [])


def test_an_answer_ends_at_its_stop_token_or_at_its_length() -> None:
    engine = server()
    engine.add(0, request(most=3))
    engine.add(1, request("b", most=3))
    assert step(engine) == []
    assert step(engine, 1) == [1]
    assert list(engine.tables()) == [0]
    assert step(engine) == [0]
    assert (engine.tables(), free(engine)) == ({}, BLOCKS)
    assert engine.schedule(0.0) is None


@pytest.mark.parametrize(
    "order",
    [
        [{0}, {71}, {72}],
        [{72}, {71}, {0}],
        [{71}, {0}, {72}],
        [{0, 71}, {72}],  # some end together
        [{0, 71, 72}],
    ],
)
@pytest.mark.parametrize("record", [False, True])
def test_a_member_that_ends_leaves_at_once_and_the_others_go_on(
    order: list[set[int]], record: bool
) -> None:
    engine = forked(record=record)
    left = {0, 71, 72}
    for ended in order:
        assert set(engine.tables()) == left
        left -= ended
        assert step(engine, *ended) == ([] if left else [0])
    assert free(engine) == BLOCKS
    assert engine.schedule(0.0) is None
    assert not record or engine.finish().at(-1) == engine.scheduler.state()


def test_members_share_what_the_prompt_fills_and_copy_what_they_write() -> None:
    engine = forked()
    engine.schedule(0.0)
    tables = engine.tables()
    assert {tuple(table[:2]) for table in tables.values()} == {tuple(tables[0][:2])}
    assert len({table[2] for table in tables.values()}) == 3
    assert len(engine.moves.blocks_to_copy) == 2


def test_a_dropped_member_frees_its_own_blocks_and_its_place() -> None:
    engine = forked()
    engine.schedule(0.0)
    before = free(engine)
    engine.drop(0)
    assert free(engine) == before + 1
    engine.fork(71, 0)
    assert engine.commit({0: 1, 71: 2, 72: 3}) == ([], [])
    assert step(engine, 0, 71, 72) == [0]
    assert free(engine) == BLOCKS


def test_forks_that_are_refused_change_nothing() -> None:
    engine = server(40)
    engine.add(0, request(), samples=1)
    engine.add(1, request("b"), samples=2)
    engine.schedule(0.0)
    engine.fork(1, 2)
    before = engine.scheduler.state()
    for wrong, error in [
        (lambda: engine.fork(1, 9), r"request 'b' already has 2 of 2 samples; add\(…, samples=3\)"),
        (lambda: engine.fork(1, 0), "the id 0 is taken"),
        (lambda: engine.fork(8, 9), "sequence 8 samples no token"),
        (lambda: engine.drop(8), "sequence 8 samples no token"),
        (lambda: engine.drop(0), "sequence 0 is the last of group 'a'"),
    ]:
        with pytest.raises(pagesim.UsageError, match=error):
            wrong()
        assert engine.scheduler.state() == before
    plain = PagedServer(SchedulerConfig(64, 8, 64), CacheConfig(4, 20))
    with pytest.raises(pagesim.UsageError, match=r"2 samples .* preemption_mode must be 'swap'"):
        plain.add(0, request(), samples=2)


def test_samples_that_no_swap_could_bring_back_are_refused() -> None:
    """Sharing is lost on the way: 3 members of 5 blocks each need 15."""
    engine = server()
    assert not engine.add(0, request(most=11), samples=3)
    assert engine.why_not(0) == "it needs 15 blocks, and the pool has 12"
    assert engine.add(1, request(most=11), samples=2)


@pytest.mark.parametrize("record", [False, True])
def test_forks_that_are_swapped_out_come_back_and_end(record: bool) -> None:
    """The first member ends just before the others must make room."""
    engine = server(17, record=record)
    for row, tokens in enumerate([4, 16, 4]):
        engine.add(row, request(str(row), tokens=range(tokens), most=9))
    engine.add(3, request("forked", tokens=range(8), most=9), samples=3)
    engine.schedule(0.0)
    engine.fork(3, 8)
    engine.fork(3, 9)
    engine.commit(dict.fromkeys((0, 1, 2, 3, 8, 9), 1))
    for ended in ([], [], [], [3]):
        step(engine, *ended)
    preempted = []
    while (decided := engine.schedule(0.0)) is not None:
        preempted.append([*decided.preempted])
        engine.commit({i: i for i in engine.batch().seq_ids})
    assert preempted[0] == [3]
    assert (engine.tables(), free(engine)) == ({}, 17)
    assert engine.scheduler.block_manager.get_num_free_cpu_blocks() == 40
    assert not record or engine.finish().at(-1) == engine.scheduler.state()


def test_why_a_request_is_ignored_or_stuck() -> None:
    engine = server()
    assert not engine.add(0, request(most=60))
    assert engine.why_not(0) == "its 10 prompt and 60 output tokens exceed max_model_len = 64"
    assert not engine.add(1, request(most=50))
    assert engine.why_not(1) == "it needs 15 blocks, and the pool has 12"
    assert engine.add(2, request())
    with pytest.raises(pagesim.UsageError, match="request 2 is neither ignored nor stuck"):
        engine.why_not(2)


def test_why_a_prompt_swapped_out_half_way_is_stuck() -> None:
    config = SchedulerConfig(8, 4, 64, enable_chunked_prefill=True, preemption_mode="swap")
    engine = PagedServer(config, CacheConfig(4, 10, 40))
    engine.add(0, request("a", tokens=range(4), most=30))
    engine.add(1, request("b", tokens=range(30), most=3))
    for _ in range(100):
        if engine.schedule(0.0) is None:
            break
        engine.commit(dict.fromkeys(engine.batch().seq_ids, 1))
    assert "it was swapped out during its prompt, and vLLM computes" in engine.why_not(1)
    assert "in one step, which has max_num_batched_tokens = 8" in engine.why_not(1)


def test_a_recorded_run_shows_the_tokens_of_the_model() -> None:
    engine = forked(record=True)
    step(engine, token=lambda i: 1000 + i)
    step(engine, 0, 71, 72)
    timeline = engine.finish()
    tables = [pair for i in range(len(timeline)) for pair in timeline.at(i).tables.items()]
    assert {name for name, _ in tables} == {0, 71, 72}
    assert {table.token_ids[10:] for _, table in tables} >= {(0,), (71,), (72,), (0, 1000)}


def test_all_behind_a_stuck_request_are_named_with_it() -> None:
    """Those that have not reached the scheduler's queue as well."""
    engine = PagedServer(SchedulerConfig(64, 1, 64), CacheConfig(4, 12, watermark=0.0))
    for row in range(5):
        engine.add(row, request(str(row)))
    engine.schedule(0.0)
    assert len(engine.scheduler.waiting) < 4
    assert engine.why_not(1) == "it never finds enough free blocks"
    for row in (2, 4):
        assert engine.why_not(row) == "it waits behind request '1'"
