"""The byte proof's pools as torch tensors, moved by the kernels; on a GPU if there is one."""

import numpy as np
import torch
from numpy.typing import NDArray

from pagesim.cache import CacheEngine, KVPool
from pagesim.kernels import backend, copy_blocks, swap_blocks
from tests.cache.contents import Bytes, noise
from tests.cache.tier_bytes import noisy_chunks, words_of


class KernelPools(Bytes):
    """GPU pool where kernels run, CPU pool in the CPU's memory."""

    def __init__(self, block_size: int, num_gpu_blocks: int, num_cpu_blocks: int = 0) -> None:
        caches = torch.from_numpy(noise(num_gpu_blocks, block_size, seed=0))
        gpu = caches.to(backend.device())
        cpu = torch.from_numpy(noise(num_cpu_blocks, block_size, seed=1))
        self.engine = CacheEngine(
            KVPool(list(gpu[0::2]), list(gpu[1::2])),
            KVPool(list(cpu[0::2]), list(cpu[1::2])),
            copy_blocks=copy_blocks,
            swap_blocks=swap_blocks,
            as_pairs=torch.from_numpy,
        )
        self._cache = gpu.view(torch.int64).flatten(start_dim=1)

    def write(self, slots: NDArray[np.int64], contents: NDArray[np.int64]) -> None:
        device = self._cache.device
        self._cache[:, torch.from_numpy(slots).to(device)] = torch.from_numpy(contents).to(device)

    def read(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        found = self._cache[:, torch.from_numpy(slots).to(self._cache.device)]
        return found.cpu().numpy()


class KernelWorkerBytes(KernelPools):
    """The two pools of one worker of a second tier."""

    def __init__(self, block_size: int, num_gpu_blocks: int, num_chunks: int, width: int) -> None:
        gpu = torch.from_numpy(noise(num_gpu_blocks, block_size, seed=0)).to(backend.device())
        chunks = noisy_chunks(num_chunks, width, block_size)
        self.engine = CacheEngine(
            KVPool(list(gpu[0::2]), list(gpu[1::2])),
            KVPool.of_blocks(torch.from_numpy(chunks)),
            swap_blocks=swap_blocks,
            as_pairs=torch.from_numpy,
            blocks_per_chunk=width,
        )
        self._cache = gpu.view(torch.int64).flatten(start_dim=1)
        self.chunks = words_of(chunks, width)
