"""vLLM's CUDA attention kernel, thread by thread, in NumPy (csrc/attention of 0.6.4.post1).

Every warp, lane, shuffle, word of shared memory and barrier of the attention kernel has its
counterpart here, so you can ask any thread what it holds, and any load which bytes it reads:

    from pagesim.kernels import simt
    print(simt.explain(simt.Config(head_size=128, block_size=16)))
    trace = simt.Trace()
    k, v = (cache.numpy() for cache in kernels.to_cuda_layout(k_cache, v_cache))
    out = simt.paged_attention_v1(q, k, v, block_tables, seq_lens, trace=trace)
    trace[0, 0].lane_accs[0, 0]                  # sequence 0, head 0: the accs of warp 0, lane 0
    trace.loads("k")[0].sectors()             # what the first load of K touches

The stages in the order of the kernel: `scores`, `softmax`, `values`, and for v2 `reduce`.
"""

from pagesim.kernels.simt.config import Config
from pagesim.kernels.simt.explain import explain
from pagesim.kernels.simt.launch import (
    Trace,
    choose_version,
    paged_attention_v1,
    paged_attention_v2,
)
from pagesim.kernels.simt.machine import RaceError
from pagesim.kernels.simt.thread_map import thread_map
from pagesim.kernels.simt.warp_load import WarpLoad

__all__ = ["Config", "RaceError", "Trace", "WarpLoad", "choose_version", "explain"]
__all__ += ["paged_attention_v1", "paged_attention_v2", "thread_map"]
