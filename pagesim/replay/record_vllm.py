"""Records what vLLM's scheduler does with your requests, for `pagesim replay`.

This is one file that needs vLLM 0.33 and nothing else: copy it beside your program.

Around an engine in this process (set VLLM_ENABLE_V1_MULTIPROCESSING=0 before vLLM starts), before
its first request:

    from record_vllm import recording

    llm = vllm.LLM(model)
    with recording(llm, "run.jsonl"):
        llm.generate(prompts)

In a server, whose engine is a process of its own:

    RECORD_VLLM=run.jsonl vllm serve MODEL --scheduler-cls record_vllm.recorded_scheduler

Without a model, the scheduler alone is given random requests:

    python record_vllm.py run.jsonl --requests 32 --blocks 24

Each call is a line of the file as soon as it has returned, so a run that is killed leaves all lines
up to there. A line holds what has changed, so its cost does not depend on the pool's size. A token
is written as a keyed hash of the prompt up to it, with a key that is thrown away: the file shows
where prompts are equal, which is what prefix caching sees, and not what they say. ``plain_tokens``
writes the tokens. What the file has no place for, LoRA, say, ends the recording with its name.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import secrets
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

Scheduler = Any  # a class of vLLM, as are the next two
Request = Any
Block = Any
Vllm = Any  # any other
Method = Callable[..., Vllm]
Call = list[str | int | list[int]]
Line = dict[str, Any]  # what a line of the file holds, or a part of it that has names

FORMAT = "pagesim-v1-trace/2"
RELEASE = "0.33."
RESET = "reset_prefix_cache"
SCHEDULER = ("add_request", "finish_requests", "schedule", "update_from_output", RESET)
CACHES = ("cache_full_blocks", "cache_partial_block")
POOL = ("get_new_blocks", "touch", "free_blocks", *CACHES, "evict_blocks", RESET)
"""Every way into either that changes a queue or a block."""

KINDS = dict.fromkeys(("FullAttentionSpec", "MLAAttentionSpec"), "full")
KINDS |= {"SlidingWindowSpec": "window", "MambaSpec": "mamba"}
CACHED = ("request", "blocks", "num_cached_blocks", "num_full_blocks", "size", "kv_cache_group_id")
STATES = ("mamba_cache_mode", "num_prefill_checkpoint_blocks", "prefill_checkpoint_alignment")


class NotServedError(ValueError):
    """The run, or this vLLM, cannot be recorded; the message names what it has."""


class Tokens:
    """Tokens as the file has them: numbers that are equal where the texts up to them are equal.

    A number is 48 bits of BLAKE2b over all tokens of the request so far, keyed with 32 random bytes
    that are not kept. With ``plain`` it is the token.
    """

    def __init__(self, plain: bool = False) -> None:
        self._plain = plain
        self._key = secrets.token_bytes(32)
        self._prefixes: dict[str, hashlib.blake2b] = {}

    def begin(self, name: str, prompt: Iterable[int]) -> list[int]:
        """The numbers of a new request's prompt."""
        prefix = self._prefixes[name] = hashlib.blake2b(key=self._key, digest_size=6)
        return self._numbers(prefix, prompt)

    def sampled(self, name: str, tokens: Iterable[int]) -> list[int]:
        """The numbers of tokens that may follow."""
        prefix = self._prefixes.get(name)
        return [] if prefix is None else self._numbers(prefix.copy(), tokens)

    def append(self, name: str, tokens: Iterable[int]) -> None:
        """These tokens do follow."""
        self._numbers(self._prefixes[name], tokens)

    def end(self, name: str) -> None:
        """A request has ended."""
        self._prefixes.pop(name, None)

    def text(self, text: str | None) -> str | None:
        """A cache salt, which may name a customer."""
        if not text or self._plain:
            return text
        return hashlib.blake2b(text.encode(), key=self._key, digest_size=6).hexdigest()

    def _numbers(self, prefix: hashlib.blake2b, tokens: Iterable[int]) -> list[int]:
        if self._plain:
            return [int(token) for token in tokens]
        numbers = []
        for token in tokens:
            prefix.update(int(token).to_bytes(8, "big", signed=True))
            numbers.append(int.from_bytes(prefix.digest(), "big"))
        return numbers


class PoolCalls:
    """Stands in front of a BlockPool and keeps what it is asked to change.

    ``pool``: ``["new", ids]``, ``["touch", ids]``, ``["free", ids]``, … in their order; ``cached``:
    ``[request, first, ids]``, the blocks of its table, from entry ``first``, whose content is found
    from now on; their group follows if it is not 0. With the state at the beginning these are the
    state at any time.
    """

    def __init__(self, pool: Vllm) -> None:
        self._pool = pool
        self._calls, self._cached = list[Call](), list[Call]()
        for name in POOL:
            setattr(pool, name, self._noting(getattr(self, "_" + name), getattr(pool, name)))

    def take(self) -> dict[str, list[Call]]:
        """What has come since the last time."""
        taken = {"pool": self._calls, "cached": self._cached}
        self._calls, self._cached = list[Call](), list[Call]()
        return taken

    def stop(self) -> None:
        """Leave the pool as it was."""
        for name in POOL:
            delattr(self._pool, name)

    def _noting(self, noted: Method, original: Method) -> Method:
        return lambda *args, **options: noted(original, *args, **options)

    def _get_new_blocks(self, original: Method, num_blocks: int) -> Vllm:
        blocks = original(num_blocks)
        if blocks:
            self._calls.append(["new", ids_of(blocks)])
        return blocks

    def _touch(self, original: Method, blocks: Iterable[Block]) -> None:
        original(blocks)
        if ids := [block.block_id for block in blocks if not block.is_null]:
            self._calls.append(["touch", ids])

    def _free_blocks(self, original: Method, ordered_blocks: Iterable[Block]) -> None:
        blocks = list(ordered_blocks)
        original(blocks)
        if ids := [block.block_id for block in blocks if not block.is_null]:
            self._calls.append(["free", ids])

    def _cache_full_blocks(self, original: Method, *args: Vllm, **options: Vllm) -> None:
        given = {**dict(zip(CACHED, args, strict=False)), **options}
        start, group = given["num_cached_blocks"], given.get("kv_cache_group_id", 0)
        full = given["blocks"][start : given["num_full_blocks"]]
        new = [block for block in full if block.block_hash is None]
        original(*args, **options)
        if ids := [block.block_id for block in new if block.block_hash is not None]:
            more = [group] if group else []
            self._cached.append([given["request"].request_id, start, ids, *more])

    def _cache_partial_block(self, original: Method, *args: Vllm, **options: Vllm) -> Vllm:
        found = original(*args, **options)
        blocks = [each for each in (*args, *options.values()) if hasattr(each, "block_id")]
        self._calls.append(["partial", ids_of(blocks)])
        return found

    def _evict_blocks(self, original: Method, block_ids: Iterable[int]) -> None:
        ids = list(block_ids)
        original(set(ids))
        self._calls.append(["evict", sorted(ids)])

    def _reset_prefix_cache(self, original: Method) -> bool:
        done: bool = original()
        self._calls.append(["reset", done])
        return done


def ids_of(blocks: Iterable[Block]) -> list[int]:
    """Their ids."""
    return [block.block_id for block in blocks]


def told(ids: Iterable[Iterable[int]]) -> list[int] | list[list[int]]:
    """A request's blocks: a list for each KV cache group, or the list of the only one."""
    lists = [list(group) for group in ids]
    return lists[0] if len(lists) == 1 else lists


def request_row(request: Request) -> list[str | int]:
    """How far a request is."""
    counts = request.num_computed_tokens, request.num_tokens, request.num_preemptions
    return [request.status.name, *counts]


def whole_state(scheduler: Scheduler) -> Line:
    """All of the scheduler and the pool: at the end, what the changes must have led to."""
    manager, pool = scheduler.kv_cache_manager, scheduler.kv_cache_manager.block_pool
    alive = scheduler.requests
    return {
        "waiting": [request.request_id for request in scheduler.waiting],
        "running": [request.request_id for request in scheduler.running],
        "reqs": {name: request_row(request) for name, request in alive.items()},
        "tables": {name: told(manager.get_block_ids(name)) for name in alive},
        "free": ids_of(pool.free_block_queue.get_all_free_blocks()),
        "ref": {str(b.block_id): b.ref_cnt for b in pool.blocks if b.ref_cnt and not b.is_null},
        "cached": [block.block_id for block in pool.blocks if block.block_hash is not None],
    }


class Recorder:
    """Stands in front of a scheduler's methods; each call becomes a line of the file.

    NotServedError if this scheduler cannot be recorded; nothing has been written then.
    """

    def __init__(self, scheduler: Scheduler, path: str, plain_tokens: bool = False) -> None:
        if not path.endswith(".jsonl"):
            raise NotServedError(f"the file must be named .jsonl, not {path}: gzip it afterwards")
        self.scheduler, self.path, self.num_ops = scheduler, path, 0
        self.problem: str | None = None
        """Why the recording ended early, if it did."""
        self._tokens, self._inside = Tokens(plain_tokens), False
        refuse("an engine that uses", engine_features(scheduler))
        header: Line = {"reference": f"vLLM {version_of()}", "format": FORMAT, "kind": "scheduler"}
        header["config"] = config_of(scheduler)
        try:
            self._file = open(path, "xb", buffering=0)  # noqa: SIM115
        except FileExistsError:
            raise NotServedError(
                f"{path} exists, and may be all that is left of a run: name another file"
            ) from None
        self._write(header)
        self._pool = PoolCalls(scheduler.kv_cache_manager.block_pool)
        for name in SCHEDULER:
            setattr(scheduler, name, self._noting(name, getattr(scheduler, name)))

    def end(self, why: str | None = None, whole: bool = True) -> None:
        """Leave the scheduler as it was, and write the last line; ``whole``: with all the state."""
        if self._file.closed:
            return
        self.problem = why
        for name in SCHEDULER:
            delattr(self.scheduler, name)
        self._pool.stop()
        args = {} if why is None else {"why": why}
        line: Line = {"i": self.num_ops, "op": "end", "args": args}
        if whole:
            line["state"] = whole_state(self.scheduler)
        self._write(line)
        self._file.close()

    def _write(self, line: Line) -> None:
        """One line, with the operating system when this returns.

        A disk that is full ends the recording, and nothing else.
        """
        text = memoryview(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        try:
            while text:
                text = text[self._file.write(text) or 0 :]
        except OSError as error:
            self._file.close()
            self.problem = f"it cannot be written: {error}"
            print(f"record_vllm: {self.path} ends here: {self.problem}", file=sys.stderr)

    def _noting(self, name: str, original: Method) -> Method:
        noted = getattr(self, "_" + name)

        def call(*args: Vllm, **options: Vllm) -> Vllm:
            if self._inside or self._file.closed:  # a call of the scheduler to itself
                return original(*args, **options)
            self._inside = True
            try:
                return noted(original, *args, **options)
            except NotServedError as refused:  # the server goes on without us
                self.end(str(refused))
                print(f"record_vllm: {self.path} ends here: {refused}", file=sys.stderr)
                return original(*args, **options)
            except BaseException as error:  # what vLLM has done by then no file can tell
                self.end(f"{name} raised {type(error).__name__}: {error}"[:500], whole=False)
                raise
            finally:
                self._inside = False

        return call

    def _note(self, op: str, args: Line, names: Iterable[str | int], ret: Any = None) -> None:
        """A line: the call, what it answered, and what has changed of requests and pool."""
        line: Line = {"i": self.num_ops, "op": op, "args": args}
        if ret is not None:
            line["ret"] = ret
        line["state"] = changes(self.scheduler, self._pool, names)
        self._write(line)
        self.num_ops += 1

    def _add_request(self, original: Method, request: Request) -> None:
        name = request.request_id
        refuse(f"request {name} with", request_features(request))
        refuse(f"request {name} with", {"an id that is taken": name in self.scheduler.requests})
        args: Line = {
            "request": name,
            "prompt": self._tokens.begin(name, request.prompt_token_ids),
            "max_tokens": request.max_tokens,
            "arrival": request.arrival_time,
        }
        optional = {
            "priority": request.priority,
            "salt": self._tokens.text(request.cache_salt),
            "skip_reading": bool(request.skip_reading_prefix_cache),
        }
        args.update({key: value for key, value in optional.items() if value})
        original(request)
        self._note("add", args, [name])

    def _finish_requests(self, original: Method, request_ids: Vllm, status: Vllm) -> Vllm:
        ended = original(request_ids, status)
        # In the order in which vLLM has freed them, which is a set's.
        if names := [request.request_id for request in ended]:
            self._note("abort", {"requests": names}, names, names)
        return ended

    def _schedule(self, original: Method, throttle_prefills: bool = False) -> Vllm:
        scheduler = self.scheduler
        is_paused = has(scheduler, "pause_state.name") not in (None, "UNPAUSED")
        refuse("a step with", {"a paused scheduler": is_paused})
        refuse("a step with", {"throttled prefills (data parallelism)": throttle_prefills})
        preempted = {r.request_id for r in scheduler.waiting if r.status.name == "PREEMPTED"}
        output = original()
        ret = told_of_step(output, preempted, scheduler.requests)
        for name in ret["finished"]:
            if name not in scheduler.requests:
                self._tokens.end(name)
        self._note("schedule", {}, [*output.num_scheduled_tokens, *ret["preempted"]], ret)
        return output

    def _update_from_output(self, original: Method, scheduler_output: Vllm, output: Vllm) -> Vllm:
        scheduled = list(scheduler_output.num_scheduled_tokens)
        alive = {name: self.scheduler.requests.get(name) for name in scheduled}
        before = {name: each.num_tokens for name, each in alive.items() if each is not None}
        sampled, tokens = output.sampled_token_ids, {}
        for name, index in output.req_id_to_index.items():
            if sampled and (numbers := self._tokens.sampled(name, sampled[index])):
                tokens[name] = numbers
        answer = original(scheduler_output, output)
        for name, length in before.items():
            if new := list(alive[name].all_token_ids[length:]):
                self._tokens.append(name, new)
        outputs = [each for client in answer.values() for each in client.outputs]
        outputs.sort(key=lambda each: scheduled.index(each.request_id))
        ends = [each.finish_reason for each in outputs]
        ret = [
            [each.request_id, len(each.new_token_ids), None if end is None else str(end)]
            for each, end in zip(outputs, ends, strict=True)
        ]
        # Which number the stop token has is known only now.
        stops = {name: tokens[name][n - 1] for name, n, why in ret if why == "stop" and n}
        args = {"tokens": tokens, **({"stops": stops} if stops else {})}
        self._note("update", args, scheduled, ret)
        return answer

    def _reset_prefix_cache(
        self, original: Method, reset_running_requests: bool = False, *more: Vllm, **options: Vllm
    ) -> Vllm:
        preempted = self.scheduler.running if reset_running_requests else []
        names = [request.request_id for request in preempted]
        done = original(reset_running_requests, *more, **options)
        self._note(RESET, {"running": bool(reset_running_requests)}, names, bool(done))
        return done


def changes(scheduler: Scheduler, pool: PoolCalls, names: Iterable[str | int]) -> Line:
    """What a call has changed: the rows of the requests it concerns, queues' lengths, the pool."""
    alive = scheduler.requests
    return {
        "reqs": {name: request_row(alive[name]) for name in names if name in alive},
        "queued": [len(scheduler.waiting), len(scheduler.running)],
        **pool.take(),
    }


def told_of_step(output: Vllm, preempted: set[str], requests: dict[str, Request]) -> Line:
    """What a step tells the workers, alike for both model runners."""
    known, new = output.scheduled_cached_reqs, []
    columns = known.req_ids, known.new_block_ids, known.num_computed_tokens, known.num_output_tokens
    rows = [
        [name, None if ids is None else told(ids), computed, name in known.resumed_req_ids, n]
        for name, ids, computed, n in zip(*columns, strict=True)
    ]
    for each in output.scheduled_new_reqs:
        row = [each.req_id, told(each.block_ids), each.num_computed_tokens]
        if each.req_id in preempted:  # model runner V2 is told of these as if they were new
            rows.append([*row, True, requests[each.req_id].num_output_tokens])
        else:
            new.append(row)
    return {
        "new": new,
        "cached": rows,
        "tokens": [[name, n] for name, n in output.num_scheduled_tokens.items()],
        "total": output.total_num_scheduled_tokens,
        "preempted": sorted(output.preempted_req_ids or ()),
        "finished": sorted(output.finished_req_ids),
    }


# -- what a scheduler is, and what the file has no place for ---------------------------------------


def engine_features(scheduler: Scheduler) -> Line:
    """What cannot be recorded, by name: a true value says that the engine has it."""
    config, pool = scheduler.vllm_config, scheduler.kv_cache_manager.block_pool
    limits, specs = scheduler.scheduler_config, specs_of(scheduler)
    other = [type(spec).__name__ for spec in specs if type(spec).__name__ not in KINDS]
    steps, budget = 2 if is_async(scheduler) else 1, limits.max_num_batched_tokens
    hash_size, is_one = has(scheduler, "hash_block_size"), len(specs) == 1
    aligned = {spec.block_size for spec in specs if has(spec, "mamba_cache_mode") == "align"}
    sizes = {scheduler.block_size} if is_one else aligned
    return {
        "LoRA": scheduler.lora_config,
        "speculative decoding": has(config, "speculative_config"),
        "a KV connector": has(scheduler, "connector"),
        "an encoder cache connector": has(scheduler, "ec_connector"),
        "encoder inputs (an encoder-decoder model)": has(scheduler, "is_encoder_decoder"),
        "no KV cache groups": not specs,
        f"a {', a '.join(other)}": other,
        "states alone": is_one and has(specs[0], "mamba_cache_mode"),
        "pooling": has(config, "model_config.runner_type") == "pooling",
        "diffusion": has(config, "model_config.is_diffusion"),
        "context parallelism": (has(scheduler, "dcp_world_size") or 1) > 1
        or (has(scheduler, "pcp_world_size") or 1) > 1,
        "pipeline parallelism": (has(config, "parallel_config.pipeline_parallel_size") or 1) > 1,
        "hashes of other blocks than the cache's": hash_size is not None and sizes - {hash_size},
        "max_num_active_seqs": has(limits, "max_num_active_seqs"),
        "prefill_schedule_interval": (has(limits, "prefill_schedule_interval") or 1) > 1,
        "max_num_scheduled_tokens": has(limits, "max_num_scheduled_tokens") not in (None, budget),
        "more steps in flight than two": has(config, "max_in_flight_tokens")
        not in (None, steps * budget),
        "extra_retained_tokens": any(has(spec, "extra_retained_tokens") for spec in specs),
        "blocks or requests from before the recording (record a new engine)": (
            scheduler.requests
            or ids_of(pool.free_block_queue.get_all_free_blocks())
            != list(range(1, pool.num_gpu_blocks))
            or any(block.block_hash is not None for block in pool.blocks)
        ),
    }


def request_features(request: Request) -> Line:
    """The same of a request."""
    return {
        "LoRA": has(request, "lora_request"),
        "encoder inputs (multi-modal)": has(request, "mm_features"),
        "prompt embeddings": has(request, "prompt_embeds") is not None,
        "pooling": has(request, "pooling_params"),
        "structured output": has(request, "structured_output_request"),
        "streaming input": has(request, "resumable"),
        "a repetition detector": has(request, "sampling_params.repetition_detection"),
    }


def config_of(scheduler: Scheduler) -> Line:
    """The configuration from which `pagesim replay` makes a scheduler."""
    limits, groups = scheduler.scheduler_config, scheduler.kv_cache_config
    specs, manager = specs_of(scheduler), scheduler.kv_cache_manager
    layers: Line = {"groups": [group_of(spec) for spec in specs]}
    layers["hash_block_size"] = manager.block_pool.hash_block_size
    if len(specs) == 1:
        window = group_of(specs[0]).get("sliding_window")
        layers = {"block_size": scheduler.block_size, "sliding_window": window}
    numbers = "max_num_seqs", "max_num_batched_tokens", "long_prefill_token_threshold"
    flags = "enable_chunked_prefill", "scheduler_reserve_full_isl", f"{numbers[2]}_adaptive"
    return {
        "scheduler": {
            **{name: getattr(limits, name) for name in numbers},
            **{name: bool(has(limits, name)) for name in flags},
            "max_model_len": scheduler.max_model_len,
            "policy": str(has(limits.policy, "value") or limits.policy),
            "watermark": float(limits.watermark),
            "async_scheduling": is_async(scheduler),
        },
        "cache": {
            **layers,
            "num_gpu_blocks": manager.block_pool.num_gpu_blocks,
            "enable_prefix_caching": bool(manager.enable_caching),
            "retention_interval": groups.prefix_cache_retention_interval,
        },
    }


def specs_of(scheduler: Scheduler) -> list[Vllm]:
    """What the layers of each KV cache group are."""
    return [group.kv_cache_spec for group in scheduler.kv_cache_config.kv_cache_groups]


def group_of(spec: Vllm) -> Line:
    """A KV cache group as the file has it."""
    kind = KINDS[type(spec).__name__]
    names = {"window": ("sliding_window",), "mamba": STATES}.get(kind, ())
    more = {name: has(spec, name) for name in names if has(spec, name) is not None}
    return {"kind": kind, "block_size": spec.block_size, **more}


def is_async(scheduler: Scheduler) -> bool:
    """Whether steps are scheduled before the last one has answered."""
    return "AsyncScheduler" in [each.__name__ for each in type(scheduler).__mro__]


def refuse(what: str, features: Line) -> None:
    """NotServedError for the first feature that is used."""
    for name, value in features.items():
        if value:
            raise NotServedError(f"{what} {name} cannot be recorded: the trace has no place for it")


def has(thing: Vllm, path: str) -> Vllm:
    """The attribute at ``a.b.c``, None where there is none: releases differ in what they have."""
    for name in path.split("."):
        thing = getattr(thing, name, None)
    return thing


def version_of() -> str:
    """vLLM's release; NotServedError where it is not installed or not known here."""
    try:
        version = str(import_module("vllm").__version__)
    except ImportError as error:
        raise NotServedError(
            f"vLLM cannot be imported by {sys.executable} ({error}): run this with the Python that "
            f"serves your model"
        ) from None
    if not version.startswith(RELEASE):
        raise NotServedError(f"vLLM {version} is not known here, only {RELEASE}x")
    return version


# -- around an engine ------------------------------------------------------------------------------


def scheduler_of(engine: Vllm) -> Scheduler:
    """The scheduler of an LLM, an engine or an engine core, or what is one itself."""
    given, version = engine, version_of()
    for name in ("llm_engine", "engine", "engine_core", "engine_core", "scheduler"):
        engine = getattr(engine, name, engine)
    if not hasattr(engine, "kv_cache_manager"):
        raise NotServedError(
            f"no scheduler was found in {given!r:.80} of vLLM {version}. If the engine runs in "
            f"another process, set VLLM_ENABLE_V1_MULTIPROCESSING=0 before vLLM starts, or give "
            f"--scheduler-cls record_vllm.recorded_scheduler"
        )
    return engine


@contextmanager
def recording(engine: Vllm, path: Any, plain_tokens: bool = False) -> Iterator[Recorder]:
    """Record what ``engine`` does in the block; ``path`` ends in .jsonl and does not exist yet.

    ``engine`` is an LLM, an engine or a scheduler that nothing has used yet. NotServedError names
    what cannot be recorded; what came before it is in the file.
    """
    recorder = Recorder(scheduler_of(engine), os.fspath(path), plain_tokens)
    try:
        yield recorder
    except BaseException as error:
        recorder.end(f"the program raised {type(error).__name__}")
        raise
    recorder.end(recorder.problem)
    if recorder.problem is not None:
        raise NotServedError(f"{path} ends at operation {recorder.num_ops}: {recorder.problem}")


def recorded_scheduler(*args: Vllm, **options: Vllm) -> Scheduler:
    """vLLM's own scheduler, recorded to the file that RECORD_VLLM names; for --scheduler-cls.

    RECORD_VLLM_PLAIN=1 writes the tokens themselves.
    """
    config = options["vllm_config"] if "vllm_config" in options else args[0]
    name = "async_scheduler.AsyncScheduler"
    if not config.scheduler_config.async_scheduling:
        name = "scheduler.Scheduler"
    module, kind = name.split(".")
    scheduler = getattr(import_module("vllm.v1.core.sched." + module), kind)(*args, **options)
    if path := os.environ.get("RECORD_VLLM"):
        plain = os.environ.get("RECORD_VLLM_PLAIN", "") not in ("", "0")
        scheduler.recorder = Recorder(scheduler, path, plain)
    return scheduler


# -- a scheduler alone, with random requests -------------------------------------------------------

MODEL: Line = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 1000}
MODEL |= {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 1}
MODEL |= {"num_attention_heads": 2, "num_key_value_heads": 2}
"""What vLLM asks of a model before it will make a scheduler."""


def scheduler_alone(options: argparse.Namespace) -> Scheduler:
    """vLLM's scheduler over a pool of so many blocks, without a model."""
    config, interface = import_module("vllm.config"), import_module("vllm.v1.kv_cache_interface")
    longest = options.max_model_len
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "config.json"), "w") as file:
            json.dump(dict(MODEL, max_position_embeddings=longest), file)
        model = config.ModelConfig(
            model=folder, skip_tokenizer_init=True, dtype="float16", max_model_len=longest
        )
        cache = config.CacheConfig(
            block_size=options.block_size, enable_prefix_caching=options.caching
        )
        sizes = {name: getattr(options, name) for name in ("max_num_seqs", "max_model_len")}
        sizes["max_num_batched_tokens"] = options.max_num_batched_tokens
        limits = config.SchedulerConfig(
            **sizes, enable_chunked_prefill=True, is_encoder_decoder=False
        )
        whole = config.VllmConfig(model_config=model, cache_config=cache, scheduler_config=limits)
    cache.num_gpu_blocks = options.blocks
    limits.async_scheduling = options.asynchronous
    layer = {"block_size": options.block_size, "num_kv_heads": 2, "head_size": 32}
    specs = [interface.FullAttentionSpec(**layer, dtype=model.dtype)]
    if window := has(options, "window"):  # a hybrid model
        specs += [interface.SlidingWindowSpec(**layer, dtype=model.dtype, sliding_window=window)]
    groups = [interface.KVCacheGroupSpec([f"layer {i}"], spec) for i, spec in enumerate(specs)]
    pools = interface.KVCacheConfig(options.blocks, [], groups)
    pools.prefix_cache_retention_interval = 0
    structured = import_module("vllm.v1.structured_output").StructuredOutputManager(whole)
    given = {"vllm_config": whole, "kv_cache_config": pools, "block_size": options.block_size}
    return recorded_scheduler(**given, structured_output_manager=structured)


def serve(scheduler: Scheduler, options: argparse.Namespace) -> None:
    """Random requests, every second of which begins with the same tokens."""
    hashing = import_module("vllm.v1.core.kv_cache_utils")
    sha256 = import_module("vllm.utils.hashing").sha256
    hashing.init_none_hash(sha256)
    hasher = hashing.get_request_block_hasher(options.block_size, sha256)
    make = import_module("vllm.v1.request").Request
    params = import_module("vllm.sampling_params").SamplingParams
    outputs = import_module("vllm.v1.outputs")
    rng, number, idle, in_flight = random.Random(options.seed), 0, 0, list[Vllm]()
    longest = min(options.max_model_len, (options.blocks - 1) * options.block_size) // 2
    shared = [rng.randrange(1000) for _ in range(longest // 2)]
    while idle < 3:
        for _ in range(min(rng.randrange(3), options.requests - number)):
            prompt = [rng.randrange(1000) for _ in range(rng.randint(1, longest))]
            request = make(
                request_id=str(number),
                prompt_token_ids=(shared + prompt)[:longest] if number % 2 else prompt,
                sampling_params=params(max_tokens=rng.randint(1, longest), ignore_eos=True),
                pooling_params=None,
                arrival_time=float(number),
                block_hasher=hasher if options.caching else None,
            )
            scheduler.add_request(request)
            number += 1
        step = scheduler.schedule()
        names = list(step.num_scheduled_tokens)
        chunks = [scheduler.requests[name].is_prefill_chunk for name in names]
        tokens = [[] if is_chunk else [rng.randrange(1000)] for is_chunk in chunks]
        index = {name: place for place, name in enumerate(names)}
        in_flight.append((step, outputs.ModelRunnerOutput(names, index, tokens)))
        if len(in_flight) > options.asynchronous:
            scheduler.update_from_output(*in_flight.pop(0))
        idle = 0 if names or number < options.requests else idle + 1


def main() -> None:
    """Record a scheduler alone, without a model."""
    parser = argparse.ArgumentParser(description="Record vLLM's scheduler serving random requests.")
    parser.add_argument("path", help="the file to write, .jsonl")
    numbers = {"requests": 32, "seed": 0, "blocks": 24, "block-size": 16, "max-num-seqs": 8}
    numbers |= {"max-num-batched-tokens": 128, "max-model-len": 128}
    for option, default in numbers.items():
        parser.add_argument("--" + option, type=int, default=default, help=f"default {default}")
    parser.add_argument("--window", type=int, help="layers with such a window beside full ones")
    parser.add_argument("--no-caching", dest="caching", action="store_false")
    parser.add_argument("--async", dest="asynchronous", action="store_true")
    parser.add_argument("--plain-tokens", action="store_true", help="write the tokens themselves")
    options = parser.parse_args()
    os.environ.pop("RECORD_VLLM", None)
    try:
        version = version_of()
        scheduler = scheduler_alone(options)
        with recording(scheduler, options.path, options.plain_tokens) as recorder:
            serve(scheduler, options)
    except (NotServedError, OSError) as error:
        sys.exit(f"record_vllm: {error}")
    print(f"{options.path}: {recorder.num_ops} operations of vLLM {version}")


if __name__ == "__main__":
    main()
