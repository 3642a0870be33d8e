"""The size that `pagesim size` is asked for, from its options and the lines of a log."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from pagesim.commands.common import BadInput, Options
from pagesim.commands.size_lines import logged_blocks, logged_memory
from pagesim.commands.size_verdict import Verdict, gpus_of
from pagesim.errors import UsageError
from pagesim.sizing import ByteRange, CacheSize, ModelSpec, size_v0, size_v1
from pagesim.sizing.amount import parse_bytes
from pagesim.sizing.enough_memory import NotEnoughMemoryError
from pagesim.sizing.fixes import MORE_GPUS, Alternative, fixes, of_pool, smallest
from pagesim.sizing.fp8 import fp8_gain
from pagesim.sizing.logged import room_of
from pagesim.sizing.room import Room
from pagesim.sizing.start_lines import Facts
from pagesim.sizing.v0 import kv_cache_memory

AMOUNT = "24GiB, 80GB, 38.48GiB (a rounded amount stands for a range), or plain bytes"


def _flags(size: Callable[..., CacheSize]) -> Options:
    """The options that it takes under the same names, and their defaults."""
    given = inspect.signature(size).parameters.values()
    return {one.name: one.default for one in given if one.kind is one.KEYWORD_ONLY}


FLAGS, ALL_FLAGS = _flags(size_v0), _flags(size_v1)
V1_FLAGS = {flag: ALL_FLAGS[flag] for flag in ALL_FLAGS if flag not in FLAGS}
SHARED = ("max_model_len", "max_num_batched_tokens", "enable_prefix_caching")
"""Those among them that also say something of V0, or do no harm there."""


def size_of(options: Options, facts: Facts) -> CacheSize:
    """The cache of the model; one that is too small for a sequence is a size like any other."""
    engine = _engine(options)
    if options["max_model_len"] == 0:
        raise BadInput("--max-model-len must be -1 or at least 1, not 0")
    name, config = options["model"], options["config"]
    if (name is None) == (config is None):
        raise BadInput("give one of --model NAME and --config PATH, or a --line of vLLM's log")
    model = ModelSpec.from_config(config) if config else ModelSpec.preset(name)
    if engine == "v0":
        return _size_v0(model, options, facts)
    if not options["mla"]:
        raise BadInput("--no-mla is for --engine v0")
    try:
        return _sized(size_v1, model, ALL_FLAGS, options, facts)
    except NotEnoughMemoryError as error:
        if error.size is None:
            raise
        size: CacheSize = error.size
        return size


def _engine(options: Options) -> str:
    engine: str = options["engine"]
    if engine not in ("v0", "v1"):
        raise BadInput(f"--engine must be v0 or v1, not {engine!r}")
    return engine


def _size_v0(model: ModelSpec, options: Options, facts: Facts) -> CacheSize:
    for flag, default in V1_FLAGS.items():
        if flag not in SHARED and options[flag] != default:
            raise BadInput(f"--{flag.replace('_', '-')} is for --engine v1")
    if options["max_model_len"] == -1:
        raise BadInput("--max-model-len -1 is for --engine v1")
    model = model if options["mla"] else model.without_latents()
    return _sized(size_v0, model, FLAGS, options, facts)


def _sized(
    size: Callable[..., CacheSize], model: ModelSpec, names: Options, options: Options, facts: Facts
) -> CacheSize:
    """The size for the memory of the options or of the lines; else for the blocks of the lines."""
    flags = {flag: options[flag] for flag in names}
    memory = _memory(options, facts)
    if memory is not None:
        return size(model, memory, **flags)
    without = {name: None for name in ("max_model_len", "num_gpu_blocks_override") if name in flags}
    one = size(model, 0, **flags | without | {"num_gpu_blocks_override": 1})
    if (blocks := logged_blocks(facts, one)) is None:
        raise BadInput(f"give --memory for the cache: {AMOUNT}")
    low, high = (number * one.block_bytes for number in blocks)
    return size(model, ByteRange(low, high), **flags)


def gain_of_fp8(found: CacheSize, options: Options, facts: Facts) -> list[float] | None:
    """The factor for the longest sequences and for those of one block; None if there is none."""
    length = found.max_model_len
    given = options["num_gpu_blocks_override"], options["kv_cache_dtype"]
    if found.engine == "v0" or length is None or given != (None, "auto"):
        return None
    flags = {flag: options[flag] for flag in ALL_FLAGS} | {"max_model_len": None}
    memory = _memory(options, facts)
    if memory is None:
        memory = ByteRange(*(number * found.block_bytes for number in found.num_gpu_blocks))
    try:
        return [
            fp8_gain(found.model, memory, tokens, **flags)
            for tokens in (length, min(found.block_size, length))
        ]
    except UsageError:
        return None


def without_latents(found: CacheSize, options: Options, facts: Facts) -> str:
    """What --no-mla costs, in words; empty if the vectors are kept."""
    if options["mla"] or not (kept := size_of(options | {"mla": True}, facts)).model.is_mla:
        return ""
    times = found.bytes_per_token / kept.bytes_per_token
    return (
        f"{kept.bytes_per_token:,} bytes a token, {times:.1f} times less: "
        f"{kept.num_gpu_blocks[1]:,} blocks"
    )


def verdict_of(found: CacheSize, options: Options, facts: Facts) -> Verdict:
    """What fits into the model's cache, and what to change."""
    room = Room.of_size(found)
    asked = options["max_model_len"]
    wanted = found.max_model_len if found.engine == "v1" or asked is None else asked
    if _memory(options, facts) is None:  # another flag has the same memory, not the same blocks
        low, high = (number * found.block_bytes for number in found.num_gpu_blocks)
        facts = facts | {"memory": ByteRange(low, high)}
    return _verdict(room, wanted, options, facts, lambda tokens: _models(tokens, options, facts))


def verdict_of_lines(facts: Facts, options: Options) -> Verdict:
    """What fits into the pool that the lines state, and what to change."""
    facts = facts | {"engine": _engine(options)}
    if options["block_size"] != 16:
        facts = facts | {"block_size": options["block_size"]}
    room, wanted = room_of(facts), options["max_model_len"]
    if wanted is not None and wanted < 1:
        raise BadInput("--max-model-len must be at least 1 without a model")
    return _verdict(
        room,
        wanted,
        options,
        facts,
        lambda tokens: of_pool(
            room, tokens, options["tensor_parallel_size"], str(options["kv_cache_dtype"])
        ),
    )


def _verdict(
    room: Room,
    wanted: int | None,
    options: Options,
    facts: Facts,
    alternatives: Callable[[int], Iterable[Alternative]],
) -> Verdict:
    requests = [room.request(*one) for one in options["length"] or ()]
    longest = max([wanted or 1, *(one.prompt + one.output for one in requests)])
    total, share = facts.get("total"), options["gpu_memory_utilization"]
    if not isinstance(total, ByteRange):
        card = options["gpu_memory"]
        total = None if card is None else parse_bytes("--gpu-memory", card)
    overridden = options["num_gpu_blocks_override"] is not None
    tried = alternatives(longest) if room.missing_blocks(longest) and not overridden else ()
    share = 0.9 if share is None else share
    changes = fixes(room, longest, tried, total, share, overridden=overridden)
    started = "tokens" in facts and "refused_max_model_len" not in facts
    most, gpus = options["max_num_seqs"], gpus_of(options)
    return Verdict(room, wanted, requests, changes, most, gpus, started)


def _models(tokens: int, options: Options, facts: Facts) -> Iterable[Alternative]:
    """The same model with another flag; those that cannot matter are left out."""

    def room(**changes: Any) -> Room:
        size = size_of(options | {"max_model_len": None} | changes, facts)
        return Room.of_size(size)

    if options["kv_cache_dtype"] == "auto":
        yield "--kv-cache-dtype fp8", lambda: room(kv_cache_dtype="fp8")
    for kind in ("tensor", "pipeline"):
        name = f"{kind}_parallel_size"
        values = [options[name] * times for times in MORE_GPUS]
        yield from smallest(name, values, tokens, lambda name, value: room(**{name: value}))
    if options["engine"] == "v1":
        step = options["max_num_batched_tokens"]
        now, least = room(), room(max_num_batched_tokens=1)
        if least.needs(tokens) < now.needs(tokens):
            values = [step // times for times in (2, 4, 8, 16) if step // times]
            yield from smallest(
                "max_num_batched_tokens",
                values,
                tokens,
                lambda name, value: room(**{name: value}),
            )
        if options["disable_hybrid_kv_cache_manager"]:
            flag = "without --disable-hybrid-kv-cache-manager"
            yield flag, lambda: room(disable_hybrid_kv_cache_manager=False)


def _memory(options: Options, facts: Facts) -> ByteRange | None:
    """The memory for the cache; None if only the number of blocks is known."""
    memory, card, peak = options["memory"], options["gpu_memory"], options["peak"]
    if memory is not None and card is not None:
        raise BadInput(
            "give one of --memory, for the cache alone, and --gpu-memory, for the whole GPU"
        )
    share = options["gpu_memory_utilization"]
    if card is None:
        if peak is not None or (share is not None and "gpu_memory_utilization" not in facts):
            raise BadInput("--peak and --gpu-memory-utilization belong to --gpu-memory")
        if memory is not None:
            return parse_bytes("--memory", memory)
        if options["num_gpu_blocks_override"] is not None:
            return ByteRange(0, 0)
        return logged_memory(facts, options)
    if peak is None:
        raise BadInput("--gpu-memory needs --peak, the memory used by weights and activations")
    whole, used = parse_bytes("--gpu-memory", card), parse_bytes("--peak", peak)
    share = 0.9 if share is None else share
    left = kv_cache_memory(whole, share, used)
    if left.high == 0:
        raise BadInput(
            f"nothing is left for the cache: {share} of --gpu-memory {card} does not exceed "
            f"--peak {peak}; give a larger GPU or a lower peak"
        )
    return left
