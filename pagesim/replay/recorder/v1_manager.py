"""vLLM V1's KV cache manager, under a scheduler that is not recorded itself."""

from __future__ import annotations

from inspect import signature
from typing import Any

from pagesim.replay.recorder.common import TraceFile, numbers, refuse
from pagesim.replay.recorder.v1 import V1Recorder, refuse_v1_request

OPTIONS = {
    "num_lookahead_tokens": 0,
    "full_sequence_must_fit": False,
    "reserved_blocks": 0,
    "has_scheduled_reqs": True,
}
"""What a trace may say of a call of allocate_slots, and what is meant where it does not."""
KNOWN_ARGUMENTS = ("request", "num_new_tokens", "num_new_computed_tokens", "new_computed_blocks")


class V1ManagerRecorder(V1Recorder):
    """Notes calls, and before each what the scheduler has done to the request in the meantime."""

    kind = "kv_cache_manager"
    methods = (
        "get_computed_blocks",
        "allocate_slots",
        "free",
        "cache_blocks",
        "remove_skipped_blocks",
        "evict_blocks",
        "reset_prefix_cache",
    )

    def __init__(self, scheduler: Any, file: TraceFile) -> None:
        super().__init__(scheduler, file)
        self.subject = self.manager
        self.counts: dict[str, list[int]] = {}
        """Of each request: its tokens, and those that are computed, as far as they are noted."""

    def not_served(self) -> dict[str, Any]:
        return {**super().not_served(), "asynchronous scheduling": self.is_async()}

    def config_of(self) -> dict[str, Any]:
        both = super().config_of()
        limits, cache = both["scheduler"], both["cache"]
        return {
            "num_gpu_blocks": cache["num_gpu_blocks"],
            "block_size": cache["block_size"],
            "max_model_len": limits["max_model_len"],
            "enable_caching": cache["enable_prefix_caching"],
            "sliding_window": cache["sliding_window"],
            "watermark": limits["watermark"],
            "max_in_flight_tokens": limits["max_num_batched_tokens"],
            "retention_interval": cache["retention_interval"],
        }

    def note(self, op: str, ret: Any = None, **args: Any) -> None:
        tables = {name: list(self.manager.get_block_ids(name)[0]) for name in self.counts}
        observed = {} if ret is None else {"ret": ret}
        self.file.write(op, args, dict(observed, state={"tables": tables, **self.pool_state()}))

    def meet(self, request: Any) -> str:
        """Note what is new about a request; its name."""
        name: str = request.request_id
        if name not in self.counts:
            refuse_v1_request(request)
            prompt = numbers(request.prompt_token_ids)
            args: dict[str, Any] = {"request": name, "prompt": prompt}
            if request.cache_salt:
                args["salt"] = request.cache_salt
            if request.skip_reading_prefix_cache:
                args["skip_reading"] = True
            self.counts[name], self.requests[name] = [len(prompt), 0], [request, 0]
            self.name_contents(name)
            self.note("new_request", **args)
        tokens, computed = self.counts[name]
        if request.num_computed_tokens > computed:
            self.counts[name][1] = request.num_computed_tokens
            self.note("advance", request=name, n=request.num_computed_tokens - computed)
        if request.num_tokens > tokens:
            self.counts[name][0] = request.num_tokens
            self.name_contents(name)
            new = list(request.all_token_ids)[tokens:]
            self.note("append", request=name, tokens=numbers(new))
        return name

    def call_get_computed_blocks(
        self, original: Any, request: Any, max_cache_hit_length: int | None = None
    ) -> Any:
        refuse("a look-up with", {"a limit of its own": max_cache_hit_length is not None})
        name, found = self.meet(request), original(request)
        ret = {"blocks": list(found[0].get_block_ids()[0]), "num_tokens": found[1]}
        self.note("computed", ret, request=name)
        return found

    def call_allocate_slots(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        given = signature(original).bind(*args, **kwargs).arguments
        more = {key: value for key, value in given.items() if key not in KNOWN_ARGUMENTS}
        refuse("a call of allocate_slots with", {k: v for k, v in more.items() if k not in OPTIONS})
        name, blocks = self.meet(given["request"]), original(*args, **kwargs)
        told = {key: more[key] for key in OPTIONS if more.get(key, OPTIONS[key]) != OPTIONS[key]}
        if given.get("new_computed_blocks") is not None:
            told["use_computed"] = True
        if blocks is not None:
            self.counts[name][1] += given.get("num_new_computed_tokens", 0)
        ret = {"blocks": None if blocks is None else list(blocks.get_block_ids()[0])}
        self.note("allocate", ret, request=name, num_new_tokens=given["num_new_tokens"], **told)
        return blocks

    def call_free(self, original: Any, request: Any) -> None:
        if request.request_id not in self.counts:  # it has never asked for anything
            original(request)
            return
        name = self.meet(request)
        original(request)
        if request.is_finished():
            del self.counts[name], self.requests[name]
            self.note("free", request=name)
        else:
            self.counts[name][1] = 0
            self.note("preempt", request=name)

    def call_cache_blocks(self, original: Any, request: Any, num_computed_tokens: int) -> None:
        name = self.meet(request)
        original(request, num_computed_tokens)
        self.note("cache_blocks", request=name, num_tokens=num_computed_tokens)

    def call_remove_skipped_blocks(
        self, original: Any, request_id: str, total_computed_tokens: int
    ) -> None:
        original(request_id, total_computed_tokens)
        self.note("remove_skipped", request=request_id, num_tokens=total_computed_tokens)

    def call_evict_blocks(self, original: Any, block_ids: Any) -> None:
        original(block_ids)
        self.note("evict", ids=sorted(block_ids))

    def call_reset_prefix_cache(self, original: Any, *more: Any, **options: Any) -> Any:
        done = original(*more, **options)
        self.note("reset_prefix_cache", bool(done))
        return done
