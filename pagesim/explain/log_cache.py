"""What a log says of the prefix cache, of swapping and of the second tier."""

from pagesim.explain.finding import Finding
from pagesim.explain.log_story import LogStory
from pagesim.explain.log_words import LEAST, where
from pagesim.sizing.waste import counted


def never_hit(story: LogStory) -> list[Finding]:
    """Prompts are computed, and none of their tokens is ever found."""
    found = []
    for engine in story.engines.values():
        if engine.max_hits != 0 or engine.missed.count < LEAST:
            continue
        tokens = int(engine.prompt_tokens)
        wide, lines = story.number("attention_block_size"), tuple(engine.missed.lines)
        head = where(story, engine) + (
            f"the hit rate is 0 % in all {engine.missed.count:,} lines with prompts; about "
            f"{tokens:,} tokens were computed. "
        )
        if story.facts.get("enable_prefix_caching") is False:
            title, why = "Prefix caching is off", "Every prompt is computed from its first token."
            change, quirk = "--enable-prefix-caching, if prompts begin alike.", None
        elif wide:
            title = f"Nothing is ever found: a block has {wide:,} tokens"
            why = (
                f"Beside states, hits end at multiples of {wide:,} tokens, and the state at that "
                "position must have been kept. Prompts that share less find nothing."
            )
            change = (
                f"Compare the shared prefix with {wide:,} tokens; an fp8 cache makes the block "
                "about twice as large."
            )
            quirk = "g27"
        else:
            size = story.number("block_size") or 16
            title = "Nothing is ever found in the prefix cache"
            why = (
                f"A hit is made of whole blocks of {size} tokens from the first token on, so one "
                "different token at the beginning (a date, an id, another salt) ends it."
            )
            change = "Put what differs to the end of the prompt; send equal tokens, not equal text."
            quirk = None
        found.append(Finding(quirk, title, head + why, {}, lines, change))
    return found


def held(story: LogStory) -> list[Finding]:
    """Blocks are held although no request is there."""
    found = []
    for engine in story.engines.values():
        spell = engine.longest.get("held")
        if spell is None or spell.lines < LEAST - 1:
            continue
        detail = where(story, engine, spell) + (
            f"no request, and a usage of {spell.usage:g} %. Cached blocks that nobody holds count "
            "as free, so somebody holds these: requests whose blocks another server has not "
            "fetched, or copies that have not ended."
        )
        connector = story.facts.get("kv_connector", "the KV connector")
        change = f"See what {connector} waits for; the blocks return when it is done."
        title = f"{spell.usage:g} % of the pool is held though there is no request"
        found.append(Finding(None, title, detail, {}, (spell.start,), change))
    return found


def not_reset(story: LogStory) -> list[Finding]:
    """The prefix cache could not be emptied."""
    if (event := story.events.get("not reset")) is None:
        return []
    detail = (
        f"{counted(event.count, 'warning')}, with up to {event.most:,} blocks held by requests. It "
        "is all or nothing: one held block is enough to refuse."
    )
    change = "Reset when no request runs, for example after changing the weights."
    title = "The prefix cache was not reset"
    return [Finding("w22", title, detail, {}, tuple(event.lines), change)]


def second_tier(story: LogStory) -> list[Finding]:
    """Loads that failed, and a tier in which nothing is found."""
    found = []
    if (event := story.events.get("load failed")) is not None:
        title = "Loads from the second tier failed"
        detail = (
            f"{counted(event.count, 'line')}. By default such a request ends with an error; with "
            "the policy recompute its tokens are computed."
        )
        change = "kv_load_failure_policy recompute keeps the requests."
        found.append(Finding("o12", title, detail, {}, tuple(event.lines), change))
    if (event := story.events.get("unpinned")) is not None:
        title = "Copies between GPU and second tier are slow: the CPU's memory is not pinned"
        detail = (
            "The operating system may move such memory, so a copy goes through a buffer, "
            "and a load may take longer than computing the tokens again."
        )
        change = (
            "See why the memory could not be registered: often a limit of locked memory (ulimit -l)"
            " or of the container."
        )
        found.append(Finding(None, title, detail, {}, tuple(event.lines), change))
    for engine in story.engines.values():
        if engine.last_external == 0 and engine.lines >= LEAST and engine.prompt_tokens:
            title = "Nothing is found in the second tier"
            detail = where(story, engine) + (
                "the external hit rate is 0 %. It only counts what the GPU's cache did not have. "
                "By default only prompts are stored, and one larger than the tier not at all."
            )
            change = "Compare the tier's size with the prompts between two uses: pagesim offload."
            lines = (engine.last_line,)
            found.append(Finding("o06", title, detail, {}, lines, change))
    return found


def no_room_to_swap(story: LogStory) -> list[Finding]:
    """V0 wanted to swap, and the CPU had no block left."""
    if (event := story.events.get("no room to swap")) is None:
        return []
    title = "V0 stopped: no CPU block was left to swap into"
    detail = "A request was to be swapped out, and swap_space was full."
    change = "A larger --swap-space, a lower --max-num-seqs, or --preemption-mode recompute."
    return [Finding("q43", title, detail, {}, tuple(event.lines), change)]


def rejected(story: LogStory) -> list[Finding]:
    """Requests longer than max_model_len, refused with an error."""
    event, limit = story.events.get("rejected"), story.events.get("over the limit")
    found = []
    if event is not None:
        title = f"{counted(event.count, 'request')} refused: longer than max_model_len"
        detail = f"The limit is {event.most:,} tokens; prompt and output count together."
        change = "Shorten them, or raise --max-model-len if the pool holds more."
        found.append(Finding(None, title, detail, {}, tuple(event.lines), change))
    if limit is not None:
        title = f"V0 ignored {counted(limit.count, 'prompt')}: longer than {limit.second:,} tokens"
        detail = (
            f"Up to {limit.most:,} tokens. Without chunked prefill a prompt must fit into one "
            "step, so the limit is the smaller of max_model_len and max_num_batched_tokens."
        )
        change = "--enable-chunked-prefill, or a larger --max-num-batched-tokens."
        found.append(Finding(None, title, detail, {}, tuple(limit.lines), change))
    return found
