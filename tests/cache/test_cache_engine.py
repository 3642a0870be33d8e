"""Blocks move as ordered, in every layer; orders that cannot be carried out move nothing."""

import numpy as np
import pytest

from pagesim import UsageError
from pagesim.cache import CacheEngine, KVPool
from pagesim.story import Engine
from tests.cache.contents import Orders


def pool(num_blocks: int, first: float) -> KVPool:
    """Two layers whose blocks hold first, first + 1, …; layer 1 and V are negative, V is halved."""
    made = KVPool.zeros(2, num_blocks, 4, 1, 2, np.float64)
    numbers = np.arange(first, first + num_blocks)[:, None, None, None]
    for layer, sign in enumerate((1, -1)):
        made.keys[layer][:] = sign * numbers
        made.values[layer][:] = sign * numbers / -2
    return made


@pytest.fixture
def engine() -> CacheEngine:
    return CacheEngine(gpu=pool(6, 10), cpu=pool(4, 20))


def blocks(held: KVPool) -> list[float]:
    """The number in each block, once it is sure that all layers agree in it."""
    numbers = held.keys[0][:, 0, 0, 0]
    shape = held.keys[0].shape
    for layer, sign in enumerate((1, -1)):
        expected = np.broadcast_to(sign * numbers[:, None, None, None], shape)
        assert np.array_equal(held.keys[layer], expected)
        assert np.array_equal(held.values[layer], expected / -2)
    return numbers.tolist()


def test_swapping_there_and_back(engine: CacheEngine) -> None:
    engine.swap_out([(5, 0), (2, 3)])
    assert blocks(engine.gpu) == [10, 11, 12, 13, 14, 15]
    assert blocks(engine.cpu) == [15, 21, 22, 12]
    engine.swap_in([(3, 0), (0, 4)])
    assert blocks(engine.gpu) == [12, 11, 12, 13, 15, 15]


def test_copies_come_one_after_the_other(engine: CacheEngine) -> None:
    engine.copy([(0, 1), (1, 2), (5, 1), (2, 4)])
    assert blocks(engine.gpu) == [10, 15, 10, 13, 10, 15]
    assert blocks(engine.cpu) == [20, 21, 22, 23]


def test_a_step_swaps_out_then_copies_then_swaps_in(engine: CacheEngine) -> None:
    engine.execute(Orders([(1, 4), (0, 3)], [(5, 0)], [(4, 5)]))
    assert blocks(engine.cpu) == [15, 21, 22, 23]
    assert blocks(engine.gpu) == [10, 11, 12, 15, 21, 14]


BAD = [
    ("swap_in", (4, 0), r"swap_in\[1\] = \(4, 0\): there is no block 4 in the CPU pool"),
    ("swap_in", (0, 6), "no block 6 in the GPU pool, which has blocks 0 to 5"),
    ("swap_out", (6, 0), "no block 6 in the GPU pool"),
    ("swap_out", (0, 4), "no block 4 in the CPU pool, which has blocks 0 to 3"),
    ("copy", (0, 6), "no block 6 in the GPU pool"),
    ("copy", (-1, 0), "no block -1 in the GPU pool"),
]


@pytest.mark.parametrize(("call", "pair", "message"), BAD)
def test_a_pair_out_of_range_moves_nothing(
    engine: CacheEngine, call: str, pair: tuple[int, int], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        getattr(engine, call)([(0, 1), pair])
    orders = Orders([(0, 1)], [(0, 1)], [(0, 1)])
    name = {"copy": "blocks_to_copy"}.get(call, f"blocks_to_{call}")
    setattr(orders, name, [(0, 1), pair])
    with pytest.raises(UsageError, match=message):
        engine.execute(orders)
    assert blocks(engine.gpu) == [10, 11, 12, 13, 14, 15]
    assert blocks(engine.cpu) == [20, 21, 22, 23]


@pytest.mark.parametrize("pair", [(0,), (0, 1, 2), (0, 1.0), (True, 0), ("0", 1)])
def test_what_is_no_pair_of_indices(engine: CacheEngine, pair: object) -> None:
    with pytest.raises(TypeError, match=r"copy\[0\] must be two block indices"):
        engine.copy([pair])  # type: ignore[list-item]


@pytest.mark.parametrize("cpu", [None, 0])
def test_an_empty_cpu_pool_says_so(cpu: int | None) -> None:
    engine = CacheEngine(pool(2, 0), cpu if cpu is None else pool(cpu, 0))
    engine.execute(Orders())
    with pytest.raises(UsageError, match="CPU pool, which has no blocks"):
        engine.swap_out([(0, 0)])


def test_pools_that_do_not_fit_together() -> None:
    with pytest.raises(UsageError, match="GPU pool has 2 layers, the CPU's 1"):
        CacheEngine(pool(2, 0), KVPool.zeros(1, 2, 4, 1, 2, np.float64))
    with pytest.raises(UsageError, match=r"K is float64 \[2, 4, 1, 2\] on the GPU and float32"):
        CacheEngine(pool(2, 0), KVPool.zeros(2, 2, 4, 1, 2))
    with pytest.raises(UsageError, match="only in the number of blocks"):
        CacheEngine(pool(2, 0), KVPool.zeros(2, 2, 8, 1, 2, np.float64))


def test_layers_that_are_not_alike() -> None:
    a, b = np.zeros((2, 4, 1, 2)), np.zeros((3, 4, 1, 2))
    with pytest.raises(UsageError, match=r"keys\[1\] is float64 \[3, 4, 1, 2\], keys\[0\] is"):
        KVPool([a, b], [a, a])
    with pytest.raises(UsageError, match=r"values\[1\]"):
        KVPool([a, a], [a, b])
    with pytest.raises(UsageError, match="equally many blocks"):
        KVPool([a], [b])
    with pytest.raises(UsageError, match="per layer, not 2 and 1"):
        KVPool([a, a], [a])
    with pytest.raises(UsageError, match="not 0 and 0"):
        KVPool([], [])


@pytest.mark.parametrize(
    ("name", "at"), [("num_layers", 0), ("block_size", 2), ("num_kv_heads", 3), ("head_dim", 4)]
)
def test_sizes_of_a_new_pool(name: str, at: int) -> None:
    sizes = [1, 2, 4, 1, 2]
    sizes[at] = 0
    with pytest.raises(UsageError, match=f"{name} must be at least 1, not 0"):
        KVPool.zeros(*sizes)


def test_k_and_v_may_be_laid_out_differently() -> None:
    """As in vLLM's CUDA kernels: K [blocks, heads, D/x, block size, x], V [blocks, heads, D, …]."""
    shapes = ((3, 2, 4, 16, 8), (3, 2, 32, 16))
    gpu, cpu = (KVPool([np.random.rand(*shapes[0])], [np.random.rand(*shapes[1])]) for _ in "12")
    CacheEngine(gpu, cpu).swap_out([(2, 0)])
    assert np.array_equal(cpu.keys[0][0], gpu.keys[0][2])
    assert np.array_equal(cpu.values[0][0], gpu.values[0][2])


def test_movers_of_the_callers_own() -> None:
    calls: list[tuple[object, ...]] = []
    gpu, cpu = pool(4, 0), pool(4, 0)
    engine = CacheEngine(
        gpu,
        cpu,
        copy_blocks=lambda *given: calls.append(("copy", *given)),
        swap_blocks=lambda *given: calls.append(("swap", *given)),
        as_pairs=lambda pairs: (pairs.dtype.name, pairs.tolist()),
    )
    engine.execute(Orders([(0, 1)], [], [(2, 3)]))
    assert calls[0] == ("copy", gpu.keys, gpu.values, ("int64", [[2, 3]]))
    given = ("int64", [[0, 1]])
    arrays = [(held.keys[i], held.values[i]) for i in (0, 1) for held in (cpu, gpu)]
    expected = [(a, b) for i in (0, 2) for a, b in zip(arrays[i], arrays[i + 1], strict=True)]
    assert len(calls) == 5
    for call, (source, target) in zip(calls[1:], expected, strict=True):
        assert call[0] == "swap" and call[3] == given
        assert call[1] is source and call[2] is target


def never(*given: object) -> None:
    raise AssertionError(given)


def test_nothing_ordered_calls_no_mover() -> None:
    CacheEngine(pool(2, 0), pool(2, 0), copy_blocks=never, swap_blocks=never).execute(Orders())


def test_a_step_of_v1_moves_nothing_even_when_it_preempts() -> None:
    engine = Engine(gpu_blocks=6)
    for name in ("a", "b"):
        engine.add(name, 8)
    engine.step()
    output = engine.scheduler.schedule()
    assert output.preempted_req_ids == {"b"}
    CacheEngine(pool(6, 10), copy_blocks=never, swap_blocks=never).execute(output)
