"""The grid of thread blocks.

    v1  one thread block per (head, sequence): it walks over the whole sequence.
    v2  one per (head, sequence, partition): a partition is a slice of the *KV sequence*, 512 tokens
        of it. Long sequences then keep many thread blocks busy; a second kernel combines them.

On a GPU thread blocks run in any order; here they run one after the other.
"""

from dataclasses import dataclass, field
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from pagesim.kernels.reference import Given, Ints
from pagesim.kernels.runtime.inputs import Options, PagedInputs
from pagesim.kernels.simt.arguments import make_launch
from pagesim.kernels.simt.memory import Launch, Rounding
from pagesim.kernels.simt.reduce import combine_partitions
from pagesim.kernels.simt.scores import load_q, score_keys
from pagesim.kernels.simt.softmax import reduce_max, softmax
from pagesim.kernels.simt.thread_block import ThreadBlock
from pagesim.kernels.simt.values import reduce_lanes, reduce_warps, weigh_values
from pagesim.kernels.simt.warp_load import Tensor, WarpLoad

PARTITION_SIZE = 512
# The order matters: each stage reads what the one before it wrote.
STAGES = (load_q, score_keys, reduce_max, softmax, weigh_values, reduce_lanes, reduce_warps)


@dataclass(slots=True)
class Trace:
    """Keeps the thread blocks of a launch: `trace[seq, head]`, `trace[seq, head, 2]`."""

    thread_blocks: dict[tuple[int, int, int], ThreadBlock] = field(default_factory=dict)

    def __getitem__(self, key: tuple[int, int] | tuple[int, int, int]) -> ThreadBlock:
        seq, head, partition = key if len(key) == 3 else (*key, 0)
        if (seq, head, partition) not in self.thread_blocks:
            raise KeyError(
                f"no thread block computed sequence {seq}, head {head}, partition {partition}; "
                f"this trace has {len(self.thread_blocks)} thread blocks"
            )
        return self.thread_blocks[seq, head, partition]

    def loads(self, tensor: Tensor) -> list[WarpLoad]:
        """Return every load instruction on one tensor, from all thread blocks."""
        blocks = self.thread_blocks.values()
        return [load for block in blocks for load in block.loads if load.tensor == tensor]


def paged_attention_v1(
    q: Given,
    k_cache: Given,
    v_cache: Given,
    block_tables: Ints,
    seq_lens: Ints,
    *,
    num_threads: int = 128,
    scale: float | None = None,
    alibi_slopes: ArrayLike | None = None,
    k_scale: float = 1.0,
    v_scale: float = 1.0,
    rounding: Rounding = "exact",
    trace: Trace | None = None,
) -> Given:
    """Emulate vLLM's CUDA kernel, one thread block per sequence and query head.

    q: [num_seqs, num_heads, head_size], float16 or float32; caches in the CUDA layouts
    (`kernels.to_cuda_layout`) in q's dtype, or uint8 holding e4m3 codes; block_tables: [num_seqs,
    max_blocks]; seq_lens: [num_seqs]. scale: 1/√head_size by default. alibi_slopes: [num_heads].
    k_scale, v_scale: value = stored · scale.

    rounding="exact" computes in float32 and returns float32 [num_seqs, num_heads, head_size];
    "as_kernel" rounds wherever the kernel rounds, including the output, and returns q's dtype. A
    sequence of length 0 gives zeros. Raises ValueError or TypeError naming the argument, the value
    and the sequence. Source: csrc/attention/attention_kernels.cuh of vLLM 0.6.4.post1.
    """
    options = Options(scale, cast(Any, alibi_slopes), k_scale=k_scale, v_scale=v_scale)
    inputs = PagedInputs("decode", q, k_cache, v_cache, block_tables, seq_lens, options)
    return _run(make_launch(inputs, num_threads, rounding), q.shape, trace)


def paged_attention_v2(
    q: Given,
    k_cache: Given,
    v_cache: Given,
    block_tables: Ints,
    seq_lens: Ints,
    *,
    partition_size: int = PARTITION_SIZE,
    num_threads: int = 128,
    scale: float | None = None,
    alibi_slopes: ArrayLike | None = None,
    k_scale: float = 1.0,
    v_scale: float = 1.0,
    rounding: Rounding = "exact",
    trace: Trace | None = None,
) -> Given:
    """Emulate the version that splits the KV sequence into partitions of `partition_size` tokens.

    partition_size is a multiple of the block size; vLLM uses 512. Everything else is as in
    `paged_attention_v1`.
    """
    if partition_size <= 0:
        raise ValueError(
            f"partition_size = {partition_size}: it must be a positive number of tokens"
        )
    options = Options(scale, cast(Any, alibi_slopes), k_scale=k_scale, v_scale=v_scale)
    inputs = PagedInputs("decode", q, k_cache, v_cache, block_tables, seq_lens, options)
    return _run(make_launch(inputs, num_threads, rounding, partition_size), q.shape, trace)


def choose_version(max_seq_len: int, num_seqs: int, num_heads: int) -> Literal["v1", "v2"]:
    """Return the version that vLLM launches: v2 for long sequences too few to fill a GPU."""
    if max_seq_len > 8192:
        return "v2"
    one_partition = max_seq_len <= PARTITION_SIZE
    return "v1" if one_partition or num_seqs * num_heads > 512 else "v2"


def _run(launch: Launch, shape: tuple[int, ...], trace: Trace | None) -> Given:
    out = np.empty(shape, dtype=np.float32)
    for seq, head in np.ndindex(shape[:2]):
        length = int(launch.seq_lens[seq])
        # For an empty sequence v1 has one thread block and v2 has none.
        count = -(-length // launch.partition_size) if launch.partition_size else 1
        parts = []
        for partition in range(count):
            block = ThreadBlock(launch, seq, head, partition, tracing=trace is not None)
            # Slots never written may hold anything; their results are discarded.
            with np.errstate(all="ignore"):
                for stage in STAGES:
                    stage(block)
            parts.append(block)
            if trace is not None:
                trace.thread_blocks[seq, head, partition] = block
        out[seq, head] = combine_partitions(parts, shape[2])
    return out if launch.rounding == "exact" else out.astype(launch.dtype)
