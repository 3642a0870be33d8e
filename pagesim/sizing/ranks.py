"""What each of several GPUs keeps: heads with tensor parallelism, layers with a pipeline.

Tensor parallel: each GPU ("rank") computes some heads of every layer and keeps their keys and
values. Pipeline parallel: each GPU has some of the layers.
"""

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.sizing.model import ModelSpec


def kv_heads_per_rank(model: ModelSpec, tensor_parallel_size: int) -> int:
    """How many KV heads one rank keeps; 1 for latent attention, which every rank keeps whole.

    If there are fewer KV heads than ranks, several ranks keep the same head. UsageError if the
    heads cannot be distributed evenly. Source: vLLM, ``get_num_kv_heads`` in ``vllm/config.py``,
    and ``QKVParallelLinear`` in ``vllm/model_executor/layers/linear.py``, which divides.
    """
    ranks = check_int("tensor_parallel_size", tensor_parallel_size, 1)
    if model.num_heads % ranks:
        raise UsageError(
            f"tensor_parallel_size is {ranks}, which does not divide the {model.num_heads} "
            f"attention heads of {model.name}"
        )
    if model.is_mla:
        return 1
    kv = model.num_kv_heads
    if kv % ranks and ranks % kv:
        raise UsageError(
            f"tensor_parallel_size is {ranks} and {model.name} has {kv} KV heads: one must be a "
            "multiple of the other"
        )
    return max(1, kv // ranks)


def layers_per_rank(num_layers: int, pipeline_parallel_size: int, *, engine: str) -> list[range]:
    """The layers of each rank of the pipeline, in order.

    If the division leaves a remainder, V0 gives it to the last rank. V1 gives one extra layer to
    each of as many ranks as needed, backwards from the last but one. Source: ``get_pp_indices`` in
    ``vllm/distributed/utils.py``, in 0.6.4.post1 and in releases since 0.7.
    """
    ranks = check_int("pipeline_parallel_size", pipeline_parallel_size, 1)
    if ranks > num_layers:
        raise UsageError(
            f"pipeline_parallel_size is {ranks}, but there are only {num_layers} layers: some "
            "ranks would have none"
        )
    counts = [num_layers // ranks] * ranks
    rest = num_layers % ranks
    if engine == "v0":
        counts[-1] += rest
    else:
        for place in range(rest):
            counts[-2 - place] += 1
    starts = [sum(counts[:rank]) for rank in range(ranks)]
    return [range(start, start + count) for start, count in zip(starts, counts, strict=True)]
