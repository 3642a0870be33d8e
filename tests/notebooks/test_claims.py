"""Numbers that the prose repeats are those that the cells printed."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import pagesim
from pagesim import v1
from pagesim.simulation import simulate
from pagesim.sizing import ModelSpec
from pagesim.studies import paper
from tests.notebooks.chapters import chapter, printed

# Chapter, the cell with the words, the cell that computes, what to look for in what it printed, and
# what the prose must say then: a template for the groups that were found, or a function of them.
CLAIMS: list[tuple[str, str, str, str, str | Callable[..., str]]] = [
    (
        "01",
        "rows-why",
        "rows-waits",
        r"slots with a token: (\d+) of .*\n.* have (\d+) tokens in all",
        lambda held, wait: f"All six prompts together have {int(held) + int(wait)} tokens",
    ),
    (
        "01",
        "rows-why",
        "rows-waits",
        r"slots with a token: (\d+) of (\d+)",
        lambda held, pool: (
            f"{['', 'one', 'two', 'three', 'four'][round(5 - 5 * int(held) / int(pool))]} fifths"
        ),
    ),
    ("01", "pages-why", "pages-batch", r"fewest free slots .*: (\d+)", "{} slots or more are free"),
    (
        "01",
        "pages-why",
        "pages-batch",
        r"iterations: (\d+) with rows, (\d+) with pages",
        lambda rows, pages: (
            f"in {['', 'all', 'half'][round(int(rows) / int(pages))]} the iterations"
        ),
    ),
    (
        "01",
        "words-why",
        "words-answer",
        r"token +(\d+).*\nreserved +(\d+).*\ninternal +(\d+)",
        "With rows: {} tokens; {} slots for the two answers; and {},",
    ),
    (
        "01",
        "figure2-why",
        "figure2",
        r"paged \(vLLM\): token ([\d.]+),.*?([\d.]+) requests at once",
        lambda token, batch: (
            f"more than {float(token) // 5 * 5:.0f} %, and the batch grows with them: "
            f"7 → more than {float(batch) // 10 * 10:.0f}"
        ),
    ),
    ("01", "block-md", "figure2", r"paged \(vLLM\): .*?internal ([\d.]+)", "some {} % of the pool"),
    (
        "01",
        "oracle-why",
        "wrong-answer",
        r"rounding is internal +[\d.]+ +[\d.]+ +([\d.]+) +([\d.]+)",
        lambda dots, holes: (
            f"some {float(holes):.0f} % of the pool to holes and {float(dots):.0f} % to dots"
        ),
    ),
    ("03", "fill-md", "history", r"s0: (\d+) tokens", "its first {} tokens"),
    (
        "04",
        "layout-md",
        "memory",
        r"K: a load of a warp reads (\d+) bytes",
        "are {} bytes in a row",
    ),
    (
        "04",
        "myths-md",
        "stages-v",
        r"rows of lane 0: \[(\d+), (\d+), (\d+), .* (\d+)\]",
        "lane 0 has {}, {}, {}, … {}.",
    ),
    ("05", "figure8-md", "figure8-setup", r"\((\d), (\d), (\d),", "out again as {}, {}, {}."),
    ("05", "bytes-md", "figure8-check", r"before s1 writes: (.+)", "`append_slots` returned `{}`"),
    (
        "05",
        "proof-why",
        "proof",
        r"block (\d) .* of s2\nblock (\d) .* of s1\nblock (\d) .* of s1 and s2",
        "Block {2} is read by both, blocks {0} and {1} each",
    ),
    (
        "06",
        "can-why",
        "can",
        r"(\d+) +OK\n +\d+ +(\d+) +LATER",
        lambda last, first: (
            f"With {last} free blocks it may: {last} - 3 = {int(last) - 3}, "
            f"and {int(last) - 3} must stay free. With {first}"
        ),
    ),
    ("06", "never-why", "never", r"38 +(\d+) +\1 +LATER", "needs all {} blocks"),
    (
        "06",
        "shared-why",
        "shared",
        r"the answer: on the CPU: \d, on the GPU: (\d)",
        "with {} blocks instead of 2.",
    ),
    (
        "09",
        "moves-why",
        "moves-result",
        r"\[(\d)\] \[\1\]\ncopies: \[\((\d), \1\)\] +swap in .*: \[\(0, \2\)\]",
        "*before the copy from {1} to {0} was made*. `s1` takes block {1}.",
    ),
    ("09", "order-why", "order-result", r"answer: \[\[\d, (\d)\], \[\d, \1\]\]", "Block {} twice!"),
    ("09", "order-why", "order-result", r"table of s1: \[\d, (\d),", "equal to `s0`'s block {},"),
    (
        "09",
        "order-md",
        "order-result",
        r"answer: \[\[(\d), (\d)\], \[(\d), \2\]\]",
        "only block {1} is free. Two of its blocks, {0} and {2},",
    ),
    (
        "09",
        "shared-md",
        "shared",
        r"naive\n.*\n.*\n +on the GPU: \[1, 0\] \[2, (\d)\]",
        lambda last: f"came home with {['', '', '', '', 'four'][int(last) + 1]}.",
    ),
    ("09", "hit-why", "hit-check", r"lookups: 0\.6$", "two for `s0` (both missed)"),
    ("10", "token-why", "token", r"OPT-13B: .* (\d+) KiB", "The {} KiB of OPT-13B"),
    (
        "10",
        "token-why",
        "token",
        r"by a factor of ([\d.]+)",
        lambda factor: (
            f"account for a factor of {40 / 32:g}, and the heads for {float(factor) / 1.25:g}:"
        ),
    ),
    ("10", "v0-why", "v0", r"counts that fit: (\d+)", "leaves {} possible counts"),
    (
        "10",
        "v0-why",
        "v0",
        r"the log says ([\d,]+)",
        lambda blocks: f"{int(blocks.replace(',', '')) // 32} of them fit",
    ),
    (
        "10",
        "hybrid-tokens",
        "hybrid-concurrency",
        r"FullAttentionSpec .* most ([\d,]+) blocks",
        "a full group keeps {} blocks",
    ),
    (
        "10",
        "tensor-parallel-why",
        "tensor-parallel",
        r"GPU: \[\d+, \d+, \d+, (\d+), \1, \1\]",
        "From 8 on nothing is gained",
    ),
    (
        "11",
        "queue-why",
        "stack-answer",
        r"V1's queue: .*? 8,000 ([\d.]+) %",
        lambda found: f"in a pool of 8,000 blocks the queue finds {float(found):.0f} %",
    ),
    (
        "11",
        "victims-why",
        "victims-answer",
        r"from the end .* (\d+) %",
        lambda found: (
            f"{['', '', '', '', 'four'][round(int(found) / 20)]} fifths of the victim's tokens"
        ),
    ),
    (
        "11",
        "swap-why",
        "swap-answer",
        r"recompute .* (\d+)   1   1\nV1 .* (\d+)   1   1",
        lambda brought, again: (
            f"brings {brought} tokens and finds its two full blocks, "
            f"{int(brought) - int(again)} tokens, still there"
        ),
    ),
    (
        "11",
        "swap-end",
        "swap-azure",
        r"swap +\d+ +0 +([\d,]+) .*\n.*recompute +(\d+) +([\d,]+) .*\n.*\nV1 +(\d+) +([\d,]+) ",
        lambda moved, old, v0, new, v1: (
            f"moves {moved} slots over the bus: {number(moved) * 800 / 2**20:.0f} GiB for OPT-13B. "
            f"V1 preempts almost {['', '', '', 'three'][round(int(new) / int(old))]} times as often"
            f" as V0, and yet it computes *{'less' if number(v1) < number(v0) else 'more'}* again"
        ),
    ),
    (
        "11",
        "sent-why",
        "sent-answer",
        r"whole tables: .* ([\d,]+) a step",
        "An id is small, and so are {} of them.",
    ),
    (
        "11",
        "null-why",
        "null-answer",
        r"(\d+)% of their tokens",
        lambda held: f"hold {['', 'a quarter', 'half'][round(int(held) / 25)]} of their tokens",
    ),
    (
        "11",
        "phases-why",
        "phases-answer",
        r"V1 .*\n.*\n +s1 +·   ·   ·   (\d)   \1   (\d)   1",
        "`s1` takes the {} that are left. In step 6 the rest of its prompt is {} tokens",
    ),
    (
        "11",
        "ragged-why",
        "ragged-answer",
        r"s1: rows 0 to (\d+), (?:.*\n)+s2: rows (\d+) to (\d+), positions (\d) to",
        lambda last, first, end, seen: (
            f"a whole prompt of {int(last) + 1} rows. `s2` shares two full blocks with `s1`, so "
            f"{['', '', '', '', '', 'five'][int(end) - int(first) + 1]} rows are left, and they "
            f"read the {['', 'four', 'eight'][int(seen) // 4]} keys"
        ),
    ),
    (
        "11",
        "async-why",
        "async-answer",
        r"([\d,]+) tokens for ([\d,]+) needed",
        lambda computed, needed: (
            f"one in {number(needed) / (number(computed) - number(needed)) // 100 * 100 + 100:,.0f}"
        ),
    ),
    (
        "11",
        "both-md",
        "both-answer",
        r"V1 .* ([\d.]+) s",
        "one in a hundred of the pauses between two tokens is longer than {} seconds",
    ),
    (
        "11",
        "both-why",
        "both-answer",
        r"with both +(\d+) +([\d,]+) +([\d.]+) s.*\nV1 +(\d+) +([\d,]+) +([\d.]+) s",
        lambda *figures: (
            f"differ by about {['', 'one', 'two', 'three'][differing(*figures)]} percent at most."
        ),
    ),
    ("12", "loop-predict", "loop-answer", r"first step: (\d+)", "the prompt has {} tokens"),
    ("12", "loop-why", "loop-answer", r"keys read by the last: (\d+)", "and reads {}"),
    ("12", "look-why", "look-answer", r"with the words: (.+)", "`{}` is the only fact"),
    (
        "12",
        "damage-why",
        "damage-answer",
        r"harmless facts: (\d+)",
        lambda count: f"{['Nine', 'Ten', 'Eleven'][int(count) - 10]} facts are harmless",
    ),
    (
        "12",
        "v1-why",
        "bug-ledger",
        r"need \d+\s+blocks;\s+(\d+)\s+blocks[^*]* taken",
        "all {} blocks",
    ),
    ("12", "v1-why", "bug-ledger", r";\s+(\d+)\s+blocks[^*;]*reused", "finds {} of them"),
]


def number(text: str) -> int:
    return int(text.replace(",", ""))


def differing(*figures: str) -> int:
    """By how many percent at most the first half of the figures differs from the second."""
    values = [float(each.replace(",", "")) for each in figures]
    pairs = zip(values[: len(values) // 2], values[len(values) // 2 :], strict=True)
    return max(round(100 * abs(a - b) / b) for a, b in pairs)


@pytest.mark.parametrize(
    ("number", "words", "cell", "pattern", "said"),
    CLAIMS,
    ids=[f"{number}-{words}-{place}" for place, (number, words, *_) in enumerate(CLAIMS)],
)
def test_the_prose_says_what_was_printed(
    number: str, words: str, cell: str, pattern: str, said: str | Callable[..., str]
) -> None:
    cells = {each.id: each for each in chapter(number).cells}
    found = re.search(pattern, printed(cells[cell]), re.MULTILINE)
    assert found, f"{cell} no longer prints {pattern}"
    expected = said.format(*found.groups()) if isinstance(said, str) else said(*found.groups())
    assert expected in " ".join(cells[words].source.split()), f"{words} says something else"


def test_the_loads_that_chapter_1_names() -> None:
    """Up to one request a second hardly a wait; rows full from 1.5 on, pages from 4.5 on."""
    (text,) = (cell.source for cell in chapter("01").cells if cell.id == "load-why")
    assert "Up to one request a second hardly any request waits" in text
    assert "From about 1.5 on the rows are full" in text and "up to about 4.5" in text

    def wait(policy: str, load: float) -> float:
        run = simulate(paper.lengths("sharegpt", 300, rate=load), policy=policy, progress=False)
        seconds: float = run.requests.percentiles("time_to_first_token")["p50"]
        return seconds

    assert wait("max", 1.0) < 0.1 and wait("max", 1.5) > 10
    assert wait("paged", 4.5) < 0.1 and wait("paged", 5.0) > 1


def test_the_latent_vector_of_chapter_10() -> None:
    """40,960 numbers by definition, 576 as a latent vector, 71 times fewer."""
    v3 = ModelSpec.preset("deepseek-v3")
    (text,) = (cell.source for cell in chapter("10").cells if cell.id == "latent-why")
    by_definition, latent = 128 * ((128 + 64) + 128), v3.latent_dim
    said = f"{by_definition:,} numbers by definition, {latent} as a latent vector"
    assert f"{said}, {by_definition / latent:.0f} times fewer" in " ".join(text.split())


def test_the_order_of_freeing_hardly_matters_to_whole_prompts() -> None:
    """Chapter 11, section 2: old chains are gone, head and tail, when they are asked for again."""
    space: dict = {"v1": v1, "pagesim": pagesim}
    (cell,) = (each.source for each in chapter("11").cells if each.id == "stack")
    exec(
        cell.partition("sizes = ")[0].replace("manager.free(request)", "free(manager, request)"),
        space,
    )

    def found(order: int) -> float:
        def free(manager: v1.KVCacheManager, request: v1.Request) -> None:
            manager.block_pool.free_blocks(manager.pop_blocks_for_free(request)[::order])

        space["free"] = free
        rate: float = space["found"](space["MOONCAKE"], 8000)
        return rate

    (text,) = (cell.source for cell in chapter("11").cells if cell.id == "serve-md")
    assert "to within 0.02 percentage points" in text
    assert found(1) == pytest.approx(16.3, abs=0.05)
    assert found(-1) == pytest.approx(found(1), abs=0.02)
