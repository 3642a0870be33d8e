"""Turns a workload's requests into those of the paged servers, and refuses hopeless ones."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.simulation.serving import too_long
from pagesim.v0.block.common import cdiv
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.v0.sequence import SequenceGroup
from pagesim.workload.request import Request


@dataclass(frozen=True, slots=True)
class RequestTag:
    """A request's row in its workload, and its final length: prompt and output tokens.

    It is the group's ``sampling_params``, where vLLM keeps ``max_tokens``.
    """

    row: int
    goal: int
    token: int
    """What the model samples for this request: no other request gets the same token."""
    samples: int = 1
    """The most sequences that it may fork into."""


def prompt_of(request: Request, row: int) -> list[int]:
    """The request's tokens, or stand-ins that are equal as far as the hash ids are."""
    if request.token_ids:
        return list(request.token_ids)
    if not request.hash_ids:
        return [-1 - row] * request.prompt_tokens
    tokens: list[int] = []
    for hash_id in request.hash_ids:
        tokens += [hash_id] * request.hash_block_tokens
    return tokens[: request.prompt_tokens]


def check_sampled(
    sampled: Collection[int], tokens: Mapping[int, int] | None, ended: Collection[int]
) -> None:
    """UsageError or TypeError unless each sequence in ``sampled`` has a token, and ``ended`` do."""
    for seq_id in ended:
        if seq_id not in sampled:
            raise UsageError(f"ended names {seq_id}, which samples no token in this step")
    if tokens is None:
        return
    for seq_id in sampled:
        if seq_id not in tokens:
            raise UsageError(
                f"tokens has no entry for sequence {seq_id}, which samples a token in this step"
            )
        if type(tokens[seq_id]) is not int:
            raise TypeError(f"tokens[{seq_id}] must be an int, not {tokens[seq_id]!r}")


def check_samples(samples: int, config: SchedulerConfig) -> int:
    """``samples``; UsageError if they share blocks and could not be swapped."""
    check_int("samples", samples, 1)
    if samples > 1 and config.preemption_mode != "swap":
        raise UsageError(
            f"{samples} samples that share blocks cannot be recomputed: preemption_mode must "
            f"be 'swap' (and num_cpu_blocks above 0), not {config.preemption_mode!r}"
        )
    return samples


def why_never(
    request: Request, config: SchedulerConfig, cache: CacheConfig, samples: int = 1
) -> str | None:
    """Why a request can never be served, in words; None if it can.

    It can if the model allows its length, and the pool its blocks above the watermark. vLLM would
    let a longer request grow, preempt it, and then ignore it; here it is refused before it starts.
    ``samples`` share the blocks that the prompt fills, but not after a swap to the CPU and back, so
    each needs room for all its blocks. A chunked prompt that fills the pool to its last block would
    preempt itself again and again. A decode takes one token per sample.
    """
    if request.output_tokens > 1 and samples > config.max_num_batched_tokens:
        return (
            f"a step takes a token of each of its {samples} samples, and has "
            f"max_num_batched_tokens = {config.max_num_batched_tokens}"
        )
    if request.total_tokens > config.max_model_len:
        return too_long(request, config.max_model_len)
    blocks = samples * cdiv(request.total_tokens - 1, cache.block_size)
    blocks += cache.sliding_window is not None  # the null block
    kept_free = max(int(cache.watermark * cache.num_gpu_blocks), int(config.enable_chunked_prefill))
    if cache.num_gpu_blocks - blocks < kept_free:
        kept = f", of which {kept_free} stay free" if kept_free else ""
        return f"it needs {blocks} blocks, and the pool has {cache.num_gpu_blocks}{kept}"
    return None


def why_stuck(seq_group: SequenceGroup, config: SchedulerConfig) -> str:
    """Why no step continues a group, or why the scheduler ignored it, in words."""
    tokens, budget = seq_group.first_seq.get_num_new_tokens(), config.max_num_batched_tokens
    if tokens > budget:
        return (
            f"it was swapped out during its prompt, and vLLM computes the {tokens} tokens that "
            f"are left in one step, which has max_num_batched_tokens = {budget}"
        )
    return "it never finds enough free blocks"
