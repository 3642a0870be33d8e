"""A stub of vLLM, for tests: its module names and the attributes that record_vllm.py reads.

What computes are pagesim's own classes, so a test on it proves the recorder's file and its path to
the player, and nothing about vLLM. STUB_VLLM is the release it pretends to be.
"""

import os
import sys
from types import ModuleType, SimpleNamespace

__version__ = os.environ.get("STUB_VLLM", "0.33.0")


def module(name: str, **members: object) -> None:
    made = sys.modules["vllm." + name] = ModuleType("vllm." + name)
    made.__dict__.update(members)


class Options(SimpleNamespace):
    """A configuration: whatever it is given."""


def v1() -> None:
    from pagesim import v1

    class Spec(Options):
        extra_retained_tokens = 0

    class FullAttentionSpec(Spec):
        served = v1.FullAttentionSpec

    class SlidingWindowSpec(Spec):
        served = v1.SlidingWindowSpec

    class MambaSpec(Spec):
        served = v1.MambaSpec

    def served(spec):
        numbers = dict(vars(spec))
        for name in ("num_kv_heads", "head_size", "dtype"):
            numbers.pop(name, None)
        return spec.served(**numbers)

    class Request(v1.Request):
        __slots__ = ("hasher", "lora_request", "mm_features", "sampling_params")

        def __init__(self, request_id, prompt_token_ids, sampling_params, pooling_params, **more):
            block_size = more.pop("block_hasher")
            super().__init__(
                request_id,
                prompt_token_ids,
                block_size=block_size,
                max_tokens=sampling_params.max_tokens,
                stop_token_ids=sampling_params.stop_token_ids,
                **more,
            )
            self.sampling_params = sampling_params
            self.lora_request, self.mm_features = None, []

    def sampling(max_tokens, ignore_eos, stop_token_ids=()):
        return Options(max_tokens=max_tokens, stop_token_ids=stop_token_ids, eos_token_id=None)

    class Scheduler(v1.Scheduler):
        is_async = False

        def __init__(self, vllm_config, kv_cache_config, structured_output_manager, block_size):
            given, cache = vllm_config.scheduler_config, vllm_config.cache_config
            limits = v1.SchedulerConfig(
                given.max_num_batched_tokens,
                given.max_num_seqs,
                given.max_model_len,
                async_scheduling=self.is_async,
            )
            specs = [served(group.kv_cache_spec) for group in kv_cache_config.kv_cache_groups]
            kinds = {"groups": specs} if len(specs) > 1 else {"block_size": block_size}
            pools = v1.CacheConfig(
                num_gpu_blocks=kv_cache_config.num_blocks,
                enable_prefix_caching=cache.enable_prefix_caching,
                **kinds,
            )
            super().__init__(limits, pools)
            self.vllm_config, self.kv_cache_config = vllm_config, kv_cache_config
            self.block_size, self.max_model_len = pools.block_size, given.max_model_len
            self.hash_block_size = self.kv_cache_manager.block_pool.hash_block_size
            self.lora_config = None

        def schedule(self, throttle_prefills=False):
            output = super().schedule()
            known, place = output.scheduled_cached_reqs, len(output.scheduled_new_reqs)
            if os.environ.get("STUB_RUNNER") == "v2":  # is told of resumed requests as of new ones
                while known.req_ids and known.req_ids[-1] in known.resumed_req_ids:
                    name, _ = known.req_ids.pop(), known.num_output_tokens.pop()
                    blocks, computed = known.new_block_ids.pop(), known.num_computed_tokens.pop()
                    new = Options(req_id=name, block_ids=blocks, num_computed_tokens=computed)
                    output.scheduled_new_reqs.insert(place, new)
            return output

        def update_from_output(self, scheduler_output, model_runner_output):
            sampled = model_runner_output.sampled_token_ids
            index = model_runner_output.req_id_to_index
            tokens = {name: sampled[place] for name, place in index.items()}
            return super().update_from_output(scheduler_output, tokens)

    class AsyncScheduler(Scheduler):
        is_async = True

    def groups(num_blocks, tensors, groups):
        return Options(num_blocks=num_blocks, kv_cache_groups=groups)

    def options(*names):
        return lambda *values, **more: Options(**dict(zip(names, values, strict=False)), **more)

    module("config", **dict.fromkeys(("CacheConfig", "SchedulerConfig", "VllmConfig"), Options))
    sys.modules["vllm.config"].ModelConfig = Options
    module("v1")
    module("v1.core")
    module("v1.core.sched")
    module("v1.core.sched.scheduler", Scheduler=Scheduler)
    module("v1.core.sched.async_scheduler", AsyncScheduler=AsyncScheduler)
    module(
        "v1.core.kv_cache_utils",
        get_block_hash=lambda key: key,
        init_none_hash=lambda function: None,
        get_request_block_hasher=lambda block_size, function: block_size,
    )
    module(
        "v1.kv_cache_interface",
        FullAttentionSpec=FullAttentionSpec,
        SlidingWindowSpec=SlidingWindowSpec,
        MambaSpec=MambaSpec,
        KVCacheGroupSpec=options("layer_names", "kv_cache_spec"),
        KVCacheConfig=groups,
    )
    module("v1.structured_output", StructuredOutputManager=lambda config: None)
    module("v1.request", Request=Request)
    output = options("req_ids", "req_id_to_index", "sampled_token_ids")
    module("v1.outputs", ModelRunnerOutput=output)
    module("sampling_params", SamplingParams=sampling)
    module("utils")
    module("utils.hashing", sha256=None)


if __version__.startswith("0.33."):
    v1()
