"""vLLM V0's scheduler alone, with random requests."""

from __future__ import annotations

import argparse
import random
import time
from importlib import import_module
from typing import Any


def random_requests(options: argparse.Namespace) -> list[tuple[list[int], int]]:
    """Prompts and numbers of output tokens; many prompts begin alike, so that blocks are shared."""
    rng = random.Random(options.seed)
    longest = options.max_model_len
    heads = [[rng.randrange(1000) for _ in range(longest // 4)] for _ in range(3)]
    requests = []
    for _ in range(options.requests):
        prompt = rng.choice(heads) * rng.randrange(2)
        prompt = prompt + [rng.randrange(1000) for _ in range(rng.randint(1, longest // 4))]
        requests.append((prompt, rng.randint(1, longest // 4)))
    return requests


def alone_v0(options: argparse.Namespace) -> Any:
    """vLLM V0's scheduler, and a function that serves random requests with it."""
    config, sequence = import_module("vllm.config"), import_module("vllm.sequence")
    cache = config.CacheConfig(
        options.block_size, 1.0, 0, "auto", enable_prefix_caching=options.caching
    )
    cache.num_gpu_blocks = cache.num_cpu_blocks = options.blocks
    limits = config.SchedulerConfig(
        "generate",
        options.max_num_batched_tokens,
        options.max_num_seqs,
        options.max_model_len,
        enable_chunked_prefill=options.max_num_batched_tokens < options.max_model_len,
    )
    scheduler = import_module("vllm.core.scheduler").Scheduler(limits, cache, None)

    def serve() -> None:
        requests, rng, idle = random_requests(options), random.Random(options.seed), 0
        most: list[int] = []
        while idle < 3:
            for _ in range(min(rng.randrange(3), len(requests))):
                prompt, num_output = requests.pop()
                most.append(num_output)
                inputs = {"type": "token", "prompt_token_ids": prompt}
                seq = sequence.Sequence(len(most) - 1, inputs, options.block_size)
                name = str(seq.seq_id)
                scheduler.add_seq_group(sequence.SequenceGroup(name, [seq], time.time()))
            metadata, out, _ = scheduler.schedule()
            idle = 0 if metadata or requests else idle + 1
            for meta, scheduled in zip(metadata, out.scheduled_seq_groups):
                (seq,) = scheduled.seq_group.get_seqs()
                seq.data.update_num_computed_tokens(scheduled.token_chunk_size)
                if meta.do_sample:
                    token = rng.randrange(1000)
                    seq.append_token_id(token, {token: sequence.Logprob(0.0)})
                    if seq.get_output_len() >= most[seq.seq_id]:
                        seq.status = sequence.SequenceStatus.FINISHED_LENGTH_CAPPED
                        scheduler.free_seq(seq)
            scheduler.free_finished_seq_groups()
            scheduler.get_and_reset_finished_requests_ids()

    return scheduler, serve
