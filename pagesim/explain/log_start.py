"""What a log says of a start: that it was refused, or that its figures do not fit together."""

import math

from pagesim.explain.finding import Finding
from pagesim.explain.log_story import LogStory
from pagesim.sizing.amount import ByteRange
from pagesim.sizing.fixes import fixes, mib, of_pool
from pagesim.sizing.logged import disagreement
from pagesim.sizing.room import Room

GIB = 2**30


def refused(story: LogStory) -> list[Finding]:
    """The start failed: one request of the maximum length does not fit."""
    length, room = story.number("refused_max_model_len"), story.room
    if length is None or room is None:
        return []
    longest = room.longest(length)
    size = room.missing_bytes(length)
    amount = "" if size is None else f", {mib(size)} on each GPU"
    beside = " beside the null block" if room.null_blocks else ""
    detail = (
        f"{length:,} tokens need {room.needs(length):,} blocks of {room.block_size}{beside}, and "
        f"there are {room.usable[0]:,}: {room.missing_blocks(length):,} are missing{amount}. "
        f"The longest sequence that fits has {longest:,} tokens."
    )
    title = f"vLLM did not start: max_model_len {length:,} does not fit into the KV cache"
    lines = (story.at.get("refused_max_model_len", 0),)
    return [Finding(None, title, detail, {}, lines, changes(story, room, length))]


def changes(story: LogStory, room: Room, tokens: int) -> str:
    """What makes room for a sequence of so many tokens, in one sentence."""
    gpus = story.number("tensor_parallel_size") or 1
    dtype = str(story.facts.get("kv_cache_dtype", "auto"))
    total, share = story.facts.get("total"), story.facts.get("gpu_memory_utilization", 0.9)
    found = fixes(
        room,
        tokens,
        of_pool(room, tokens, gpus, dtype),
        total if isinstance(total, ByteRange) else None,
        float(share) if isinstance(share, float) else None,
        overridden="num_gpu_blocks_override" in story.facts,
    )
    enough = [fix.flag for fix in found if fix.enough]
    perhaps = [fix for fix in found if fix.enough is None and "utilization" in fix.flag]
    more = "".join(f" Or {fix.words} (gpu_memory_utilization)." for fix in perhaps)
    wider = [fix.flag for fix in found if fix.enough is None and "parallel" in fix.flag]
    more += "".join(f" Perhaps {flag}: the weights are divided as well." for flag in wider)
    return f"One of these is enough: {'; '.join(enough)}.{more}" if enough else more.strip()


def no_memory(story: LogStory) -> list[Finding]:
    """Nothing was left for the cache, or the GPU ran out of memory."""
    found = []
    if (event := story.events.get("no memory")) is not None:
        title = "vLLM did not start: weights and activations leave nothing for the KV cache"
        detail = (
            "The share of the GPU that vLLM may use is smaller than what the profile run needs, so "
            "not a single block fits."
        )
        change = (
            "Raise --gpu-memory-utilization, divide the weights (--tensor-parallel-size), or let a "
            "step be smaller (--max-num-batched-tokens)."
        )
        found.append(Finding(None, title, detail, {}, tuple(event.lines), change))
    if (event := story.events.get("out of memory")) is not None:
        share = story.facts.get("gpu_memory_utilization")
        now = f" (now {share:g})" if isinstance(share, float) else ""
        title = "The GPU ran out of memory outside the KV cache"
        detail = (
            "The cache is allocated once, at the start, and does not grow. So something else took "
            "more than the profile run measured: activations, CUDA graphs, or another process."
        )
        change = (
            f"Lower --gpu-memory-utilization{now} or --max-num-batched-tokens; see what else uses "
            "the GPU."
        )
        found.append(Finding(None, title, detail, {}, tuple(event.lines), change))
    return found


def occupied(story: LogStory) -> list[Finding]:
    """Less memory is free at the start than vLLM wants to take."""
    free, total = story.facts.get("device_free"), story.facts.get("device_total")
    share = story.facts.get("gpu_memory_utilization")
    if not isinstance(free, ByteRange) or not isinstance(total, ByteRange) or not total.high:
        return []
    possible = math.floor(100 * free.low / total.high) / 100
    used = (total.low + total.high - free.low - free.high) / 2
    detail = (
        f"{free.low / GIB:,.2f} of {total.low / GIB:,.2f} GiB are free, and gpu_memory_utilization "
        f"{share} asks for more. {mib(used)} are in use by others."
    )
    change = f"--gpu-memory-utilization {possible:g}, or end the other process."
    title = "vLLM did not start: other processes use the GPU"
    return [Finding(None, title, detail, {}, (story.at["device_free"],), change)]


def too_long(story: LogStory) -> list[Finding]:
    """The server runs, and accepts requests that can never fit."""
    room, length = story.room, story.number("max_model_len")
    if room is None or length is None or "refused_max_model_len" in story.facts:
        return []
    if room.needs(length) <= room.usable[1] or disagreement(story.facts):
        return []
    if "ignored" in story.events or any(one.stalled for one in story.engines.values()):
        return []  # it has happened already
    longest, v1 = room.longest(length), room.engine == "v1"
    fate = (
        "would wait at the head of the queue forever, and nobody passes it"
        if v1
        else "would be ignored: its output is empty"
    )
    detail = (
        f"max_model_len is {length:,}, and the pool holds {longest:,} tokens ({room.usable[1]:,} "
        f"blocks of {room.block_size}{' without the null block' if v1 else ''}). A longer request "
        f"{fate}."
    )
    title = f"Requests of more than {longest:,} tokens are accepted and never fit"
    lines = tuple(sorted({story.at[n] for n in ("max_model_len", "tokens") if n in story.at}))
    return [Finding("w08" if v1 else None, title, detail, {}, lines, changes(story, room, length))]


def disagreeing(story: LogStory) -> list[Finding]:
    """Figures of the start that cannot all be true of one pool."""
    found = []
    facts, size = story.facts, story.number("block_size") or 16
    tokens, blocks = story.number("tokens"), story.number("num_gpu_blocks_override")
    profiled = story.number("profiled_blocks")
    if tokens and blocks and profiled and tokens > blocks * size:
        detail = (
            f"The log says {tokens:,} tokens, the {profiled:,} blocks that were profiled. The pool "
            f"has the {blocks:,} blocks of num_gpu_blocks_override: {blocks * size:,} tokens."
        )
        title = "The logged size of the cache is not the size of the pool"
        lines = (story.at["tokens"],)
        change = "Count with the override; newer releases log it."
        found.append(Finding(None, title, detail, {}, lines, change))
    elif words := disagreement(facts):
        title = "The logged tokens and the logged concurrency do not belong together"
        lines = (story.at["max_concurrency"],)
        change = (
            "If the model has windows or states, count requests, not tokens: pagesim size --config "
            "with this --line does."
        )
        found.append(Finding(None, title, f"{words}.", {}, lines, change))
    if len(story.sizes) > 1:
        low, high = min(story.sizes), max(story.sizes)
        title = "The log names pools of different sizes"
        detail = (
            f"Between {low:,} and {high:,} tokens: several starts, or replicas of which one has "
            "less memory. A request of the largest size does not fit everywhere."
        )
        change = f"Count with {low:,} tokens, or give all replicas the same memory."
        found.append(Finding(None, title, detail, {}, (story.at["tokens"],), change))
    return found
