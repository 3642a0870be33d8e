"""What the figures of a log mean, and what follows from them: one row for each kind of line."""

from pagesim.explain.log_story import LogStory

Row = tuple[int, str, str]
"""The line, what it names, and what that means."""


def meanings(story: LogStory) -> list[Row]:
    """The rows for the kinds of lines that the log has, in the order of their first lines."""
    return sorted([*_start(story), *_settings(story), *_stats(story), *_others(story)])


def _start(story: LogStory) -> list[Row]:
    rows: list[Row] = []
    room, at = story.room, story.at
    sized = next(
        (n for n in ("tokens", "num_gpu_blocks", "num_gpu_blocks_override") if n in at), ""
    )
    if room is not None and sized:
        blocks, v1 = room.blocks[1], room.engine == "v1"
        words = f"{blocks:,} blocks of {room.block_size} slots, {blocks * room.block_size:,} tokens"
        if v1:
            words += f"; {room.usable[1]:,} are usable: block 0 is the null block"
        if (size := room.block_bytes) is not None:
            words += f"; {(size.low + size.high) / 2 / room.block_size / 1024:,.1f} KiB a token"
        rows.append((at[sized], "size of the cache", f"{words}, on each GPU"))
    times, length = story.facts.get("max_concurrency"), story.number("max_model_len")
    if isinstance(times, float) and length:
        words = (
            f"{times:.2f} requests of exactly {length:,} tokens fit at once. That is no limit: "
            "more run if they are shorter, and they are preempted if their outputs outgrow the pool"
        )
        rows.append((at["max_concurrency"], "maximum concurrency", words))
    if cpu := story.number("num_cpu_blocks"):
        words = (
            f"{cpu:,} blocks in the CPU's memory (swap_space). Since 0.6.4 nobody is swapped there "
            "without --preemption-mode swap; before, only requests of several sequences were"
        )
        rows.append((at["num_cpu_blocks"], "CPU blocks", words))
    if wide := story.number("attention_block_size"):
        words = (
            f"the page of a state is as large as {wide:,} tokens, so every block has as many, "
            f"and a hit ends at a multiple of {wide:,}"
        )
        rows.append((at["attention_block_size"], "attention block size", words))
    asked = story.number("asked_max_model_len")
    if asked and length:
        words = f"max_model_len was -1: of {asked:,} tokens, {length:,} fit"
        rows.append((at["asked_max_model_len"], "auto-fit", words))
    return rows


def _settings(story: LogStory) -> list[Row]:
    rows: list[Row] = []
    step, length = story.number("max_num_batched_tokens"), story.number("max_model_len")
    if step:
        words = f"a step computes at most {step:,} tokens, of all requests together"
        if length and length > step:
            words += f": a prompt of {length:,} takes {-(-length // step):,} steps"
        rows.append((story.at["max_num_batched_tokens"], "chunked prefill", words))
    return rows


def _stats(story: LogStory) -> list[Row]:
    rows: list[Row] = []
    every = [one for one in story.engines.values() if one.last is not None]
    if every:
        engine = max(every, key=lambda one: (one.max_usage, one.max_running))
        at = min(one.first_line for one in every)
        room, v1 = story.room, engine.version == "v1"
        held = ""
        if room is not None:
            blocks = round(room.usable[1] * engine.max_usage / 100)
            held = f": at most {engine.max_usage:g} % here, {blocks:,} blocks"
        words = (
            f"the share of blocks that requests hold{held}. A block with one token counts like a "
            "full one, and cached blocks that nobody holds count as free: 0 % does not mean that "
            "nothing is cached"
        )
        rows.append((at, "KV cache usage", words))
        queue = (
            "Waiting counts all that do not run, also preempted requests and (0.33) deferred ones"
            if v1
            else "Pending counts requests in the queue, also those preempted to be computed again; "
            "Swapped those whose blocks are in the CPU's memory"
        )
        most = f"at most {engine.max_running:,} ran, {engine.max_waiting:,} waited"
        rows.append((at, "Running, Waiting", f"{queue}; {most}"))
        if engine.last_hits is not None:
            rows.append((at, "Prefix cache hit rate", _hit_rate(engine.last_hits, v1)))
        if engine.preempted.count:
            words = f"in the time since the line before; {engine.preempted.count:,} in all"
            rows.append((engine.preempted.lines[0], "Preemptions", words))
        if v1:
            words = (
                "an engine that has computed nothing for two periods logs nothing, whether it has "
                "no request or all of them wait"
            )
            rows.append((at, "no line", words))
    return rows


def _hit_rate(percent: float, v1: bool) -> str:
    of = (
        "of the tokens of the last 1,000 requests that were looked up"
        if v1
        else "of the blocks that were looked up"
    )
    return f"the share that was found {of}: {percent:g} % in the last line"


def _others(story: LogStory) -> list[Row]:
    rows: list[Row] = []
    if (event := story.events.get("padding")) is not None:
        words = (
            f"{event.most:,} places in the groups of layers hold no layer: the share that the line "
            "names is of the layers, the waste of memory is smaller"
        )
        rows.append((event.lines[0], "padding layers", words))
    if isinstance(size := story.facts.get("tier_gb"), float):
        words = f"{size:,.2f} GB in the CPU's memory for what the GPU's cache gives up"
        if story.room is not None and (block := story.room.block_bytes) is not None:
            gpus = story.number("tensor_parallel_size") or 1
            each = (block.low + block.high) / 2 / story.room.block_size * gpus
            words += f": about {int(size * 1e9 / each):,} tokens"
        rows.append((story.at["tier_gb"], "second tier", words))
    if (event := story.events.get("transfers")) is not None:
        ways = []
        for way, verb in (("load", "loaded"), ("store", "stored")):
            size, time = (story.moved.get(f"{way} {what}", 0.0) for what in ("bytes", "time"))
            if size:
                speed = f" at {size / time / 1e9:.1f} GB/s" if time else ""
                ways.append(f"{size / 1e9:,.2f} GB {verb}{speed}")
        words = f"copies between GPU and second tier: {', '.join(ways) or 'no bytes named'}"
        rows.append((event.lines[0], "KV transfers", words))
    return rows
