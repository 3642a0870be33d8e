"""The batch of a step of V1, in which prompts, chunks and decodes come in any mixture.

V1 knows no phases: each request has tokens to catch up with. Here a request decodes if its only
token is the one that was sampled last, and otherwise prefills; the prefills are put first, as in
V0. (vLLM's workers also keep an order of their own, and some attention backends sort it.)

Source: vLLM 0.33.0, ``GPUModelRunner`` in ``vllm/v1/worker/gpu_model_runner.py``.
"""

from pagesim.cache.attention_metadata import AttentionMetadata, assemble_groups
from pagesim.cache.spans_v1 import spans_of_step
from pagesim.v1.output import SchedulerOutput
from pagesim.v1.scheduler import Scheduler


def build_v1_metadata(output: SchedulerOutput, scheduler: Scheduler) -> AttentionMetadata:
    """The batch of a step that ``scheduler.schedule()`` has just returned.

    The null block is -1 in its tables. A kernel must be given the ``sliding_window`` of the cache,
    then it does not follow such an entry; otherwise it is refused, where vLLM's 0 would be read.
    With several KV cache groups, ``groups`` of the batch has tables and slots of each. In a group
    of states, a table's entry for position ``n - 1`` is the block of the state after ``n`` tokens.

    Asynchronously, a step is scheduled before the last one has sampled: build its batch after
    ``update_from_output`` of the step before, and before the next ``schedule()``. A request that
    has ended by then is left out: vLLM computes it all the same, and the result is thrown away.
    Abort a request only after its batch is built: its blocks already count as cached, and computing
    them is what this batch does.

    UsageError for a token that is not sampled yet, for a step whose output is known already, and
    for blocks that a later step has taken away.
    """
    groups = scheduler.kv_cache_manager.kv_cache_groups
    return assemble_groups(spans_of_step(output, scheduler), groups)
