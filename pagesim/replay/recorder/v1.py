"""vLLM V1's scheduler."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pagesim.replay.recorder.common import Recorder, TraceFile, has, numbers, refuse


class V1Recorder(Recorder):
    """Every call is noted at once; contents go by the name of the first request that had them."""

    format = "pagesim-v1-trace/1"
    methods: tuple[str, ...] = (
        "add_request",
        "finish_requests",
        "schedule",
        "update_from_output",
        "reset_prefix_cache",
    )

    def __init__(self, scheduler: Any, file: TraceFile) -> None:
        self.manager = scheduler.kv_cache_manager
        self.pool = self.manager.block_pool
        super().__init__(scheduler, file)
        self.plain_hash = import_module("vllm.v1.core.kv_cache_utils").get_block_hash
        self.labels: dict[Any, str] = {}
        self.requests: dict[str, list[Any]] = {}
        """Each request, and how many of its hashes have a name."""

    def not_served(self) -> dict[str, Any]:
        scheduler, config = self.scheduler, self.scheduler.vllm_config
        groups = scheduler.kv_cache_config.kv_cache_groups
        spec = groups[0].kv_cache_spec if groups else None
        kind, limits = type(spec).__name__, scheduler.scheduler_config
        steps = 2 if self.is_async() else 1
        budget = limits.max_num_batched_tokens
        return {
            "LoRA": scheduler.lora_config,
            "speculative decoding": has(config, "speculative_config"),
            "a KV connector": has(scheduler, "connector"),
            "an encoder cache connector": has(scheduler, "ec_connector"),
            "encoder inputs (an encoder-decoder model)": has(scheduler, "is_encoder_decoder"),
            f"{len(groups)} KV cache groups (a hybrid model)": len(groups) != 1,
            f"a {kind}": kind not in ("FullAttentionSpec", "MLAAttentionSpec", "SlidingWindowSpec"),
            "pooling": has(config, "model_config.runner_type") == "pooling",
            "diffusion": has(config, "model_config.is_diffusion"),
            "context parallelism": (has(scheduler, "dcp_world_size") or 1) > 1
            or (has(scheduler, "pcp_world_size") or 1) > 1,
            "pipeline parallelism": (has(config, "parallel_config.pipeline_parallel_size") or 1)
            > 1,
            "hashes of other blocks than the cache's": has(scheduler, "hash_block_size")
            not in (None, scheduler.block_size),
            "max_num_active_seqs": has(limits, "max_num_active_seqs"),
            "prefill_schedule_interval": (has(limits, "prefill_schedule_interval") or 1) > 1,
            "max_num_scheduled_tokens": has(limits, "max_num_scheduled_tokens")
            not in (None, budget),
            "more steps in flight than two": has(config, "max_in_flight_tokens")
            not in (None, steps * budget),
            "extra_retained_tokens": has(spec, "extra_retained_tokens"),
            "blocks or requests from before the recording (record a new engine)": (
                scheduler.requests
                or [block.block_id for block in self.pool.free_block_queue.get_all_free_blocks()]
                != list(range(1, self.pool.num_gpu_blocks))
                or any(block.block_hash is not None for block in self.pool.blocks)
            ),
        }

    def is_async(self) -> bool:
        return "AsyncScheduler" in [each.__name__ for each in type(self.scheduler).__mro__]

    def config_of(self) -> dict[str, Any]:
        limits, groups = self.scheduler.scheduler_config, self.scheduler.kv_cache_config
        spec = groups.kv_cache_groups[0].kv_cache_spec
        is_window = type(spec).__name__ == "SlidingWindowSpec"
        scheduler = {
            "max_num_seqs": limits.max_num_seqs,
            "max_num_batched_tokens": limits.max_num_batched_tokens,
            "max_model_len": self.scheduler.max_model_len,
            "enable_chunked_prefill": bool(limits.enable_chunked_prefill),
            "long_prefill_token_threshold": limits.long_prefill_token_threshold,
            "long_prefill_token_threshold_adaptive": bool(
                has(limits, "long_prefill_token_threshold_adaptive")
            ),
            "policy": str(has(limits.policy, "value") or limits.policy),
            "watermark": float(limits.watermark),
            "scheduler_reserve_full_isl": bool(limits.scheduler_reserve_full_isl),
            "async_scheduling": self.is_async(),
        }
        cache = {
            "block_size": self.scheduler.block_size,
            "num_gpu_blocks": self.pool.num_gpu_blocks,
            "enable_prefix_caching": bool(self.manager.enable_caching),
            "sliding_window": spec.sliding_window if is_window else None,
            "retention_interval": groups.prefix_cache_retention_interval,
        }
        return {"scheduler": scheduler, "cache": cache}

    def name_contents(self, name: str) -> None:
        """Name the contents that no request has had before this one."""
        request, num_named = self.requests[name]
        hashes = request.block_hashes
        for index in range(num_named, len(hashes)):
            self.labels.setdefault(hashes[index], f"{name}.{index}")
        self.requests[name][1] = len(hashes)

    def pool_state(self) -> dict[str, Any]:
        """The part of a state that every kind of recording has."""
        state: dict[str, Any] = {
            "free": [block.block_id for block in self.pool.free_block_queue.get_all_free_blocks()],
            "ref": {},
        }
        holders: dict[Any, list[int]] = {}
        for block in self.pool.blocks:
            if block.ref_cnt and not block.is_null:
                state["ref"][str(block.block_id)] = block.ref_cnt
            if block.block_hash is not None:
                holders.setdefault(self.plain_hash(block.block_hash), []).append(block.block_id)
        if holders:
            state["cached"] = {
                str(i): self.labels[key] for key, ids in holders.items() for i in ids
            }
        first = {
            self.labels[key]: self.pool.get_cached_block(key, [0])[0].block_id
            for key, ids in holders.items()
            if len(ids) > 1
        }
        if first:
            state["first"] = first
        return state

    def observed(self, ret: Any = None) -> dict[str, Any]:
        """What a line says behind its arguments."""
        for name in self.requests:
            self.name_contents(name)
        alive = self.scheduler.requests
        self.requests = {name: each for name, each in self.requests.items() if name in alive}
        state = {
            "waiting": [request.request_id for request in self.scheduler.waiting],
            "running": [request.request_id for request in self.scheduler.running],
            "reqs": {
                name: [
                    request.status.name,
                    request.num_computed_tokens,
                    request.num_tokens,
                    request.num_preemptions,
                ]
                for name, request in alive.items()
            },
            "tables": {name: list(self.manager.get_block_ids(name)[0]) for name in alive},
            **self.pool_state(),
        }
        return {"state": state} if ret is None else {"ret": ret, "state": state}

    def call_add_request(self, original: Any, request: Any) -> None:
        refuse_v1_request(request)
        params, taken = request.sampling_params, request.request_id in self.scheduler.requests
        refuse(f"request {request.request_id} with", {"an id that is taken": taken})
        stop = set(has(params, "stop_token_ids") or ())
        if has(params, "eos_token_id") is not None:
            stop.add(params.eos_token_id)
        args: dict[str, Any] = {
            "request": request.request_id,
            "prompt": numbers(request.prompt_token_ids),
            "max_tokens": request.max_tokens,
            "arrival": request.arrival_time,
        }
        optional = {
            "priority": request.priority,
            "stop": numbers(sorted(stop)),
            "salt": request.cache_salt,
            "skip_reading": bool(request.skip_reading_prefix_cache),
        }
        args.update({key: value for key, value in optional.items() if value})
        original(request)
        self.requests[request.request_id] = [request, 0]
        self.file.write("add", args, self.observed())

    def call_finish_requests(self, original: Any, request_ids: Any, status: Any) -> Any:
        ended = original(request_ids, status)
        # In the order in which vLLM has freed them, which is a set's.
        ids = [request.request_id for request in ended]
        if ids:
            self.file.write("abort", {"requests": ids}, self.observed(ids))
        return ended

    def call_schedule(self, original: Any, throttle_prefills: bool = False) -> Any:
        scheduler = self.scheduler
        pause = has(scheduler, "pause_state.name")
        refuse(
            "a step with",
            {
                "throttled prefills (data parallelism)": throttle_prefills,
                "a paused scheduler": pause not in (None, "UNPAUSED"),
            },
        )
        preempted = {r.request_id for r in scheduler.waiting if r.status.name == "PREEMPTED"}
        out = original()
        known = out.scheduled_cached_reqs
        rows = [
            [
                name,
                None if ids is None else list(ids[0]),
                computed,
                name in known.resumed_req_ids,
                n,
            ]
            for name, ids, computed, n in zip(
                known.req_ids,
                known.new_block_ids,
                known.num_computed_tokens,
                known.num_output_tokens,
            )
        ]
        new = []
        for each in out.scheduled_new_reqs:
            row = [each.req_id, list(each.block_ids[0]), each.num_computed_tokens]
            if each.req_id in preempted:  # model runner V2 is told of these as if they were new
                rows.append([*row, True, scheduler.requests[each.req_id].num_output_tokens])
            else:
                new.append(row)
        ret = {
            "new": new,
            "cached": rows,
            "tokens": [[name, n] for name, n in out.num_scheduled_tokens.items()],
            "total": out.total_num_scheduled_tokens,
            "preempted": sorted(out.preempted_req_ids or ()),
            "finished": sorted(out.finished_req_ids),
        }
        self.file.write("schedule", {}, self.observed(ret))
        return out

    def call_update_from_output(self, original: Any, scheduler_output: Any, output: Any) -> Any:
        sampled, tokens = output.sampled_token_ids, {}
        for name, index in output.req_id_to_index.items():
            if sampled and len(sampled[index]):
                tokens[name] = numbers(sampled[index])
        answer = original(scheduler_output, output)
        order = list(scheduler_output.num_scheduled_tokens)
        told = [each for client in answer.values() for each in client.outputs]
        told.sort(key=lambda each: order.index(each.request_id))
        ret = [
            [
                each.request_id,
                numbers(each.new_token_ids),
                None if each.finish_reason is None else str(each.finish_reason),
            ]
            for each in told
        ]
        self.file.write("update", {"tokens": tokens}, self.observed(ret))
        return answer

    def call_reset_prefix_cache(
        self, original: Any, reset_running_requests: bool = False, *more: Any, **options: Any
    ) -> Any:
        done = original(reset_running_requests, *more, **options)
        args = {"running": bool(reset_running_requests)}
        self.file.write("reset_prefix_cache", args, self.observed(bool(done)))
        return done


def refuse_v1_request(request: Any) -> None:
    """NotServedError for a request that a trace has no place for."""
    params = request.sampling_params
    refuse(
        f"request {request.request_id} with",
        {
            "LoRA": has(request, "lora_request"),
            "encoder inputs (multi-modal)": has(request, "mm_features"),
            "prompt embeddings": has(request, "prompt_embeds") is not None,
            "pooling": has(request, "pooling_params"),
            "structured output": has(request, "structured_output_request"),
            "streaming input": has(request, "resumable"),
            "a repetition detector": has(params, "repetition_detection"),
        },
    )
