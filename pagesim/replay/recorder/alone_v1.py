"""vLLM V1's scheduler alone, with random requests."""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
from importlib import import_module
from typing import Any

from pagesim.replay.recorder.alone_v0 import random_requests

MODEL = {  # what vLLM asks of a model before it will make a scheduler
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "num_hidden_layers": 1,
    "vocab_size": 1000,
}


def alone_v1(options: argparse.Namespace) -> Any:
    """vLLM V1's scheduler, and a function that serves random requests with it."""
    config, interface = import_module("vllm.config"), import_module("vllm.v1.kv_cache_interface")
    hashing = import_module("vllm.v1.core.kv_cache_utils")
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "config.json"), "w") as file:
            json.dump(dict(MODEL, max_position_embeddings=options.max_model_len), file)
        model = config.ModelConfig(
            model=folder,
            skip_tokenizer_init=True,
            dtype="float16",
            max_model_len=options.max_model_len,
        )
        cache = config.CacheConfig(
            block_size=options.block_size, enable_prefix_caching=options.caching
        )
        limits = config.SchedulerConfig(
            max_num_seqs=options.max_num_seqs,
            max_num_batched_tokens=options.max_num_batched_tokens,
            max_model_len=options.max_model_len,
            enable_chunked_prefill=True,
            is_encoder_decoder=False,
        )
        whole = config.VllmConfig(model_config=model, cache_config=cache, scheduler_config=limits)
    cache.num_gpu_blocks = options.blocks
    limits.async_scheduling = options.asynchronous
    spec = interface.FullAttentionSpec(
        block_size=options.block_size, num_kv_heads=2, head_size=32, dtype=model.dtype
    )
    group = interface.KVCacheGroupSpec(["layer"], spec)
    pools = interface.KVCacheConfig(options.blocks, [], [group])
    pools.prefix_cache_retention_interval = 0
    name = "async_scheduler.AsyncScheduler" if options.asynchronous else "scheduler.Scheduler"
    module, kind = name.split(".")
    scheduler = getattr(import_module("vllm.v1.core.sched." + module), kind)(
        vllm_config=whole,
        kv_cache_config=pools,
        structured_output_manager=import_module(
            "vllm.v1.structured_output"
        ).StructuredOutputManager(whole),
        block_size=options.block_size,
    )
    sha256 = import_module("vllm.utils.hashing").sha256
    hashing.init_none_hash(sha256)
    hasher = hashing.get_request_block_hasher(options.block_size, sha256)
    make = import_module("vllm.v1.request").Request
    params = import_module("vllm.sampling_params").SamplingParams
    outputs = import_module("vllm.v1.outputs")

    def serve() -> None:
        requests, rng, number = random_requests(options), random.Random(options.seed), 0
        in_flight: list[Any] = []
        idle = 0
        while idle < 3:
            for _ in range(min(rng.randrange(3), len(requests))):
                prompt, num_output = requests.pop()
                request = make(
                    request_id=str(number),
                    prompt_token_ids=prompt,
                    sampling_params=params(max_tokens=num_output, ignore_eos=True),
                    pooling_params=None,
                    arrival_time=float(number),
                    block_hasher=hasher if options.caching else None,
                )
                scheduler.add_request(request)
                number += 1
            out = scheduler.schedule()
            names = list(out.num_scheduled_tokens)
            chunks = [scheduler.requests[name].is_prefill_chunk for name in names]
            tokens = [[] if is_chunk else [rng.randrange(1000)] for is_chunk in chunks]
            index = {name: place for place, name in enumerate(names)}
            answer = outputs.ModelRunnerOutput(names, index, tokens)
            in_flight.append((out, answer))
            if len(in_flight) > options.asynchronous:
                scheduler.update_from_output(*in_flight.pop(0))
            idle = 0 if names or requests else idle + 1

    return scheduler, serve
