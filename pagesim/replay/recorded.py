"""The operations of a recording that `record_vllm` has made of a user's own vLLM."""

from collections.abc import Iterable, Sequence
from typing import Any

from pagesim import v1
from pagesim.files.jsonl import JsonObject
from pagesim.journal.effects import Name
from pagesim.replay.block_layer import Ids
from pagesim.replay.record_vllm import PoolCalls, changes, told, whole_state
from pagesim.replay.v1 import Rows, V1SchedulerPlayer
from pagesim.replay.v1_groups import with_specs


class RecordedSchedulerPlayer(V1SchedulerPlayer):
    """What `record_vllm` has noted of a user's own scheduler: changes, and all of it at the end."""

    def start(self, config: JsonObject) -> None:
        cache = config["cache"]
        if "groups" in cache:
            config = config | {"cache": with_specs(cache)}
        super().start(config)
        self.block_size = cache.get("hash_block_size", self.block_size)
        self._pool = PoolCalls(self.scheduler.kv_cache_manager.block_pool)
        self._names: Iterable[Name] = ()
        self._ended = False

    def told(self, ids: Sequence[list[int]]) -> Ids:
        return told(ids)

    def name_contents(self, request: v1.Request) -> None:
        """A change names the request and the place of a block: contents need no names."""

    def name_all(self) -> None:
        """Nor is a request kept that has ended."""
        for name in self._names:
            if name not in self.scheduler.requests:
                self.requests.pop(name, None)

    def state(self) -> JsonObject:
        if self._ended:
            return whole_state(self.scheduler)
        return changes(self.scheduler, self._pool, self._names)

    def op_add(self, request: str, prompt: list[int], **options: Any) -> None:
        self._names = [request]
        super().op_add(request, prompt, **options)

    def op_abort(self, requests: list[Name]) -> list[Name]:
        self._names = requests
        return super().op_abort(requests)

    def op_reset_prefix_cache(self, running: bool) -> bool:
        alive = [request.request_id for request in self.scheduler.running]
        self._names = alive if running else ()
        return super().op_reset_prefix_cache(running)

    def op_schedule(self) -> JsonObject:
        output = super().op_schedule()
        self._names = [*(name for name, _ in output["tokens"]), *output["preempted"]]
        return output

    def op_update(
        self, tokens: dict[Name, list[int]], stops: dict[Name, int] | None = None
    ) -> Rows:
        for name, token in (stops or {}).items():
            self.requests[name].stop_token_ids |= {token}
        self._names = list(self.in_flight[0].num_scheduled_tokens)
        outputs = self.update(tokens)
        return [[name, len(new), reason] for name, new, reason in outputs]

    def op_end(self, why: str = "") -> None:
        self._ended = True
