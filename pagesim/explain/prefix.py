"""Why a prompt found no more of its prefix in V1's cache: the first block it missed, and why.

Only full attention in a single KV cache group: there a hit ends before the first missing block.
"""

from dataclasses import dataclass
from typing import Literal

from pagesim.explain.contents import BEGIN, Held
from pagesim.explain.finding import Finding
from pagesim.explain.history import History, Life, Stay
from pagesim.explain.words import names, number, who

Kind = Literal["last", "evicted", "salt", "part", "new"]


@dataclass(frozen=True, slots=True)
class Miss:
    """The first block of a request that was not found: number ``index`` of its blocks.

    ``held`` is where its content was, or still is. ``lost`` is how many tokens from there on had
    been cached and were evicted, and ``beyond`` how many blocks behind them could still be found.
    ``alike`` is how many tokens of the block were cached, in a block that goes on differently.
    """

    kind: Kind
    index: int
    held: Held | None = None
    lost: int = 0
    beyond: int = 0
    alike: int = 0


def has_prefixes(history: History) -> bool:
    """Whether misses can be explained: V1, caching, full attention, one group."""
    plain = not history.groups and not history.has_window
    return plain and history.is_v1 and history.start.caching


def miss(history: History, stay: Stay) -> Miss | None:
    """What a request missed first when it was admitted; None if it is not known, or nothing."""
    if not has_prefixes(history) or stay.first is None:
        return None
    contents, size, event = history.contents, history.start.block_size, stay.looked_up
    index, keys = stay.first // size, stay.keys
    before = keys[index - 1] if 0 < index <= len(keys) else BEGIN
    if index >= len(keys):
        alike = contents.alike(before, stay.tail, event) if index == len(keys) else 0
        return Miss("part", index, alike=alike) if alike else None
    last = (stay.num_tokens - 1) // size
    if held := contents.found(keys[index], event):
        return Miss("last" if index == last else "salt", index, held)
    gone = [contents.lost(key, event) for key in keys[index:last]]
    is_there = [contents.found(key, event) is not None for key in keys[index:last]]
    if gone and gone[0] is not None:
        end = next((at for at, held in enumerate(gone) if held is None or is_there[at]), len(gone))
        return Miss("evicted", index, gone[0], size * end, sum(is_there[end:]))
    if alike := contents.alike(before, contents.tokens(keys[index]), event):
        return Miss("part", index, alike=alike)
    return Miss("new", index)


def missed(history: History, kind: Kind) -> list[tuple[Life, Stay, Miss]]:
    """The requests that missed for this reason when they were first admitted."""
    if history.misses is None:
        firsts = [(life, stay) for life in history.requests.values() for stay in life.stays[:1]]
        history.misses = [(life, stay, miss(history, stay)) for life, stay in firsts]
    misses: list[tuple[Life, Stay, Miss | None]] = history.misses
    return [(life, stay, what) for life, stay, what in misses if what and what.kind == kind]


def last_block(history: History) -> list[Finding]:
    """A prompt that was cached completely computes its last block again."""
    if not (found := missed(history, "last")):
        return []
    lives, size = [life.name for life, _, _ in found], history.start.block_size
    tokens = size * len(found)
    return [
        Finding(
            "w04",
            f"{names(lives)} computed a last block again that was cached",
            f"All of {'its' if len(lives) == 1 else 'their'} prompt was cached, but the next token "
            f"is sampled from the output of the last one, so that block was left out: "
            f"{number(tokens, 'token')} in all.",
            {"tokens recomputed": tokens},
            tuple(stay.event + 1 for _, stay, _ in found),
            "nothing, as a rule: it costs a block for each prompt that ends where a block ends",
            tuple(lives),
        )
    ]


def evicted(history: History) -> list[Finding]:
    """A prefix had been cached, and was evicted before the request came."""
    if not (found := missed(history, "evicted")):
        return []
    found.sort(key=lambda each: -each[2].lost)
    lives, tokens = [life.name for life, _, _ in found], sum(what.lost for _, _, what in found)
    life, stay, what = found[0]
    size = history.start.block_size
    detail = f"{who(life.name)} found {stay.found:,} of {number(stay.num_tokens, 'token')}: "
    detail += where_it_went(history, what)
    if missed(history, "salt"):
        detail += " It may have had another salt: not all that is cached is found in this run."
    return [
        Finding(
            None,
            f"{names(lives)} came too late for a cached prefix: "
            f"{number(tokens, 'token')} had been evicted",
            detail,
            {"tokens recomputed": tokens},
            tuple(stay.event + 1 for _, stay, _ in found),
            f"give the pool more than {history.usable:,} blocks of {size}, or add a second tier "
            "on the CPU; requests with a common prefix should follow each other closely",
            tuple(lives),
        )
    ]


def where_it_went(history: History, what: Miss) -> str:
    """Where the first missing block was last, and who took it."""
    held = what.held
    if held is None or held.until is None:
        return "it was never cached."
    step = history.step_of(held.until)
    when = "" if step is None else f" in step {step:,}"
    by = f"{held.by} forgot it"
    if held.by in history.requests:
        by = f"{who(held.by)} took that block"
    return (
        f"block {what.index} of its prefix was last in block {held.block} of the pool, and "
        f"{by}{when}."
    )


def hole(history: History) -> list[Finding]:
    """Behind an evicted block others were still cached, and of no use."""
    found = [each for each in missed(history, "evicted") if each[2].beyond]
    if not found:
        return []
    lives, blocks = [life.name for life, _, _ in found], sum(what.beyond for _, _, what in found)
    size = history.start.block_size
    return [
        Finding(
            None,
            f"{number(blocks, 'cached block')} could not be used: one before them was missing",
            f"A hit ends at the first block that is not cached. {names(lives)} computed "
            f"{number(size * blocks, 'token')} again that were cached behind it.",
            {"tokens recomputed": size * blocks},
            tuple(stay.event + 1 for _, stay, _ in found),
            "blocks are evicted one by one when room is short: give the pool more memory",
            tuple(lives),
        )
    ]


def salt(history: History) -> list[Finding]:
    """The same tokens were cached, and not found: something beside the tokens differs."""
    if not (found := missed(history, "salt")):
        return []
    lives, size = [life.name for life, _, _ in found], history.start.block_size
    contents = history.contents
    tokens = 0
    for _, stay, what in found:
        rest = stay.keys[what.index : (stay.num_tokens - 1) // size]
        hits = [contents.found(key, stay.looked_up) is not None for key in rest]
        tokens += size * (hits.index(False) if False in hits else len(hits))
    return [
        Finding(
            "w23",
            f"{names(lives)} did not find tokens that were cached",
            f"{number(tokens, 'token')} were in the cache, in the same order, when "
            f"{'it was' if len(lives) == 1 else 'they were'} admitted. So something beside the "
            "tokens differs: a cache salt, an adapter, an image; or the request does not read the "
            "cache.",
            {"tokens recomputed": tokens},
            tuple(stay.event + 1 for _, stay, _ in found),
            "give requests that may share a prefix the same cache_salt, and the same adapter",
            tuple(lives),
        )
    ]


def part_of_a_block(history: History) -> list[Finding]:
    """Prompts that agree for longer than whole blocks: the rest of the block is computed again."""
    found = missed(history, "part")
    size = history.start.block_size
    tokens = sum(what.alike for _, _, what in found)
    if not found:
        return []
    lives = [life.name for life, _, _ in found]
    life, stay, what = max(found, key=lambda each: each[2].alike)
    return [
        Finding(
            None,
            f"{names(lives)} shared {number(tokens, 'token')} more than whole blocks",
            f"Only full blocks of {size} tokens are found. {who(life.name)} began with "
            f"{number(stay.found + what.alike, 'token')} that another request had too, and found "
            f"{stay.found:,} of them.",
            {"tokens recomputed": tokens},
            tuple(stay.event + 1 for _, stay, _ in found),
            f"use blocks smaller than {size}, or let the common part of prompts end where a block "
            "ends",
            tuple(lives),
        )
    ]
