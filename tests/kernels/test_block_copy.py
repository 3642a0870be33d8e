"""`copy_blocks` as if in order, `swap_blocks` there and back: every bit, and no bit elsewhere."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pagesim.kernels import backend, copy_blocks, swap_blocks
from pagesim.kernels.block_copy import batches
from tests.kernels.test_cache_write import bits, random_bits

DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn]


def pair_tensor(pairs: list[tuple[int, int]]) -> torch.Tensor:
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)


def check_copy(k_caches, v_caches, pairs: list[tuple[int, int]]) -> None:
    """Compare the whole of every cache with copying one pair after the other."""
    caches = [*k_caches, *v_caches]
    expected = [bits(cache.contiguous()).clone() for cache in caches]
    for source, target in pairs:
        for wanted in expected:
            wanted[target] = wanted[source].clone()
    copy_blocks(k_caches, v_caches, pair_tensor(pairs))
    for cache, wanted in zip(caches, expected, strict=True):
        assert torch.equal(bits(cache.contiguous()), wanted)


def layers(count: int, shape: tuple[int, ...], dtype: torch.dtype) -> tuple[list, list]:
    made = [random_bits(shape, dtype, seed) for seed in range(2 * count)]
    return made[:count], made[count:]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_all_layers_every_bit(dtype: torch.dtype) -> None:
    check_copy(*layers(3, (6, 4, 2, 16), dtype), [(5, 1), (0, 3)])


ORDERED = {
    "the later copy wins": [(2, 4), (3, 4)],
    "a chain": [(1, 5), (5, 6), (6, 0)],
    "a chain backwards": [(5, 6), (1, 5)],
    "a swap through a third": [(0, 5), (1, 0), (5, 1)],
    "onto itself": [(2, 2), (3, 3)],
    "there and back": [(1, 2), (2, 1)],
    "a copy of what is covered later": [(1, 2), (3, 1), (2, 4)],
    "nothing": [],
}


@pytest.mark.parametrize("name", ORDERED)
def test_as_if_in_order(name: str) -> None:
    check_copy(*layers(1, (7, 2, 1, 8), torch.float32), ORDERED[name])


def test_the_pairs_that_the_manager_really_makes() -> None:
    """Caching, lookahead and a fork: two copies to one destination, in one launch."""
    assert batches([(2, 4), (3, 4)]) == [{4: 3}]
    assert batches([(1, 5), (5, 6)]) == [{5: 1, 6: 1}]
    assert batches([(5, 6), (1, 5)]) == [{6: 5}, {5: 1}]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12))
def test_batches_are_the_list_in_any_order(pairs) -> None:
    content = list(range(6))
    for source, target in pairs:
        content[target] = content[source]
    got = list(range(6))
    for batch in batches(pairs):
        assert not set(batch) & set(batch.values()), "programs would meet"
        got = [got[batch.get(block, block)] for block in range(6)]
    assert got == content


@settings(max_examples=10, deadline=None)
@given(
    pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=5),
    shape=st.sampled_from([(5, 1, 1, 1), (5, 3, 2, 80), (5, 16, 3, 120), (5, 256, 1, 32)]),
    dtype=st.sampled_from(DTYPES),
)
def test_any_pairs(pairs, shape, dtype) -> None:
    check_copy(*layers(2, shape, dtype), pairs)


def test_each_cache_has_its_own_strides() -> None:
    """K with heads first, V beside foreign columns, and an address that no 16 bytes divide."""
    k_cache = random_bits((5, 2, 4, 16), torch.bfloat16, 0).transpose(1, 2)
    wide = random_bits((5, 4, 2, 24), torch.bfloat16, 1)
    before = bits(wide[..., 17:]).clone()
    check_copy([k_cache], [wide[..., 1:17]], [(4, 0), (2, 3)])
    assert torch.equal(bits(wide[..., 17:]), before)


def test_swap_out_and_in() -> None:
    gpu, cpu = (random_bits((6, 4, 2, 8), torch.bfloat16, seed) for seed in (0, 1))
    cpu = cpu.cpu()
    first = bits(gpu).clone()
    swap_blocks(gpu, cpu, pair_tensor([(5, 0), (1, 2), (3, 2)]))
    if gpu.is_cuda:
        torch.cuda.synchronize()
    assert torch.equal(bits(cpu[0]), bits(gpu[5]).cpu())
    assert torch.equal(bits(cpu[2]), bits(gpu[3]).cpu()), "the later copy wins"
    swap_blocks(cpu, gpu, pair_tensor([(0, 4), (2, 0)]))
    expected = first.clone()
    expected[4], expected[0] = first[5], first[3]
    assert torch.equal(bits(gpu), expected)


def test_swap_takes_any_shape_of_block() -> None:
    src, dst = torch.arange(12.0).reshape(4, 3), torch.zeros(2, 3)
    swap_blocks(src, dst, pair_tensor([(3, 1)]))
    assert dst.tolist() == [[0, 0, 0], [9, 10, 11]]


def cache(*shape: int) -> torch.Tensor:
    return torch.zeros(shape, device=backend.device())


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(6, 0)], r"pairs\[0, 0\] = 6: the source is outside its cache.*blocks 0 to 5"),
        ([(0, 1), (0, -1)], r"pairs\[1, 1\] = -1: the destination"),
    ],
)
def test_blocks_outside_are_refused(pairs, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        copy_blocks([cache(6, 4, 1, 8)], [cache(6, 4, 1, 8)], pair_tensor(pairs))
    with pytest.raises(ValueError, match=message):
        swap_blocks(cache(6, 4), cache(6, 4), pair_tensor(pairs))


def test_the_destination_is_looked_up_in_the_destination() -> None:
    with pytest.raises(ValueError, match=r"pairs\[0, 1\] = 3: the destination.*0 to 1"):
        swap_blocks(cache(6, 4), cache(2, 4), pair_tensor([(5, 3)]))


def test_caches_and_pairs_that_are_refused() -> None:
    good = cache(6, 4, 1, 8)
    for k_caches, v_caches, pairs, message in [
        ([good], [], [(0, 1)], "1 k_caches and 0 v_caches"),
        ([good], [cache(6, 4, 1, 16)], [(0, 1)], r"v_caches\[0\] is .*k_caches\[0\] is"),
        ([good, good.half()], [good, good], [(0, 1)], r"k_caches\[1\] is torch.float16"),
        ([good], [good[..., ::2]], [(0, 1)], r"v_caches\[0\] is not contiguous"),
    ]:
        with pytest.raises(ValueError, match=message):
            copy_blocks(k_caches, v_caches, pair_tensor(pairs))
    with pytest.raises(ValueError, match="pairs has dtype int32"):
        copy_blocks([good], [good], pair_tensor([(0, 1)]).int())
    with pytest.raises(ValueError, match=r"pairs must have shape \[P, 2\], got \[1, 3\]"):
        copy_blocks([good], [good], torch.zeros(1, 3, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"src is torch.float32.*dst is torch.float16"):
        swap_blocks(good, good.half(), pair_tensor([(0, 1)]))
    with pytest.raises(TypeError, match=r"dst must be a torch.Tensor, got list"):
        swap_blocks(good, [good], pair_tensor([(0, 1)]))
    copy_blocks([], [], pair_tensor([(0, 1)]))
