"""No sequence ever reads a wrong byte; and a model that can tell, does tell."""

from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec

import pytest

import pagesim
from pagesim.cache import CacheEngine, KVPool
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.v0.scheduler import Scheduler
from pagesim.v0.scheduler_outputs import SchedulerOutputs
from tests.cache.byte_proof import SCENES, Run, Scene
from tests.cache.contents import Orders

CACHING = SCENES["swap, forks, prefix caching"]


def test_many_steps_with_swaps_forks_and_prefix_hits() -> None:
    run = Run(CACHING).steps(500)
    counts = run.counts
    assert run.wrong == []
    assert counts["preemptions"] > 120
    assert counts["blocks_swapped_in"] > 1000
    assert counts["blocks_copied"] > 25
    assert counts["prefix_hit_blocks"] > 250
    assert counts["reads"] > 325_000


@pytest.mark.parametrize("name", [name for name in SCENES if SCENES[name] is not CACHING])
def test_every_other_setting(name: str) -> None:
    scene, run = SCENES[name], Run(SCENES[name], seed=1).steps(200)
    counts = run.counts
    assert run.wrong == []
    assert counts["reads"] > 70_000
    assert counts["preemptions"] > 20
    assert (counts["blocks_swapped_in"] > 60) == (scene.mode == "swap")
    assert (counts["blocks_copied"] > 10) == (scene.fork_chance > 0)
    assert (counts["prefix_hit_blocks"] > 90) == scene.caching
    assert (counts["slots_skipped"] > 40) == (scene.window is not None)
    null_block = run.scheduler.block_manager.block_allocator.null_block_id
    assert (null_block is not None) == (scene.window is not None)


@pytest.mark.skipif(
    find_spec("torch") is None or find_spec("triton") is None,
    reason="the kernels need torch and triton",
)
def test_with_the_triton_kernels() -> None:
    from tests.cache.kernel_pools import KernelPools

    run = Run(CACHING, pools=KernelPools).steps(100)
    counts = run.counts
    assert run.wrong == []
    assert counts["blocks_swapped_in"] > 200
    assert counts["blocks_copied"] > 10
    assert counts["prefix_hit_blocks"] > 50


# ---- what is broken is found ---------------------------------------------------------------------


def broken(change: Callable[[SchedulerOutputs], object], scene: Scene = CACHING) -> list[str]:
    """What is read wrongly if every step's orders are changed like this before they are done."""
    run = Run(scene)
    execute = run.bytes.engine.execute

    def move(outputs: SchedulerOutputs) -> None:
        orders = replace(outputs)
        change(orders)
        execute(orders)

    run.move = move  # type: ignore[method-assign]
    while not run.wrong and run.counts["steps"] < 400:
        run.step()
    return run.wrong


def without_the_first(field: str) -> Callable[[SchedulerOutputs], object]:
    return lambda orders: setattr(orders, field, getattr(orders, field)[1:])


@pytest.mark.parametrize("field", ["blocks_to_copy", "blocks_to_swap_in", "blocks_to_swap_out"])
def test_an_order_left_out(field: str) -> None:
    assert broken(without_the_first(field))


def test_copies_in_the_wrong_order() -> None:
    def backwards(orders: SchedulerOutputs) -> None:
        orders.blocks_to_copy = orders.blocks_to_copy[::-1]

    lookahead = replace(CACHING, lookahead=3, fork_chance=0.5)
    assert broken(backwards, lookahead)
    assert not broken(lambda orders: None, lookahead)


ORDERS = {
    "swap in, swap out, copy": True,  # vLLM's
    "copy, swap out, swap in": True,
    "swap out, copy, swap in": False,  # ours
}


@pytest.mark.parametrize("order", ORDERS)
def test_the_order_of_the_moves(order: str) -> None:
    run = Run(CACHING)
    engine = run.bytes.engine

    def move(outputs: SchedulerOutputs) -> None:
        moves = {
            "swap in": lambda: engine.swap_in(outputs.blocks_to_swap_in),
            "swap out": lambda: engine.swap_out(outputs.blocks_to_swap_out),
            "copy": lambda: engine.copy(outputs.blocks_to_copy),
        }
        for name in order.split(", "):
            moves[name]()

    run.move = move  # type: ignore[method-assign]
    assert bool(run.steps(150).wrong) == ORDERS[order]


# ---- vLLM's two ways to wrong bytes --------------------------------------------------------------


def test_a_swap_in_takes_the_block_that_a_copy_is_to_be_read_from() -> None:
    manager = pagesim.SelfAttnBlockSpaceManager(4, 8, 8, watermark=0.0, enable_caching=True)
    first, guest = pagesim.Sequence(0, [1, 2, 3], 4), pagesim.Sequence(1, [9], 4)
    guests = pagesim.SequenceGroup("guest", [guest])
    for group in (pagesim.SequenceGroup("first", [first]), guests):
        manager.allocate(group)
        group.first_seq.status = pagesim.SequenceStatus.RUNNING
    ((_, on_cpu),) = manager.swap_out(guests)
    guest.status = pagesim.SequenceStatus.SWAPPED
    second = first.fork(2)
    manager.fork(first, second)

    copies = []
    for sequence in (first, second):  # both write a 4: their block is full, and one for both
        sequence.append_token_id(4, {4: pagesim.Logprob(0.0)})
        copies += manager.append_slots(sequence, 0)
    swapped_in = manager.swap_in(guests)
    assert manager.get_block_table(first) == manager.get_block_table(second) == [1]
    assert (copies, swapped_in) == ([(0, 1)], [(on_cpu, 0)])

    gpu, cpu = KVPool.zeros(1, 8, 4, 1, 1), KVPool.zeros(1, 8, 4, 1, 1)
    gpu.keys[0][0], cpu.keys[0][on_cpu] = 123, 9
    engine = CacheEngine(gpu, cpu)
    engine.execute(Orders(swapped_in, [], copies))
    assert (gpu.keys[0][:2, 0, 0, 0] == [9, 123]).all()


def test_a_prompt_aborted_half_way_leaves_blocks_that_count_as_computed() -> None:
    """With chunked prefill vLLM marks the whole prompt as computed after its first chunk."""
    budget = SchedulerConfig(8, 8, 64, enable_chunked_prefill=True)
    scheduler = Scheduler(budget, CacheConfig(4, 16, enable_prefix_caching=True), clock=lambda: 0.0)
    prompt = list(range(16))
    scheduler.add_seq_group(pagesim.SequenceGroup("a", [pagesim.Sequence(0, prompt, 4)]))
    (chunk,), _, _ = scheduler.schedule()
    assert (chunk.token_chunk_size, chunk.block_tables[0]) == (8, [0, 1, 2, 3])
    scheduler.abort_seq_group("a")
    scheduler.add_seq_group(pagesim.SequenceGroup("b", [pagesim.Sequence(1, prompt, 4)]))
    (found,), _, _ = scheduler.schedule()
    # Tokens 8 to 11 were never computed; their block 2 is found all the same.
    assert found.computed_block_nums == [0, 1, 2]


def test_which_is_why_chunked_prefill_with_prefix_caching_reads_wrong_bytes() -> None:
    scene = replace(CACHING, chunked=True, mode="recompute", fork_chance=0.0)
    run = Run(scene, seed=1).steps(300)
    assert run.wrong
    assert run.counts["prefix_hit_blocks"] > 50
