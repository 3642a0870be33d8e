"""The cache as one tensor: views a layer, zeros, and what it may be asked for."""

from typing import Any

import pytest
import torch

from pagesim.cache import CacheEngine, KVPool
from pagesim.kernels import backend, kv_pool

SIZES = {"layers": 3, "blocks": 5, "block_size": 4, "num_kv_heads": 2, "head_dim": 8}


def test_a_layer_is_a_view_into_one_tensor() -> None:
    keys, values = pool = kv_pool(**SIZES, dtype=torch.bfloat16)
    assert (len(keys), len(values)) == (3, 3)
    whole = keys[0]._base
    assert whole is not None and list(whole.shape) == [2, 3, 5, 4, 2, 8]
    assert not whole.any()
    for layer in range(3):
        for half, view in enumerate((keys[layer], values[layer])):
            assert list(view.shape) == [5, 4, 2, 8] and view.is_contiguous()
            view.fill_(10 * half + layer)
            assert (whole[half, layer] == 10 * half + layer).all()
    device = torch.device(backend.device())
    assert (pool.keys[0].dtype, pool.keys[0].device.type) == (torch.bfloat16, device.type)


def test_it_is_what_a_cache_engine_moves() -> None:
    gpu, cpu = (KVPool(*kv_pool(**SIZES, device="cpu")) for _ in range(2))
    gpu.keys[2][1], gpu.values[2][1] = 7, 8
    engine = CacheEngine(gpu, cpu)
    engine.swap_out([(1, 4)])
    engine.copy([(1, 3)])
    assert (cpu.keys[2][4] == 7).all() and (cpu.values[2][4] == 8).all()
    assert (gpu.keys[2][3] == 7).all() and not gpu.keys[0].any()


def test_no_blocks_are_a_pool_too() -> None:
    assert list(kv_pool(**SIZES | {"blocks": 0}).keys[2].shape) == [0, 4, 2, 8]


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("size", [-1, 2.0, True])
def test_a_wrong_size_is_named(name: str, size: Any) -> None:
    error = ValueError if size == -1 else TypeError
    with pytest.raises(error, match=rf"^{name} .*{size}"):
        kv_pool(**SIZES | {name: size})


@pytest.mark.parametrize("blocks", [2**44, 10**30])
def test_a_pool_that_no_memory_holds_is_named(blocks: int) -> None:
    with pytest.raises(MemoryError, match=rf"^{blocks} blocks of 4 slots take [0-9,]+ GiB"):
        kv_pool(**SIZES | {"blocks": blocks}, device="cpu")


def test_a_dtype_is_one_of_torch() -> None:
    with pytest.raises(TypeError, match=r"dtype must be a torch\.dtype, got 'float32'"):
        kv_pool(**SIZES, dtype="float32")  # type: ignore[arg-type]
