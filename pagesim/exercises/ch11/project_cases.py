"""The operations by which the final project is tried: scenes, recordings, and random ones."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pagesim.exercises.acts import count
from pagesim.exercises.case import Case
from pagesim.files.jsonl import numbered_objects
from pagesim.replay.v1 import KVCacheManagerPlayer

Op = tuple[str, dict[str, Any]]
"""An operation of a recording, and its arguments."""


def observed(
    player: KVCacheManagerPlayer, config: dict[str, Any], ops: list[Op]
) -> list[dict[str, Any]]:
    """What each operation returned, and the tables and the pool behind it."""
    player.config = config
    player.start(config)
    seen = []
    for op, args in ops:
        returned = getattr(player, f"op_{op}")(**args)
        seen.append({"returned": returned, **player.state()})
    return seen


def recording(path: Path) -> Case:
    """A recording of vLLM as a case."""
    lines = numbered_objects(str(path), ValueError)
    header = next(lines)[1]
    ops = [(line["op"], line["args"]) for _, line in lines]
    name, release = header["name"], header["reference"]
    words = f"the recording {name} of {release}, {len(ops)} operations"
    return Case((header["config"], ops), words, name)


def _config(num_gpu_blocks: int, block_size: int, **more: Any) -> dict[str, Any]:
    plain = {"max_model_len": 96, "enable_caching": True, "watermark": 0.0}
    return {"num_gpu_blocks": num_gpu_blocks, "block_size": block_size, **plain, **more}


def _arrives(name: str, prompt: list[int], num_new_tokens: int, **options: Any) -> list[Op]:
    """A request is looked up and given room for its first tokens."""
    allocate = {"request": name, "num_new_tokens": num_new_tokens, "use_computed": True, **options}
    return [
        ("new_request", {"request": name, "prompt": prompt}),
        ("computed", {"request": name}),
        ("allocate", allocate),
    ]


def _writes(name: str, computed: int, tokens: list[int], **options: Any) -> list[Op]:
    """What was given room is computed, tokens are sampled, and need room in turn."""
    return [
        ("advance", {"request": name, "n": computed}),
        ("append", {"request": name, "tokens": tokens}),
        ("allocate", {"request": name, "num_new_tokens": len(tokens), **options}),
    ]


def scenes(size: int) -> Iterator[Case]:
    """Each rule by itself, with blocks of ``size`` tokens."""
    n, leaves = size, ("free", {"request": "a"})
    a, b, c = list(range(20)), list(range(100, 110)), list(range(200, 210))
    plain = {"enable_caching": False}
    first, again = _arrives("a", a[: n + 1], n + 1), _arrives("b", a[: n + 1], 1)
    full, rest = _arrives("a", a[: 2 * n], 2 * n), _writes("a", 2 * n, [7])
    listed: list[tuple[str, dict[str, Any], list[Op]]] = [
        ("one request", _config(8, n, **plain), first),
        ("it leaves", _config(8, n, **plain), [*first, leaves]),
        ("no room", _config(2, n, **plain), first),
        ("its block has room", _config(8, n, **plain), [*first, *_writes("a", n + 1, [7])]),
        ("it needs a block", _config(8, n, **plain), [*full, *rest]),
        ("no block is left for it", _config(3, n, **plain), [*full, *rest]),
        ("full blocks are cached", _config(8, n), [*full, *rest]),
        ("the same prompt again", _config(8, n), [*first, *again]),
        ("it came back", _config(8, n), [*first, leaves, *again]),
        ("all of it is cached", _config(8, n), [*full, *_arrives("b", a[: 2 * n], n)]),
        (
            "hits stand in the free queue",
            _config(4, n),
            [*full, leaves, *_arrives("c", c[:n], n), *_arrives("b", a[: 2 * n + 1], n + 1)],
        ),
        (
            "a part of a prompt",
            _config(8, n),
            [*_arrives("a", a[: 2 * n + 1], n), *_writes("a", n, [7])],
        ),
        (
            "the whole of it must fit",
            _config(4, n),
            [*first, *_arrives("b", b[: 2 * n], n, full_sequence_must_fit=True)],
        ),
        (
            "some blocks are reserved",
            _config(4, n),
            [*first, *_arrives("b", b[:n], n, reserved_blocks=1)],
        ),
        (
            "slots ahead",
            _config(8, n),
            [*_arrives("a", a[:n], n - 1, num_lookahead_tokens=2), *_writes("a", n - 1, [7])],
        ),
        (
            "the watermark",
            _config(4, n, watermark=0.3),
            [
                *_arrives("a", a[:n], n, has_scheduled_reqs=False),
                *_writes("a", n, [7] * n),
                *_arrives("b", b[:n], n),
                *_writes("a", n, [8]),
            ],
        ),
        (
            "alone, it may use the watermark",
            _config(3, n, watermark=0.34),
            _arrives("a", a[: n + 1], n + 1, has_scheduled_reqs=False),
        ),
        ("the longest", _config(8, n, max_model_len=n + 1), [*first, *_writes("a", n + 1, [7])]),
        (
            "no slots ahead beyond the longest",
            _config(8, n, max_model_len=2 * n),
            _arrives("a", a[: 2 * n], 2 * n, num_lookahead_tokens=2),
        ),
        (
            "the whole of it is no more than the longest",
            _config(3, n, max_model_len=2 * n),
            _arrives("a", a[: 2 * n + 1], n, full_sequence_must_fit=True),
        ),
        (
            "the whole of it may use what is reserved",
            _config(5, n),
            [
                *first,
                *_arrives("b", b[: 2 * n], n, full_sequence_must_fit=True, reserved_blocks=1),
            ],
        ),
        (
            "the whole of it leaves the watermark",
            _config(6, n, watermark=0.2),
            [*first, *_arrives("b", b[: 2 * n + 1], n, full_sequence_must_fit=True)],
        ),
        (
            "the whole of it, with hits in the free queue",
            _config(4, n),
            [*full, leaves, *_arrives("b", a[: 3 * n + 1], 1, full_sequence_must_fit=True)],
        ),
        (
            "a hit is not taken as a new block",
            _config(5, n),
            [
                *_arrives("a", a[:n], n),
                *_arrives("c", c[:n], n),
                leaves,
                ("free", {"request": "c"}),
                *_arrives("b", a[: 4 * n], 3 * n),
            ],
        ),
        (
            "it does not read the cache",
            _config(8, n),
            [
                *first,
                ("new_request", {"request": "b", "prompt": a[: n + 1], "skip_reading": True}),
                *_arrives("b", [], n + 1)[1:],
            ],
        ),
    ]
    for tag, config, ops in listed:
        words = "; ".join(_words(op, **args) for op, args in ops)
        pool = f"{count(config['num_gpu_blocks'], 'block')} of {n}"
        yield Case((config, ops), f"{tag}: {pool}; {words}", tag)


def _words(op: str, request: str, use_computed: bool = False, **args: Any) -> str:
    """An operation as a student reads it: what is given as tokens is counted."""
    given = [
        count(len(value), "token") if isinstance(value, list) else f"{name}={value}"
        for name, value in args.items()
    ]
    return f"{op} {request}" + f" ({', '.join(given)})" * bool(given)


def random_case(rng: random.Random, size: int, caching: bool) -> Case:
    """Requests with a vocabulary of two come, write, are preempted and leave, at random."""
    config = _config(
        rng.randint(8, 16), size, enable_caching=caching, watermark=rng.choice((0.0, 0.2))
    )
    player, ops = KVCacheManagerPlayer(), list[Op]()
    player.start(config)
    waiting, running = list[str](), list[str]()

    def do(op: str, **args: Any) -> Any:
        ops.append((op, args))
        return getattr(player, f"op_{op}")(**args)

    for number in range(160):
        choice = rng.random()
        if not (waiting or running) or choice < 0.2:
            name = f"r{number}"
            do("new_request", request=name, prompt=_bits(rng, 1, 4 * size))
            waiting.append(name)
        elif waiting and choice < 0.5:
            name = rng.choice(waiting)
            found = do("computed", request=name)["num_tokens"]
            left = player.requests[name].num_tokens - found
            new, options = rng.randint(1, left), _options(rng)
            done = do("allocate", request=name, num_new_tokens=new, use_computed=True, **options)
            if done["blocks"] is not None:
                waiting.remove(name)
                running.append(name)
                do("advance", request=name, n=new)
        elif running and choice < 0.85:
            name = rng.choice(running)
            if player.requests[name].num_tokens == player.requests[name].num_computed_tokens:
                do("append", request=name, tokens=_bits(rng, 1, 2))
            its = player.requests[name]
            new = rng.randint(1, its.num_tokens - its.num_computed_tokens)
            done = do("allocate", request=name, num_new_tokens=new, **_options(rng))
            if done["blocks"] is not None:
                do("advance", request=name, n=new)
        elif running:
            name = running.pop(rng.randrange(len(running)))
            if rng.random() < 0.4:
                do("preempt", request=name)
                waiting.append(name)
            else:
                do("free", request=name)
    words = f"{len(ops)} random operations, blocks of {size}, caching {'on' if caching else 'off'}"
    return Case((config, ops), words, "random")


def _bits(rng: random.Random, least: int, most: int) -> list[int]:
    return [rng.randrange(2) for _ in range(rng.randint(least, most))]


def _options(rng: random.Random) -> dict[str, Any]:
    """The rarer arguments, each now and then."""
    every = {
        "num_lookahead_tokens": rng.randint(1, 3),
        "full_sequence_must_fit": True,
        "reserved_blocks": rng.randint(1, 2),
        "has_scheduled_reqs": False,
    }
    return {name: value for name, value in every.items() if rng.random() < 0.2}
