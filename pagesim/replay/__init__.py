"""Replays a recording of vLLM in pagesim and compares every operation.

A recording is JSON Lines (``.jsonl`` or ``.jsonl.gz``): a header that says what is simulated, then
one operation per line with what vLLM returned and its state afterwards. All of it must be equal,
except the state that a *failed* operation left behind in vLLM V0: pagesim rolls back instead.
Release 0.6.4.post1 is V0, release 0.33.0 is V1; the header's format says which.

``record_vllm`` is the one file that records a user's own vLLM, and ``recorded`` replays that.
``block_layer`` and ``scheduler`` replay V0, and ``v1`` replays V1, ``v1_groups`` with several KV
cache groups, ``v1_observed`` with KV events and metrics, ``v1_offload`` with a second tier.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from os import PathLike, fspath
from typing import Any, TypeVar

from pagesim.errors import UsageError, shortened
from pagesim.files.jsonl import Json, JsonObject, numbered_lines, objects
from pagesim.replay import (
    block_layer,
    record_vllm,
    recorded,
    scheduler,
    v1,
    v1_groups,
    v1_observed,
    v1_offload,
)
from pagesim.replay.block_layer import Player, UnknownNameError
from pagesim.timeline import Timeline, record

PLAYERS: dict[str, dict[str, type[Player]]] = {
    "pagesim-trace/1": {
        "block_table": block_layer.BlockTablePlayer,
        "block_manager": block_layer.BlockManagerPlayer,
        "scheduler": scheduler.SchedulerPlayer,
    },
    "pagesim-v1-trace/1": {
        "free_queue": v1.FreeQueuePlayer,
        "block_pool": v1.BlockPoolPlayer,
        "kv_cache_manager": v1.KVCacheManagerPlayer,
        "scheduler": v1.V1SchedulerPlayer,
    },
    "pagesim-v1-groups-trace/1": {
        "coordinator": v1_groups.CoordinatorPlayer,
        "kv_cache_manager": v1_groups.GroupsManagerPlayer,
        "scheduler": v1_groups.GroupsSchedulerPlayer,
    },
    "pagesim-v1-offload/1": {
        "observed_manager": v1_observed.ObservedManagerPlayer,
        "offload_manager": v1_offload.OffloadManagerPlayer,
        "offload_scheduler": v1_offload.OffloadSchedulerPlayer,
    },
    record_vllm.FORMAT: {"scheduler": recorded.RecordedSchedulerPlayer},
}
T = TypeVar("T")
IGNORED = ("i", "op", "args", "state_after_error")


class TraceError(ValueError):
    """The file is not a recording or is damaged; the message names the file, the line and why."""

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message))


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """How far a recording agreed: ``operations`` of ``total``, and the first ``mismatch``."""

    path: str
    kind: str
    operations: int
    total: int
    mismatch: str | None
    runs: tuple[Timeline, ...] = ()
    """With ``record_runs``, a run for each part; a reset begins a new part."""
    ended: str = ""
    """Why a recording of a user's vLLM ended before the program did."""

    @property
    def ok(self) -> bool:
        """Whether every operation gave the recorded result."""
        return self.mismatch is None


def replay_file(path: str | PathLike[str], *, record_runs: bool = False) -> ReplayResult:
    """Replay one recording. TraceError if it cannot be read; OSError if it cannot be opened.

    With ``record_runs``, the result has a run of each part, whose tables have the trace's names.
    """
    name = fspath(path)
    header, lines, ended = _opened(name)
    players = _chosen(PLAYERS, header, "format", name)
    player, kind = _chosen(players, header, "kind", name)(), str(header["kind"])
    if record_runs and not player.has_pages:
        raise TraceError(f"{name}: there are no pages to play in {kind} alone: omit -o")
    equal = total = 0
    mismatch: str | None = None
    runs: list[Timeline] = []
    with ExitStack() as recorder:

        def begin(config: Any, where: str) -> None:
            recorder.close()
            _reset(player, config, where)
            if record_runs:
                player.run = recorder.enter_context(record(player.subject))
                runs.append(player.run)

        begin(header.get("config"), f"{name}:1")
        for line, operation in lines:
            if operation.get("op") == "end":
                ended = _why_ended(operation)
                if "state" not in operation:
                    break
            total += 1
            if mismatch is None:
                mismatch = _compare(player, operation, f"{name}:{line}", begin)
                equal += mismatch is None
    return ReplayResult(name, kind, equal, total, mismatch, tuple(runs), ended)


def _opened(name: str) -> tuple[JsonObject, Iterator[tuple[int, JsonObject]], str]:
    """The header of a recording, its operations, and why it ended if it does not say so itself."""
    read, ended = numbered_lines(name, TraceError), ""
    header = next(objects(read, name, TraceError), (1, {}))[1]
    if header.get("format") == record_vllm.FORMAT:
        # Only lines that were written to their end.
        read = ((number, raw) for number, raw in read if raw.endswith(b"\n"))
        ended = "it was cut off: the program was killed, or still runs"
    return header, objects(read, name, TraceError), ended


def _why_ended(operation: JsonObject) -> str:
    args = operation.get("args")
    why = args.get("why", "") if isinstance(args, dict) else ""
    return why if isinstance(why, str) else ""


def _chosen(choices: dict[str, T], header: JsonObject, key: str, name: str) -> T:
    """What the header's ``key`` selects; TraceError if it selects nothing."""
    value = header.get(key)
    if not isinstance(value, str) or value not in choices:
        raise TraceError(f"{name}:1: {key} must be one of {sorted(choices)}, not {value!r}")
    return choices[value]


def _compare(
    player: Player, operation: JsonObject, where: str, begin: Callable[[Any, str], None]
) -> str | None:
    """Run one operation; None if everything is as recorded, else a message about the difference."""
    op, args = operation.get("op"), operation.get("args")
    expected = {key: value for key, value in operation.items() if key not in IGNORED}
    error: Exception | None = None
    got: JsonObject
    if op == "reset":
        begin(_config(args, where) or player.config, where)
        got = {"state": player.state()}
    else:
        call = _bind(player, op, args, where)
        try:
            returned = call()
            got = ({} if returned is None else {"ret": returned}) | {"state": player.state()}
        except UnknownNameError as unknown:
            raise TraceError(f"{where}: op {op!r}: {unknown}") from None
        except Exception as raised:
            error, got = raised, {"error": _name_of(raised, expected)}
            if player.state_after_error:
                got["state"] = player.state()
    difference = _difference(expected, got, "")
    if difference is None:
        return None
    why = f" ({error})" if error and "error" not in expected else ""
    return shortened(f"{where} op#{operation.get('i')} {op}{difference}{why}")


def _name_of(raised: Exception, expected: JsonObject) -> str:
    """The name of an error; for vLLM's assertions, pagesim raises a subclass of AssertionError."""
    if expected.get("error") == "AssertionError" and isinstance(raised, AssertionError):
        return "AssertionError"
    return type(raised).__name__


def _bind(player: Player, op: Json, args: Any, where: str) -> Callable[[], Json]:
    """The call that an operation stands for; TraceError if it does not exist."""
    run = getattr(player, f"op_{op}", None) if isinstance(op, str) else None
    if run is None:
        raise TraceError(f"{where}: this kind of recording has no operation {op!r}")
    try:
        inspect.signature(run).bind(**args)
    except TypeError as error:
        raise TraceError(f"{where}: the args of {op!r} do not fit: {error}") from None
    return partial(run, **args)


def _config(args: Json, where: str) -> Json:
    """The config of a reset, or None if it has none."""
    if args is None:
        return None
    if not isinstance(args, dict):
        raise TraceError(f"{where}: the args of 'reset' must be an object, not {args!r:.80}")
    return args.get("config")


def _reset(player: Player, config: Any, where: str) -> None:
    """Start over with ``config``; TraceError if it is invalid."""
    try:
        pools = config.get("cache", config)
        for pool in player.pools:
            if pools[pool] > player.max_blocks:
                raise UsageError(f"{pool} is {pools[pool]}, more than {player.max_blocks}")
        player.config = config
        player.start(config)
    except (AttributeError, TypeError, KeyError, ValueError) as error:
        raise TraceError(
            f"{where}: no simulator can be made from config {config!r}: {error}"
        ) from None


def _difference(expected: Json, got: Json, path: str) -> str | None:
    """The first place where two JSON values differ, None if they are equal."""
    if isinstance(expected, dict) and isinstance(got, dict):
        for key in [*expected, *(key for key in got if key not in expected)]:
            if key not in got or key not in expected:
                value = expected.get(key, got.get(key))
                what = "expected" if key in expected else "did not expect"
                return f"{path}.{key}: {what} {value!r}"
            if difference := _difference(expected[key], got[key], f"{path}.{key}"):
                return difference
        return None
    if type(expected) is type(got) and expected == got:
        return None
    return f"{path}: expected {expected!r}, got {got!r}"
