"""The operations by which the final project is tried: scenes, recordings, and random ones."""

import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pagesim.exercises.case import Case
from pagesim.files.jsonl import JsonObject, numbered_objects
from pagesim.player.describe import counted
from pagesim.replay.v1 import KVCacheManagerPlayer

Op = tuple[str, JsonObject]
"""An operation of a recording, and its arguments."""


def observed(player: KVCacheManagerPlayer, config: JsonObject, ops: list[Op]) -> list[JsonObject]:
    """What each operation returned, and the tables and the pool behind it."""
    player.config = config
    player.start(config)
    return [{"returned": getattr(player, f"op_{op}")(**args), **player.state()} for op, args in ops]


def recording(path: Path) -> Case:
    """A recording of vLLM as a case."""
    lines = numbered_objects(str(path), ValueError)
    header = next(lines)[1]
    ops = [(line["op"], line["args"]) for _, line in lines]
    name, release = header["name"], header["reference"]
    words = f"the recording {name} of {release}, {len(ops)} operations"
    return Case((header["config"], ops), words, name)


def _config(num_gpu_blocks: int, block_size: int, **more: Any) -> JsonObject:
    plain = {"max_model_len": 96, "enable_caching": True, "watermark": 0.0}
    return {"num_gpu_blocks": num_gpu_blocks, "block_size": block_size, **plain, **more}


def _arrives(name: str, prompt: list[int], new: int = 0, **options: Any) -> list[Op]:
    """A request is looked up and given room for its first tokens: all, if nothing is said."""
    new = new or len(prompt)
    return [
        ("new_request", {"request": name, "prompt": prompt}),
        ("computed", {"request": name}),
        ("allocate", {"request": name, "num_new_tokens": new, "use_computed": True, **options}),
    ]


def _writes(name: str, computed: int, tokens: list[int]) -> list[Op]:
    """What was given room is computed, tokens are sampled, and need room in turn."""
    return [
        ("advance", {"request": name, "n": computed}),
        ("append", {"request": name, "tokens": tokens}),
        ("allocate", {"request": name, "num_new_tokens": len(tokens)}),
    ]


def scenes(n: int) -> Iterator[Case]:
    """Each rule by itself, with blocks of ``n`` tokens."""

    def scene(tag: str, blocks: int, *parts: list[Op], **config: Any) -> Case:
        ops = [op for part in parts for op in part]
        words = "; ".join(_words(op, **args) for op, args in ops)
        words = f"{tag}: {counted(blocks, 'block')} of {n}; {words}"
        return Case((_config(blocks, n, **config), ops), words, tag)

    a, b, c = list(range(20)), list(range(100, 110)), list(range(200, 210))
    leaves: list[Op] = [("free", {"request": "a"})]
    c_leaves: list[Op] = [("free", {"request": "c"})]
    first, again = _arrives("a", a[: n + 1]), _arrives("b", a[: n + 1], 1)
    full, rest = _arrives("a", a[: 2 * n]), _writes("a", 2 * n, [7])
    plain, fit = {"enable_caching": False}, {"full_sequence_must_fit": True}
    yield scene("one request", 8, first, **plain)
    yield scene("it leaves", 8, first, leaves, **plain)
    yield scene("no room", 2, first, **plain)
    yield scene("its block has room", 8, first, _writes("a", n + 1, [7]), **plain)
    yield scene("it needs a block", 8, full, rest, **plain)
    yield scene("no block is left for it", 3, full, rest, **plain)
    yield scene("full blocks are cached", 8, full, rest)
    yield scene("the same prompt again", 8, first, again)
    yield scene("it came back", 8, first, leaves, again)
    yield scene("all of it is cached", 8, full, _arrives("b", a[: 2 * n], n))
    other, longer = _arrives("c", c[:n]), _arrives("b", a[: 2 * n + 1], n + 1)
    yield scene("hits stand in the free queue", 4, full, leaves, other, longer)
    part = _arrives("a", a[: 2 * n + 1], n)
    yield scene("a part of a prompt", 8, part, _writes("a", n, [7]))
    yield scene("the whole of it must fit", 4, first, _arrives("b", b[: 2 * n], n, **fit))
    yield scene("some blocks are reserved", 4, first, _arrives("b", b[:n], n, reserved_blocks=1))
    ahead = _arrives("a", a[:n], n - 1, num_lookahead_tokens=2)
    yield scene("slots ahead", 8, ahead, _writes("a", n - 1, [7]))
    grows = _arrives("a", a[:n], has_scheduled_reqs=False) + _writes("a", n, [7] * n)
    parts = [grows, _arrives("b", b[:n]), _writes("a", n, [8])]
    yield scene("the watermark", 4, *parts, watermark=0.3)
    alone = _arrives("a", a[: n + 1], has_scheduled_reqs=False)
    yield scene("alone, it may use the watermark", 3, alone, watermark=0.34)
    yield scene("the longest", 8, first, _writes("a", n + 1, [7]), max_model_len=n + 1)
    ahead = _arrives("a", a[: 2 * n], num_lookahead_tokens=2)
    yield scene("no slots ahead beyond the longest", 8, ahead, max_model_len=2 * n)
    part = _arrives("a", a[: 2 * n + 1], n, **fit)
    yield scene("the whole of it is no more than the longest", 3, part, max_model_len=2 * n)
    part = _arrives("b", b[: 2 * n], n, **fit, reserved_blocks=1)
    yield scene("the whole of it may use what is reserved", 5, first, part)
    part = _arrives("b", b[: 2 * n + 1], n, **fit)
    yield scene("the whole of it leaves the watermark", 6, first, part, watermark=0.2)
    part = _arrives("b", a[: 3 * n + 1], 1, **fit)
    yield scene("the whole of it, with hits in the free queue", 4, full, leaves, part)
    parts = [_arrives("a", a[:n]), other, leaves, c_leaves, _arrives("b", a[: 4 * n], 3 * n)]
    yield scene("a hit is not taken as a new block", 5, *parts)
    unread: Op = ("new_request", {"request": "b", "prompt": a[: n + 1], "skip_reading": True})
    unread_too = [unread, *_arrives("b", [], n + 1)[1:]]
    yield scene("it does not read the cache", 8, first, unread_too)


def _words(op: str, request: str, use_computed: bool = False, **args: Any) -> str:
    """An operation as a student reads it: what is given as tokens is counted."""
    given = [
        counted(len(value), "token") if isinstance(value, list) else f"{name}={value}"
        for name, value in args.items()
    ]
    return f"{op} {request}" + f" ({', '.join(given)})" * bool(given)


class _Made:
    """Operations, each of them carried out when it is added."""

    def __init__(self, config: JsonObject) -> None:
        self.player, self.ops = KVCacheManagerPlayer(), list[Op]()
        self.player.start(config)

    def do(self, op: str, name: str, **args: Any) -> Any:
        self.ops.append((op, {"request": name, **args}))
        return getattr(self.player, f"op_{op}")(request=name, **args)

    def allocate(self, rng: random.Random, name: str, new: int, **found: Any) -> bool:
        """Whether there was room; then it is computed."""
        given = {"num_new_tokens": new, **found, **_options(rng)}
        if self.do("allocate", name, **given)["blocks"] is None:
            return False
        self.do("advance", name, n=new)
        return True


def random_case(rng: random.Random, size: int, caching: bool) -> Case:
    """Requests with a vocabulary of two come, write, are preempted and leave, at random."""
    blocks, watermark = rng.randint(8, 16), rng.choice((0.0, 0.2))
    config = _config(blocks, size, enable_caching=caching, watermark=watermark)
    made, waiting, running = _Made(config), list[str](), list[str]()
    do, allocate, ops = made.do, partial(made.allocate, rng), made.ops
    for number in range(160):
        choice = rng.random()
        if not (waiting or running) or choice < 0.2:
            waiting.append(f"r{number}")
            do("new_request", waiting[-1], prompt=_bits(rng, 1, 4 * size))
        elif waiting and choice < 0.5:
            name = rng.choice(waiting)
            found = do("computed", name)["num_tokens"]
            new = rng.randint(1, made.player.requests[name].num_tokens - found)
            if allocate(name, new, use_computed=True):
                waiting.remove(name)
                running.append(name)
        elif running and choice < 0.85:
            name = rng.choice(running)
            its = made.player.requests[name]
            if its.num_tokens == its.num_computed_tokens:
                do("append", name, tokens=_bits(rng, 1, 2))
            allocate(name, rng.randint(1, its.num_tokens - its.num_computed_tokens))
        elif running:
            name = running.pop(rng.randrange(len(running)))
            again = rng.random() < 0.4
            do("preempt" if again else "free", name)
            waiting += [name] * again
    words = f"{len(ops)} random operations, blocks of {size}, caching {'on' if caching else 'off'}"
    return Case((config, ops), words, "random")


def _bits(rng: random.Random, least: int, most: int) -> list[int]:
    return [rng.randrange(2) for _ in range(rng.randint(least, most))]


def _options(rng: random.Random) -> JsonObject:
    """The rarer arguments, each now and then."""
    every = {
        "num_lookahead_tokens": rng.randint(1, 3),
        "full_sequence_must_fit": True,
        "reserved_blocks": rng.randint(1, 2),
        "has_scheduled_reqs": False,
    }
    return {name: value for name, value in every.items() if rng.random() < 0.2}
