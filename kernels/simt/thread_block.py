"""One thread block: what it works on, what its threads hold after every stage, and its loads.

The stages in `scores`, `softmax` and `values` fill in these fields, in the order listed here.
Registers are [num_warps, 32, …]: index them with a warp and a lane to see what that thread holds.
"""

from dataclasses import dataclass, field

import numpy as np

from pagesim.kernels.simt.config import Config
from pagesim.kernels.simt.indices import Ints, Threads, threads
from pagesim.kernels.simt.machine import Flags, Floats, SharedMemory
from pagesim.kernels.simt.memory import Launch
from pagesim.kernels.simt.warp_load import Tensor, WarpLoad


@dataclass(frozen=True, slots=True)
class KeyStep:
    """One step of the qk loop: every thread group scores one key. All [num_warps, 32].

    working: the warp still has a block. token: position in the sequence. partial: the lane's own
    share of q · k. dot: the group's sum, in each of its lanes. qk: scaled, and biased by ALiBi.
    """

    working: Flags
    token: Ints
    partial: Floats
    dot: Floats
    qk: Floats


@dataclass(slots=True)
class ThreadBlock:
    """The threads that compute one query head of one sequence, or of one partition of it."""

    launch: Launch
    seq: int
    head: int
    partition: int
    tracing: bool

    first_block: int = field(init=False)
    end_block: int = field(init=False)
    num_tokens: int = field(init=False)
    threads: Threads = field(init=False)
    q_vecs: SharedMemory = field(init=False)  # [thread_group_size, num_vecs_per_thread, vec_size]
    shared: SharedMemory = field(init=False)  # the logits, and after them the outputs
    red: SharedMemory = field(init=False)  # one word a warp for the maximum, one for the sum

    # Stage by stage.
    key_steps: list[KeyStep] = field(default_factory=list)
    lane_max: Floats = field(init=False)  # the largest qk that the lane itself has stored
    qk_max: Floats = field(init=False)  # of the thread block, the same in every lane
    raw_logits: Floats = field(init=False)  # [slots], qk before the softmax, 0 past the end
    lane_sum: Floats = field(init=False)  # Σ exp(qk - max) over the lane's own tokens
    exp_sum: Floats = field(init=False)  # of the thread block, the same in every lane
    logits: Floats = field(init=False)  # [slots], softmax(qk)
    lane_accs: Floats = field(init=False)  # [.., .., num_rows_per_thread], over the lane's tokens
    warp_accs: Floats = field(init=False)  # the same over the warp's tokens, after the shuffles
    tree: list[Floats] = field(default_factory=list)  # after each level: accs of the warps left
    output: Floats = field(init=False)  # [head_size], float32 before it is rounded

    loads: list[WarpLoad] = field(default_factory=list)  # if tracing

    def __post_init__(self) -> None:
        config, size = self.config, self.config.block_size
        blocks = -(-self.seq_len // size)
        share = self.launch.partition_size // size or blocks
        self.first_block = self.partition * share
        self.end_block = min(self.first_block + share, blocks)
        self.num_tokens = min(self.end_block * size, self.seq_len) - self.first_token
        self.threads = threads(config)
        self.q_vecs = SharedMemory(config.head_size)
        slots = (self.end_block - self.first_block) * size
        self.shared = SharedMemory(config.shared_bytes(slots) // 4)
        self.red = SharedMemory(2 * config.num_warps)

    @property
    def config(self) -> Config:
        return self.launch.config

    @property
    def seq_len(self) -> int:
        """Tokens of the sequence, other partitions included."""
        return int(self.launch.seq_lens[self.seq])

    @property
    def first_token(self) -> int:
        """The position whose logit is the first in shared memory."""
        return self.first_block * self.config.block_size

    def rounds(self) -> list[Ints]:
        """The blocks of each round, [num_warps, 1]: first + w, then + num_warps, …

        A warp whose block is at or past end_block has none left.
        """
        warp = np.arange(self.config.num_warps)[:, None]
        starts = range(self.first_block, self.end_block, self.config.num_warps)
        return [start + warp for start in starts]

    def slab(self, block: Ints) -> Ints:
        """Where the KV head's part of these blocks starts in K and V, in elements, in 64 bits."""
        table = self.launch.block_tables[self.seq]
        number = table[np.minimum(block, self.end_block - 1)]
        kv_head = self.head // (self.launch.num_heads // self.launch.num_kv_heads)
        slab_size = self.config.head_size * self.config.block_size
        return np.asarray((number * self.launch.num_kv_heads + kv_head) * slab_size)

    def load(self, tensor: Tensor, steps: list[Ints], offsets: Ints, count: int) -> Floats:
        """Read `count` elements at every lane's offsets [num_warps, 32, n]; -1 takes no part.

        steps: what to call each of the n instructions, arrays that broadcast to [num_warps, n].
        """
        if self.tracing:
            size = self.launch.tensors[tensor].itemsize
            addresses = np.where(offsets >= 0, offsets * size, -1)
            shape = (addresses.shape[0], addresses.shape[2])
            names = [np.broadcast_to(step, shape) for step in steps]
            for warp, n in np.ndindex(shape):
                lanes = addresses[warp, :, n]
                if (lanes >= 0).any():
                    step = tuple(int(name[warp, n]) for name in names)
                    self.loads.append(WarpLoad(tensor, warp, step, lanes.copy(), count * size))
        return self.launch.fetch(tensor, offsets, count)

    def barrier(self) -> None:
        """Wait for all threads of the thread block (CUDA: __syncthreads)."""
        for memory in (self.q_vecs, self.shared, self.red):
            memory.barrier()
