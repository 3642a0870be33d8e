"""Records a run of your own vLLM for `pagesim replay`; it needs vLLM and nothing else: copy it.

Around an engine in this process (with V1, set VLLM_ENABLE_V1_MULTIPROCESSING=0 before vLLM starts;
with V0, disable_async_output_proc=True), before its first request:

    from record_vllm import recording

    llm = vllm.LLM(model, num_gpu_blocks_override=256)
    with recording(llm, "run.jsonl.gz"):
        llm.generate(prompts)

Without a model, vLLM's scheduler alone is given random requests:

    python record_vllm.py run.jsonl.gz --requests 32 --blocks 24

The file is written when the block ends, whole, or not at all if something was raised. vLLM 0.6.x is
recorded as V0 (pagesim-trace/1), 0.33.x as V1 (pagesim-v1-trace/1). What these formats do not hold
is refused by name. This file runs on Python 3.9, as vLLM 0.6 does.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

KNOWN = """\
0.6.x (V0: vllm.core.scheduler.Scheduler over a SelfAttnBlockSpaceManager) and \
0.33.x (V1: vllm.v1.core.sched.scheduler.Scheduler over a KVCacheManager)"""


class NotServedError(ValueError):
    """The run, or this vLLM, cannot be recorded; the message names what it has."""


# -- the file ------------------------------------------------------------------------------------


class TraceFile:
    """Operations one by one, beside ``path`` until they are complete; gzipped if it ends in .gz."""

    def __init__(self, path: str) -> None:
        self.path, self.part = path, path + ".part"
        self.num_ops = 0
        self._ops = tempfile.TemporaryFile(dir=os.path.dirname(os.path.abspath(path)))  # noqa: SIM115
        self._lines = gzip.open(self._ops, "wb")  # noqa: SIM115

    def write(self, op: str, args: dict[str, Any], observed: dict[str, Any]) -> None:
        """One operation; ``observed`` has its ret, if there is one, and its state."""
        line = {"i": self.num_ops, "op": op, "args": args}
        line.update(observed)
        self._lines.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        self.num_ops += 1

    def finish(self, header: dict[str, Any]) -> None:
        """Put the header in front, and everything in its place."""
        header["num_ops"] = self.num_ops
        first = json.dumps(header).encode() + b"\n"
        self._lines.close()
        self._ops.seek(0)
        zipped = self.path.endswith(".gz")
        try:
            with open(self.part, "wb") as out:
                out.write(gzip.compress(first) if zipped else first)
                lines = self._ops if zipped else gzip.open(self._ops)  # noqa: SIM115
                shutil.copyfileobj(lines, out)
            os.replace(self.part, self.path)
        finally:
            if os.path.exists(self.part):
                os.remove(self.part)

    def close(self) -> None:
        self._lines.close()
        self._ops.close()


# -- what both engines have in common ------------------------------------------------------------


class Recorder:
    """Stands in front of a scheduler's methods, named in ``methods``, and notes what they do.

    ``call_x(original, …)`` does and notes a call of ``x``; calls of the scheduler to itself are a
    part of it.
    """

    format = ""
    methods: tuple[str, ...] = ()

    def __init__(self, scheduler: Any, file: TraceFile) -> None:
        self.scheduler, self.file = scheduler, file
        self.problem: BaseException | None = None
        self._inside = False
        refuse("an engine that uses", self.not_served())
        self.config = self.config_of()

    def not_served(self) -> dict[str, Any]:
        """What the format does not hold, by name: a true value says that the engine has it."""
        raise NotImplementedError

    def config_of(self) -> dict[str, Any]:
        """The configuration from which `pagesim replay` makes a scheduler."""
        raise NotImplementedError

    def settle(self) -> None:
        """Note an operation that is complete only when the next one begins."""

    def start(self) -> None:
        for name in self.methods:
            setattr(self.scheduler, name, self._noting(name, getattr(self.scheduler, name)))

    def stop(self) -> None:
        for name in self.methods:
            delattr(self.scheduler, name)

    def _noting(self, name: str, original: Any) -> Any:
        noted = getattr(self, "call_" + name)

        def call(*args: Any, **kwargs: Any) -> Any:
            if self._inside:
                return original(*args, **kwargs)
            self._inside = True
            try:
                return noted(original, *args, **kwargs)
            except BaseException as problem:
                self.problem = problem
                raise
            finally:
                self._inside = False

        return call

    def header(self) -> dict[str, Any]:
        name = os.path.basename(self.file.path).split(".")[0]
        return {
            "reference": "vLLM " + version_of(),
            "format": self.format,
            "kind": "scheduler",
            "name": name,
            "config": self.config,
            "seed": None,
            "workload": "recorded",
            "workload_args": {},
        }


def refuse(what: str, features: dict[str, Any]) -> None:
    """NotServedError for the first feature that is used."""
    for name, value in features.items():
        if value:
            raise NotServedError(f"{what} {name} cannot be recorded: the trace has no place for it")


def has(thing: Any, path: str) -> Any:
    """The attribute at ``a.b.c``, None where there is none: releases differ in what they have."""
    for name in path.split("."):
        thing = getattr(thing, name, None)
    return thing


# -- V0 ------------------------------------------------------------------------------------------


class FrozenClock:
    """A module `time` whose time() stands still, so that a step has one reading of the clock."""

    def __init__(self, now: float) -> None:
        self.time = lambda: now

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


class V0Recorder(Recorder):
    """A step is noted when the next call begins: by then the engine has appended its tokens."""

    format = "pagesim-trace/1"
    methods = (
        "add_seq_group",
        "abort_seq_group",
        "fork_seq",
        "schedule",
        "get_and_reset_finished_requests_ids",
    )

    def __init__(self, scheduler: Any, file: TraceFile) -> None:
        super().__init__(scheduler, file)
        self.step: dict[str, Any] | None = None
        self.members: list[tuple[Any, int, bool]] = []
        """The sequences of the step: how long each was, and whether it samples."""
        self.finished: list[str] = []
        self.num_told = 0
        """Of the finished ids that the engine has not fetched yet, how many are noted."""

    def not_served(self) -> dict[str, Any]:
        scheduler, manager = self.scheduler, self.scheduler.block_manager
        config, kind = scheduler.scheduler_config, type(manager).__name__
        return {
            f"a {kind} in place of a SelfAttnBlockSpaceManager": kind
            != "SelfAttnBlockSpaceManager",
            "LoRA": scheduler.lora_config,
            "asynchronous output processing (make it with disable_async_output_proc=True)": has(
                scheduler, "use_async_output_proc"
            ),
            "multi-step scheduling": (has(config, "num_scheduler_steps") or 1) > 1,
            "a watermark other than 0.01": manager.watermark != 0.01,
            "blocks or requests from before the recording (record a new engine)": (
                scheduler.has_unfinished_seqs() or manager.block_tables or not self._is_new()
            ),
        }

    def _is_new(self) -> bool:
        """Whether no block was ever taken: the free lists of both devices are in order."""
        for allocator in self.scheduler.block_manager.block_allocator._allocators.values():
            plain = has(allocator, "_hashless_allocator") or allocator
            free = list(plain._free_block_indices)
            if free != sorted(allocator.all_block_ids):
                return False
        return True

    def config_of(self) -> dict[str, Any]:
        config, cache = self.scheduler.scheduler_config, self.scheduler.cache_config
        manager = self.scheduler.block_manager
        scheduler = {
            "max_num_batched_tokens": config.max_num_batched_tokens,
            "max_num_seqs": config.max_num_seqs,
            "max_model_len": config.max_model_len,
            "num_lookahead_slots": config.num_lookahead_slots,
            "enable_chunked_prefill": bool(config.chunked_prefill_enabled),
            "preemption_mode": config.preemption_mode,
            "policy": has(config, "policy") or "fcfs",
            "delay_factor": config.delay_factor,
        }
        pools = {
            "block_size": cache.block_size,
            "num_gpu_blocks": manager.num_total_gpu_blocks,
            "num_cpu_blocks": manager.num_total_cpu_blocks,
            "enable_prefix_caching": bool(cache.enable_prefix_caching),
        }
        if cache.sliding_window is not None:
            pools["sliding_window"] = cache.sliding_window
        return {"scheduler": scheduler, "cache": pools}

    def state(self) -> dict[str, Any]:
        manager = self.scheduler.block_manager
        state: dict[str, Any] = {
            "free": [manager.get_num_free_gpu_blocks(), manager.get_num_free_cpu_blocks()]
        }
        for queue in ("waiting", "running", "swapped"):
            state[queue] = [group.request_id for group in getattr(self.scheduler, queue)]
        return state

    def call_add_seq_group(self, original: Any, seq_group: Any) -> None:
        self.settle()
        name = f"request {seq_group.request_id} with"
        seqs = seq_group.get_seqs()
        refuse(
            name,
            {
                "LoRA": has(seq_group, "lora_request"),
                "a prompt adapter": has(seq_group, "prompt_adapter_request"),
                "encoder inputs": seq_group.is_encoder_decoder(),
                "multi-modal inputs": has(seq_group, "multi_modal_data"),
                "pooling": has(seq_group, "pooling_params"),
                "several sequences": len(seqs) != 1,
            },
        )
        args = {
            "request_id": seq_group.request_id,
            "seq_id": seqs[0].seq_id,
            "prompt": numbers(seqs[0].get_token_ids()),
            "arrival": seq_group.arrival_time,
        }
        if has(seq_group, "priority"):
            args["priority"] = seq_group.priority
        original(seq_group)
        self.file.write("add_request", args, {"state": self.state()})

    def call_abort_seq_group(self, original: Any, request_id: Any) -> None:
        self.settle()
        ids = {request_id} if isinstance(request_id, str) else set(request_id)
        queues = (self.scheduler.waiting, self.scheduler.running, self.scheduler.swapped)
        # vLLM frees them in the order of its queues; one by one, each has a state to note.
        for name in [g.request_id for queue in queues for g in queue if g.request_id in ids]:
            original(name)
            self.file.write("abort", {"request_id": name}, {"state": self.state()})

    def call_fork_seq(self, original: Any, parent_seq: Any, child_seq: Any) -> None:
        refuse(f"sequence {parent_seq.seq_id} with", {"a fork": True})

    def call_schedule(self, original: Any) -> Any:
        self.settle()
        module, now = sys.modules[type(self.scheduler).__module__], time.time()
        module.time, real = FrozenClock(now), module.time  # type: ignore[attr-defined]
        try:
            answer = original()
        finally:
            module.time = real  # type: ignore[attr-defined]
        metadata, out = answer[:2]
        caching = self.config["cache"]["enable_prefix_caching"]
        rows = []
        for meta, scheduled in zip(metadata, out.scheduled_seq_groups):
            tables = {str(seq_id): list(ids) for seq_id, ids in meta.block_tables.items()}
            row = {
                "request_id": meta.request_id,
                "is_prompt": meta.is_prompt,
                "do_sample": meta.do_sample,
                "token_chunk_size": scheduled.token_chunk_size,
                "block_tables": tables,
            }
            if caching:
                row["computed_block_nums"] = list(meta.computed_block_nums)
            rows.append(row)
            for seq in scheduled.seq_group.get_seqs():
                self.members.append((seq, seq.get_len(), meta.do_sample))
        self.step = {"now": now, "ret": {"scheduled": rows}}
        counts = ("num_prefill_groups", "num_batched_tokens", "preempted", "num_lookahead_slots")
        for name in (*counts, "running_queue_size"):
            self.step["ret"][name] = getattr(out, name)
        for name in ("blocks_to_swap_in", "blocks_to_swap_out", "blocks_to_copy"):
            self.step["ret"][name] = [list(pair) for pair in getattr(out, name)]
        self.step["ret"]["ignored"] = [group.request_id for group in out.ignored_seq_groups]
        self.step["ret"]["mid"] = self.state()
        return answer

    def call_get_and_reset_finished_requests_ids(self, original: Any) -> Any:
        ids = original()
        self.finished += ids[self.num_told :]
        self.num_told = 0
        return ids

    def settle(self) -> None:
        if self.step is None:
            return
        outputs, finish = {}, []
        for seq, length, samples in self.members:
            new = numbers(seq.get_token_ids()[length:])
            if samples and not new:
                raise NotServedError(
                    f"sequence {seq.seq_id} has no token yet, and the next call is here: what "
                    f"comes between a step and its output cannot be recorded"
                )
            if new:
                outputs[str(seq.seq_id)] = new
            if seq.is_finished():
                finish.append(seq.seq_id)
        waiting = self.scheduler._finished_requests_ids
        told = self.finished + list(waiting[self.num_told :])
        self.finished, self.num_told = [], len(waiting)
        ret = dict(self.step["ret"], finished_request_ids=told)
        args = {"now": self.step["now"], "outputs": outputs, "finish": finish}
        self.step, self.members = None, []
        self.file.write("step", args, {"ret": ret, "state": self.state()})


# -- V1 ------------------------------------------------------------------------------------------


class V1Recorder(Recorder):
    """Every call is noted at once; contents go by the name of the first request that had them."""

    format = "pagesim-v1-trace/1"
    methods = (
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

    def name_contents(self) -> None:
        for name, entry in self.requests.items():
            request, num_named = entry
            hashes = request.block_hashes
            for index in range(num_named, len(hashes)):
                self.labels.setdefault(hashes[index], f"{name}.{index}")
            entry[1] = len(hashes)

    def observed(self, ret: Any = None) -> dict[str, Any]:
        """What a line says behind its arguments."""
        self.name_contents()
        alive = self.scheduler.requests
        self.requests = {name: each for name, each in self.requests.items() if name in alive}
        state: dict[str, Any] = {
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
        return {"state": state} if ret is None else {"ret": ret, "state": state}

    def call_add_request(self, original: Any, request: Any) -> None:
        params, name = request.sampling_params, f"request {request.request_id} with"
        refuse(
            name,
            {
                "LoRA": has(request, "lora_request"),
                "encoder inputs (multi-modal)": has(request, "mm_features"),
                "prompt embeddings": has(request, "prompt_embeds") is not None,
                "pooling": has(request, "pooling_params"),
                "structured output": has(request, "structured_output_request"),
                "streaming input": has(request, "resumable"),
                "a repetition detector": has(params, "repetition_detection"),
                "an id that is taken": request.request_id in self.scheduler.requests,
            },
        )
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


def numbers(tokens: Any) -> list[int]:
    return [int(token) for token in tokens]


# -- around an engine ----------------------------------------------------------------------------


def version_of() -> str:
    return str(import_module("vllm").__version__)


def scheduler_of(engine: Any) -> Any:
    """The scheduler of an LLM, an engine or an engine core, or what is one itself."""
    for name in ("llm_engine", "engine", "engine_core", "engine_core", "scheduler"):
        engine = getattr(engine, name, engine)
    if isinstance(engine, list):
        refuse("an engine that uses", {"pipeline parallelism": len(engine) > 1})
        engine = engine[0]
    return engine


def recorder_of(engine: Any, file: TraceFile) -> Recorder:
    version, scheduler = version_of(), scheduler_of(engine)
    if version.startswith("0.6.") and hasattr(scheduler, "block_manager"):
        refuse("an engine that uses", {"speculative decoding": has(engine, SPECULATIVE)})
        return V0Recorder(scheduler, file)
    if version.startswith("0.33.") and hasattr(scheduler, "kv_cache_manager"):
        return V1Recorder(scheduler, file)
    if not version.startswith(("0.6.", "0.33.")):
        raise NotServedError(f"vLLM {version} is not known here, only {KNOWN}")
    raise NotServedError(
        f"no scheduler was found in {engine!r:.80} of vLLM {version}, which is looked for as "
        f"{KNOWN}. If the engine runs in another process, set VLLM_ENABLE_V1_MULTIPROCESSING=0 "
        f"before vLLM starts"
    )


SPECULATIVE = "llm_engine.speculative_config"


@contextmanager
def recording(engine: Any, path: str) -> Iterator[Recorder]:
    """Record what ``engine``'s scheduler does in the block; ``path`` ends in .jsonl or .jsonl.gz.

    ``engine`` is an LLM, an engine or a scheduler that nothing has used yet. NotServedError names
    what cannot be recorded. The file is written at the end, or not at all.
    """
    path = os.fspath(path)
    if not path.endswith((".jsonl", ".jsonl.gz")):
        raise NotServedError(f"the file must be named .jsonl or .jsonl.gz, not {path}")
    file = TraceFile(path)
    try:
        recorder = recorder_of(engine, file)
        recorder.start()
        try:
            yield recorder
            recorder.settle()
        finally:
            recorder.stop()
        if recorder.problem is not None:
            raise NotServedError(
                f"the run failed, so {path} is not written: {recorder.problem!r}"
            ) from recorder.problem
        file.finish(recorder.header())
    finally:
        file.close()


# -- a scheduler alone ---------------------------------------------------------------------------


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


def main() -> None:
    parser = argparse.ArgumentParser(description="Record vLLM's scheduler serving random requests.")
    parser.add_argument("path", help="the file to write, .jsonl or .jsonl.gz")
    for option, default in {
        "requests": 32,
        "seed": 0,
        "blocks": 24,
        "block-size": 16,
        "max-num-seqs": 8,
        "max-num-batched-tokens": 128,
        "max-model-len": 128,
    }.items():
        parser.add_argument("--" + option, type=int, default=default, help=f"default {default}")
    parser.add_argument("--no-caching", dest="caching", action="store_false")
    parser.add_argument("--async", dest="asynchronous", action="store_true", help="V1 only")
    options = parser.parse_args()
    try:
        version = version_of()
        if not version.startswith(("0.6.", "0.33.")):
            raise NotServedError(f"vLLM {version} is not known here, only {KNOWN}")
        scheduler, serve = (alone_v0 if version.startswith("0.6.") else alone_v1)(options)
        with recording(scheduler, options.path) as recorder:
            serve()
    except (NotServedError, OSError) as error:
        sys.exit(f"record_vllm: {error}")
    print(f"{options.path}: {recorder.file.num_ops} operations of vLLM {version}")


if __name__ == "__main__":
    main()
