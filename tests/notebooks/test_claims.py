"""Numbers that the prose repeats are those that the cells printed."""

from __future__ import annotations

import re

import pytest

import pagesim
from pagesim import v1
from pagesim.simulation import simulate
from pagesim.sizing import ModelSpec
from pagesim.studies import paper
from tests.notebooks.chapters import chapter, printed

# A chapter, the cell with the words, the cell that computes: what to look for in what it printed.
# Under it what the prose must say then: in braces A, B, … are the groups that were found, and
# a, b, … their numbers.
CLAIMS = r"""
01 rows-why rows-waits: slots with a token: (\d+) of .*\n.* have (\d+) tokens in all
    All six prompts together have {a + b} tokens
01 rows-why rows-waits: slots with a token: (\d+) of (\d+)
    {word(5 - 5 * a / b)} fifths
01 pages-why pages-batch: fewest free slots .*: (\d+)
    {A} slots or more are free
01 pages-why pages-batch: iterations: (\d+) with rows, (\d+) with pages
    in {"half" if round(a / b) == 2 else "all"} the iterations
01 words-why words-answer: token +(\d+).*\nreserved +(\d+).*\ninternal +(\d+)
    With rows: {A} tokens; {B} slots for the two answers; and {C},
01 figure2-why figure2: paged \(vLLM\): token ([\d.]+),.*?([\d.]+) requests at once
    more than {down(a, 5)} %, and the batch grows with them: 7 → more than {down(b, 10)}
01 block-md figure2: paged \(vLLM\): .*?internal ([\d.]+)
    some {A} % of the pool
01 oracle-why wrong-answer: rounding is internal +[\d.]+ +[\d.]+ +([\d.]+) +([\d.]+)
    some {b:.0f} % of the pool to holes and {a:.0f} % to dots
03 fill-md history: s0: (\d+) tokens
    its first {A} tokens
04 layout-md memory: K: a load of a warp reads (\d+) bytes
    are {A} bytes in a row
04 myths-md stages-v: rows of lane 0: \[(\d+), (\d+), (\d+), .* (\d+)\]
    lane 0 has {A}, {B}, {C}, … {D}.
05 figure8-md figure8-setup: \((\d), (\d), (\d),
    out again as {A}, {B}, {C}.
05 bytes-md figure8-check: before s1 writes: (.+)
    `append_slots` returned `{A}`
05 proof-why proof: block (\d) .* of s2\nblock (\d) .* of s1\nblock (\d) .* of s1 and s2
    Block {C} is read by both, blocks {A} and {B} each
06 can-why can: (\d+) +OK\n +\d+ +(\d+) +LATER
    With {A} free blocks it may: {A} - 3 = {a - 3}, and {a - 3} must stay free. With {B}
06 never-why never: 38 +(\d+) +\1 +LATER
    needs all {A} blocks
06 shared-why shared: the answer: on the CPU: \d, on the GPU: (\d)
    with {A} blocks instead of 2.
09 moves-why moves-result: \[(\d)\] \[\1\]\ncopies: \[\((\d), \1\)\] +swap in .*: \[\(0, \2\)\]
    *before the copy from {B} to {A} was made*. `s1` takes block {B}.
09 order-why order-result: answer: \[\[\d, (\d)\], \[\d, \1\]\]
    Block {A} twice!
09 order-why order-result: table of s1: \[\d, (\d),
    equal to `s0`'s block {A},
09 order-md order-result: answer: \[\[(\d), (\d)\], \[(\d), \2\]\]
    only block {B} is free. Two of its blocks, {A} and {C},
09 shared-md shared: naive\n.*\n.*\n +on the GPU: \[1, 0\] \[2, (\d)\]
    came home with {word(a + 1)}.
09 hit-why hit-check: lookups: 0\.6$
    two for `s0` (both missed)
10 token-why token: OPT-13B: .* (\d+) KiB
    The {A} KiB of OPT-13B
10 token-why token: by a factor of ([\d.]+)
    account for a factor of 1.25, and the heads for {a / 1.25:g}:
10 v0-why v0: counts that fit: (\d+)
    leaves {A} possible counts
10 v0-why v0: the log says ([\d,]+)
    {a // 32} of them fit
10 hybrid-tokens hybrid-concurrency: FullAttentionSpec .* most ([\d,]+) blocks
    a full group keeps {A} blocks
10 tensor-parallel-why tensor-parallel: GPU: \[\d+, \d+, \d+, (\d+), \1, \1\]
    From 8 on nothing is gained
11 queue-why stack-answer: V1's queue: .*? 8,000 ([\d.]+) %
    in a pool of 8,000 blocks the queue finds {a:.0f} %
11 victims-why victims-answer: from the end .* (\d+) %
    {word(a / 20)} fifths of the victim's tokens
11 swap-why swap-answer: recompute .* (\d+)   1   1\nV1 .* (\d+)   1   1
    brings {A} tokens and finds its two full blocks, {a - b} tokens, still there
11 swap-end swap-azure: swap +\d+ +0 +([\d,]+)\s
    moves {A} slots over the bus: {a * 800 / 2**20:.0f} GiB for OPT-13B.
11 swap-end swap-azure: recompute +(\d+) +([\d,]+) .*\n.*\nV1 +(\d+) +([\d,]+)\s
    V1 preempts almost {word(c / a)} times as often as V0, and yet it computes
    *{"less" if d < b else "more"}* again
11 sent-why sent-answer: whole tables: .* ([\d,]+) a step
    An id is small, and so are {A} of them.
11 null-why null-answer: (\d+)% of their tokens
    hold {"half" if round(a / 25) == 2 else "a quarter"} of their tokens
11 phases-why phases-answer: V1 .*\n.*\n +s1 +·   ·   ·   (\d)   \1   (\d)   1
    `s1` takes the {A} that are left. In step 6 the rest of its prompt is {B} tokens
11 ragged-why ragged-answer: s1: rows 0 to (\d+), (?:.*\n)+s2: rows (\d+) to (\d+), positions (\d)
    a whole prompt of {a + 1} rows. `s2` shares two full blocks with `s1`, so
    {word(c - b + 1)} rows are left, and they read the {word(d)} keys
11 async-why async-answer: ([\d,]+) tokens for ([\d,]+) needed
    one in {down(b / (a - b), 100) + 100:,}
11 both-md both-answer: V1 .* ([\d.]+) s
    one in a hundred of the pauses between two tokens is longer than {A} seconds
11 both-why both-answer: with both +(\d+) +([\d,]+) +([\d.]+) s.*\nV1 +(\d+) +([\d,]+) +([\d.]+) s
    differ by about {word(max(apart(a, d), apart(b, e), apart(c, f)))} percent at most.
12 loop-predict loop-answer: first step: (\d+)
    the prompt has {A} tokens
12 loop-why loop-answer: keys read by the last: (\d+)
    and reads {A}
12 look-why look-answer: with the words: (.+)
    `{A}` is the only fact
12 damage-why damage-answer: harmless facts: (\d+)
    {["Nine", "Ten", "Eleven"][a - 10]} facts are harmless
12 v1-why bug-ledger: need \d+\s+blocks;\s+(\d+)\s+blocks[^*]* taken
    all {A} blocks
12 v1-why bug-ledger: ;\s+(\d+)\s+blocks[^*;]*reused
    finds {A} of them
"""


WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")


def word(number: float) -> str:
    return WORDS[round(number)]


def down(number: float, unit: int) -> int:
    return int(number // unit * unit)


def apart(a: float, b: float) -> float:
    return 100 * abs(a - b) / b


def value(text: str) -> float | str:
    plain = text.replace(",", "")
    try:
        return int(plain) if plain.isdigit() else float(plain)
    except ValueError:
        return text


@pytest.mark.parametrize("claim", re.split(r"\n(?=\d)", CLAIMS.strip("\n")))
def test_the_prose_says_what_was_printed(claim: str) -> None:
    first, _, sentence = claim.partition("\n")
    cells, _, pattern = first.partition(": ")
    number, words, cell = cells.split()
    by_id = {each.id: each for each in chapter(number).cells}
    found = re.search(pattern, printed(by_id[cell]), re.MULTILINE)
    assert found, f"{cell} no longer prints {pattern}"
    names = dict(zip("ABCDEF", found.groups(), strict=False))
    names |= {name.lower(): value(text) for name, text in names.items()}
    expected = eval(f"rf'''{' '.join(sentence.split())}'''", globals(), names)
    assert expected in " ".join(by_id[words].source.split()), f"{words} says something else"


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
    sentence = f"{by_definition:,} numbers by definition, {latent} as a latent vector"
    assert f"{sentence}, {by_definition / latent:.0f} times fewer" in " ".join(text.split())


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
