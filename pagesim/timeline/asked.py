"""What a recorded scheduler was told and asked: its settings, and the lengths of its prompts.

A run shows what happened. Why a request waited also depends on these, and they are in no event: a
prompt becomes known when its request is admitted, and the settings never do.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from pagesim.checks import check_int
from pagesim.files.jsonl import Json, JsonObject
from pagesim.journal.effects import Name, is_name, is_text, request_name, show

MAX_SETTINGS = 1_000


@dataclass(frozen=True, slots=True)
class Asked:
    """``settings`` by their names; ``prompts`` has the number of tokens of each request."""

    settings: Mapping[str, Json] = field(default_factory=dict)
    prompts: dict[Name, int] = field(default_factory=dict)

    def as_dict(self) -> JsonObject:
        """The keys of a file's header; empty ones are omitted."""
        prompts = [list(pair) for pair in self.prompts.items()]
        words = {"settings": dict(self.settings), "prompts": prompts}
        return {key: value for key, value in words.items() if value}


def asked_of(subject: Any) -> Asked:
    """The settings of a scheduler, and the requests that it has already; nothing of others."""
    settings: dict[str, Json] = {}
    configs = [getattr(subject, name, None) for name in ("cache_config", "scheduler_config")]
    configs.append(getattr(getattr(subject, "connector", None), "config", None))
    for config in configs:
        for each in fields(config) if is_dataclass(config) else ():
            value = getattr(config, each.name)
            if value is None or isinstance(value, bool | int | float | str):
                settings.setdefault(each.name, value)
    if not settings:
        return Asked()
    queues = [getattr(subject, name, ()) for name in ("waiting", "running", "swapped")]
    queues.append(getattr(subject, "kv_holding_waiting", ()))
    requests = [request for queue in queues for request in queue]
    lengths = {request_name(request.request_id): num_tokens(request) for request in requests}
    return Asked(settings, lengths)


def num_tokens(request: Any) -> int:
    """The number of tokens of a request of V1, or of a sequence group of V0."""
    is_group = hasattr(request, "first_seq")
    return int(request.first_seq.get_len() if is_group else request.num_prompt_tokens)


def asked_from(header: JsonObject) -> Asked:
    """What a file's header has. TypeError or ValueError if it is invalid."""
    settings, prompts = header.get("settings", {}), header.get("prompts", [])
    if not isinstance(settings, dict) or len(settings) > MAX_SETTINGS:
        raise TypeError(f"settings must be an object, not {show(settings)}")
    for value in settings.values():
        if not (value is None or isinstance(value, bool | int | float) or is_text(value)):
            raise TypeError(f"a setting must be a number, a word or null, not {show(value)}")
    lengths: dict[Name, int] = {}
    for request, length in prompts:
        if not is_name(request):
            raise TypeError(f"prompts must name requests, not {show(request)}")
        lengths[request] = check_int("the length of a prompt", length, 0)
    return Asked(settings, lengths)
