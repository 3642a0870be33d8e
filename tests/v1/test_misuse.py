"""Junk at every public entry is taken, or refused in words, and then nothing has changed."""

import inspect
import os
import random
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from enum import EnumType
from itertools import cycle, islice
from typing import Any

import pytest

import pagesim
from pagesim import v1
from pagesim.v1 import BlockPool, KVCacheBlock, KVCacheBlocks, Request, RequestStatus
from tests.v1.scenes import SIZE, serving, text
from tests.v1.world import everything, request_state

CALLS = 50 * int(os.environ.get("PAGESIM_V1_EXAMPLES", "8"))
"""`make nightly` sets the variable."""
PROMISED = (TypeError, ValueError, AssertionError, RuntimeError)
"""UsageError is two of them; RuntimeError is a queue's and a scheduler's."""


class Scene:
    """An engine in the middle of its work, and what a confused caller may have at hand."""

    def __init__(self) -> None:
        scheduler = self.scheduler = serving(14, a=range(9), b=range(20, 26), c=range(30, 35))
        used = scheduler.schedule()
        scheduler.update_from_output(used, {"a": [1], "b": [2]})
        flying = scheduler.schedule()
        manager = scheduler.kv_cache_manager
        self.pool, (a, b, c) = manager.block_pool, scheduler.requests.values()
        new, foreign = Request("new", range(13), block_size=SIZE), BlockPool(99, True, 4)
        own, theirs = self.pool.blocks, foreign.blocks
        hits = manager.get_computed_blocks(new)[0]
        self.requests = [a, b, c, new, Request("a", text(9), block_size=2)]
        self.junk: list[Any] = [
            *(None, True, 0, 1, -1, 4, 2**70, -(2**70), 0.5, 4.0, float("nan"), float("inf")),
            *("x", "", "a", b"x", "\ud800", [], [1], [None], [2**70], (), (-1,), {}, {"a": 1}),
            *({"a": [1]}, {"a": None}, {"a": [None]}, {"a": [2**70]}, {3}, range(3), object(), len),
            *(Request, *self.requests, own[0], own[1], own[-1], theirs[1], theirs[98], own[1:3]),
            *([own[1]] * 2, [own[-1]] * 2, [own[-1], None], theirs[1:3], own[:1]),
            *([own[1], theirs[1]], hits, KVCacheBlocks((range(2),)), KVCacheBlocks((theirs[1:3],))),
            *(KVCacheBlocks(()), KVCacheBlock(-1), KVCacheBlock(2**70), used, flying),
            *(*RequestStatus, scheduler, manager, self.pool),
            *(a.block_hashes, a.block_hashes[0], [True], [True, "x"]),
        ]
        self.right: dict[str, Any] = {
            "request": new,
            "request_id": "a",
            "request_ids": ["a"],
            "running_request_id": "a",
            **dict.fromkeys(("status", "finished_status"), RequestStatus.FINISHED_ABORTED),
            "scheduler_output": flying,
            "sampled_token_ids": {"a": [1], "b": [2]},
            "new_computed_blocks": hits,
            "num_new_computed_tokens": 8,
            "blocks": own[-3:],
            "ordered_blocks": own[1:3],
            "block": own[-1],
            "num_cached_blocks": 0,
            "block_size": SIZE,
            "kv_cache_group_id": 0,
            "block_mask": [True] * 9,
            "block_hash": a.block_hashes[0],
            "prompt_token_ids": [1, 2],
            "token_ids": [1, 2],
            "curr_block_token_ids": [1, 2],
            "num_gpu_blocks": 9,
            "max_model_len": 64,
            "num_seqs": 9,
            "scheduler_config": scheduler.scheduler_config,
            "cache_config": scheduler.cache_config,
            "scheduler": scheduler,
        }
        queue = self.pool.free_block_queue
        subjects = (scheduler, manager, self.pool, new, queue, own[-1], hits)
        self.subjects: dict[str, Any] = {type(subject).__name__: subject for subject in subjects}
        self.subjects["RequestStatus"] = RequestStatus

    def state(self) -> list[Any]:
        return [everything(self.scheduler), *map(request_state, self.requests)]

    def find(self, kind: str, method: str | None) -> Callable[..., Any]:
        return getattr(v1, kind) if method is None else getattr(self.subjects[kind], method)


def _entries() -> dict[tuple[str, str | None], list[inspect.Parameter]]:
    """Every public call that takes an argument, and a class is one itself."""
    scene = Scene()
    classes = [name for name in v1.__all__ if not isinstance(getattr(v1, name), EnumType)]
    names: list[tuple[str, str | None]] = [(name, None) for name in classes]
    for kind in scene.subjects:
        names += [(kind, name) for name in vars(getattr(v1, kind)) if not name.startswith("_")]
    calls = {name: scene.find(*name) for name in names}
    return {
        name: list(inspect.signature(call).parameters.values())
        for name, call in calls.items()
        if callable(call) and not isinstance(call, RequestStatus)
    }


ENTRIES = {name: taken for name, taken in _entries().items() if taken}


def _arguments(r: random.Random, taken: list[inspect.Parameter], scene: Scene) -> dict[str, Any]:
    """By name; most are right, so that the others get far."""
    given = {}
    for parameter in taken:
        is_right = parameter.name in scene.right and r.random() < 0.6
        if parameter.default is inspect.Parameter.empty or r.random() < 0.5:
            value = scene.right[parameter.name] if is_right else r.choice(scene.junk)
            given[parameter.name] = value
    return given


def _is_in_words(error: BaseException) -> bool:
    """Whether somebody wrote it: it was raised by a ``raise``."""
    line = traceback.extract_tb(error.__traceback__)[-1].line or ""
    return line.startswith("raise")


@pytest.mark.parametrize("recorded", [False, True])
def test_junk_is_refused_in_words_or_taken(recorded: bool) -> None:
    r, refused, problems = random.Random(33), 0, []
    assert len(ENTRIES) > 40
    for entry, taken in islice(cycle(ENTRIES.items()), CALLS):
        scene = Scene()
        call, before = scene.find(*entry), scene.state()
        arguments = _arguments(r, taken, scene)
        try:
            with pagesim.record(scene.scheduler) if recorded else nullcontext():
                call(**arguments)
        except Exception as error:
            refused += 1
            if not (isinstance(error, PROMISED) and _is_in_words(error) and str(error)):
                problems.append(f"{entry}{arguments}: {error!r}")
            if scene.state() != before:
                problems.append(f"{entry}{arguments} changes something: {error!r}")
    assert not problems, f"{len(problems)} of {CALLS}: " + "\n".join(problems[:40])
    assert refused > CALLS // 3


def test_the_class_of_requests_is_refused_while_recording() -> None:
    """Its ``request_id`` is a slot, for which a recording can have no name."""
    scene = Scene()
    with (
        pagesim.record(scene.scheduler),
        pytest.raises(TypeError, match="request must be a Request"),
    ):
        scene.scheduler.kv_cache_manager.cache_blocks(v1.Request, "x")  # type: ignore[arg-type]
