"""`reshape_and_cache`: every bit in its slot, and no bit anywhere else."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pagesim.kernels import backend, cache_write, reshape_and_cache, xray
from tests.kernels import pages

DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """Numbers as integers: NaN equals itself, and 0 differs from -0."""
    return tensor.view({1: torch.int8, 2: torch.int16, 4: torch.int32}[tensor.element_size()])


def random_bits(shape: tuple[int, ...], dtype: torch.dtype, seed: int) -> torch.Tensor:
    """Any bit pattern at all: NaNs with payloads, infinities, subnormals."""
    generator = torch.Generator().manual_seed(seed)
    width = 8 * dtype.itemsize
    low, high = -(2 ** (width - 1)), 2 ** (width - 1)
    numbers = torch.randint(low, high, shape, generator=generator)
    integer = {8: torch.int8, 16: torch.int16, 32: torch.int32}[width]
    return numbers.to(integer).view(dtype).to(backend.device())


def slot_tensor(slots: list[int]) -> torch.Tensor:
    return torch.tensor(slots, dtype=torch.int64, device=backend.device())


def check_write(key, value, k_cache, v_cache, slots: list[int]) -> None:
    """Write, and compare the whole of both caches with writing by hand."""
    expected = [cache.clone() for cache in (k_cache, v_cache)]
    for cache, rows in zip(expected, (key, value), strict=True):
        for token, slot in enumerate(slots):
            if slot >= 0:
                cache[slot // cache.shape[1], slot % cache.shape[1]] = rows[token]
    reshape_and_cache(key, value, k_cache, v_cache, slot_tensor(slots))
    for cache, wanted in zip((k_cache, v_cache), expected, strict=True):
        assert torch.equal(bits(cache.contiguous()), bits(wanted.contiguous()))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_prompt_over_a_fragmented_table(dtype: torch.dtype) -> None:
    made = pages.fragmented([19, 6], block_size=8)
    slots = [*made.slots(0), -1, -1, *made.slots(1)]
    shape = (made.num_blocks, 8, 2, 64)
    key, value = (random_bits((len(slots), 2, 64), dtype, seed) for seed in (0, 1))
    k_cache, v_cache = (random_bits(shape, dtype, seed) for seed in (2, 3))
    check_write(key, value, k_cache, v_cache, slots)


@settings(max_examples=20, deadline=None)
@given(
    data=st.data(),
    dtype=st.sampled_from(DTYPES),
    block_size=st.sampled_from([1, 3, 8, 16]),
    heads=st.sampled_from([1, 2, 3]),
    head_dim=st.sampled_from([1, 8, 80, 120]),
)
def test_any_slots(data, dtype, block_size, heads, head_dim) -> None:
    num_blocks = 5
    order = data.draw(st.permutations(range(num_blocks * block_size)))
    slots = order[: data.draw(st.integers(0, 6))]
    for position in data.draw(st.lists(st.integers(0, len(slots)), max_size=2)):
        slots.insert(position, -1)
    tokens = (len(slots), heads, head_dim)
    cache = (num_blocks, block_size, heads, head_dim)
    made = [random_bits(tokens, dtype, 0), random_bits(tokens, dtype, 1)]
    made += [random_bits(cache, dtype, 2), random_bits(cache, dtype, 3)]
    check_write(*made, slots)


def test_programs_of_many_tokens_and_a_last_one_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of 8 lines, 3 heads a token: programs begin and end in the middle of one."""
    monkeypatch.setattr(cache_write, "_TILE", 8 * 16)
    key, value = (random_bits((7, 3, 16), torch.float32, seed) for seed in (0, 1))
    k_cache, v_cache = (random_bits((4, 4, 3, 16), torch.float32, seed) for seed in (2, 3))
    check_write(key, value, k_cache, v_cache, [15, -1, 0, 7, 3, -1, 8])


def test_a_program_moves_a_tile_of_tokens() -> None:
    if backend.decide().mode != "interpreted":
        pytest.skip(f"the x-ray watches the interpreter: {backend.decide().reason}")
    tokens = torch.ones(64, 2, 64)
    k_cache, v_cache = torch.zeros(2, 4, 16, 2, 64)
    slots = slot_tensor([*range(63), -1])
    trace = xray(reshape_and_cache, tokens, tokens, k_cache, v_cache, slots).check()
    assert len(trace.programs) == 1


def test_strides() -> None:
    """A slice of a packed projection and a transposed tensor, into two orders of cache."""
    key = random_bits((4, 5, 2, 80), torch.bfloat16, 0)[:, 1]
    value = random_bits((2, 4, 80), torch.bfloat16, 4).transpose(0, 1)
    k_cache = random_bits((4, 2, 7, 96), torch.bfloat16, 1)[..., :80].permute(2, 0, 1, 3)
    both = random_bits((7, 2, 4, 2, 80), torch.bfloat16, 2)
    v_cache = both[:, 1]
    before = bits(both[:, 0]).clone()
    check_write(key, value, k_cache, v_cache, [27, 0, 9, 14])
    assert torch.equal(bits(both[:, 0]), before)


def test_columns_beside_the_head_stay() -> None:
    wide = random_bits((3, 4, 2, 128), torch.float16, 0)
    before = bits(wide[..., 112:]).clone()
    key, value = (random_bits((2, 2, 112), torch.float16, seed) for seed in (1, 2))
    check_write(key, value, wide[..., :112], wide.clone()[..., :112], [5, 11])
    assert torch.equal(bits(wide[..., 112:]), before)


def test_all_skipped_and_no_tokens() -> None:
    k_cache, v_cache = torch.zeros(2, 2, 4, 1, 8, device=backend.device())
    tokens = torch.ones(3, 1, 8, device=backend.device())
    check_write(tokens, tokens, k_cache, v_cache, [-1, -1, -1])
    check_write(tokens[:0], tokens[:0], k_cache, v_cache, [])
    assert not k_cache.any()
