"""Numbers that the prose repeats are those that the cells printed."""

import re

import pytest

import pagesim
from pagesim import v1
from pagesim.sizing import ModelSpec
from tests.notebooks.chapters import chapter, printed

# A chapter, the cell with the words, the cell that computes: what to look for in what it printed.
# Under it which numbers the prose must then have: in braces A, B, … are the groups that were found,
# and a, b, … their numbers.
CLAIMS = r"""
01 rows-why rows-waits: slots with a token: (\d+) of .*\n.* have (\d+) tokens in all
    {a + b}
01 pages-md pages-batch: steps: (\d+) contiguous
    {A}
01 pages-why pages-batch: fewest free slots .*: (\d+)
    {A}
01 words-why words-answer: token +(\d+).*\nreserved +(\d+).*\ninternal +(\d+)
    {A} {B} {C}
01 figure2-why figure2: paged \(vLLM\): token ([\d.]+),.*?([\d.]+) requests at once
    {down(a, 5)} {down(b, 10)}
01 block-md figure2: paged \(vLLM\): .*?internal ([\d.]+)
    {A}
04 figure8-md figure8-setup: \((\d), (\d), (\d),
    {A} {B} {C}
04 bytes-md figure8-check: before s1 writes: \[\((\d), (\d)\)\]
    {A} {B}
04 proof-why proof: block (\d) .* of s2\nblock (\d) .* of s1\nblock (\d) .* of s1 and s2
    {A} {B} {C}
05 can-why can: (\d+) +OK\n +\d+ +(\d+) +LATER
    {A} {a - 3} {B}
05 never-md never: 38 +(\d+) +\1 +LATER
    {A}
05 shared-why shared: the answer: on the CPU: \d, on the GPU: (\d)
    {A}
06 surprises-md order: copies \(from, to\): \[\(\d, (\d)\), \(\d, \1\)\]
    {A}
08 token-why token: OPT-13B: .* (\d+) KiB\n.*\nby a factor of ([\d.]+)
    {A} 1.25 {b / 1.25:g}
08 v0-why v0: the log says ([\d,]+)\ncounts that fit: (\d+)
    {A} {a // 32} {B}
08 tensor-parallel-why tensor-parallel: GPU: \[\d+, \d+, \d+, (\d+), \1, \1\]
    8
09 queue-why stack-answer: V1's queue: .*? 8,000 ([\d.]+) %
    {a:.0f}
09 victims-why victims-answer: from the end .* (\d+)%
    {word(a / 20)}
09 swap-why swap-answer: recompute .* (\d+)   1   1\nV1 .* (\d+)   1   1
    {a - b} {B}
09 swap-end swap-azure: swap +\d+ +0 +([\d,]+)\s
    {A} {a * 800 / 2**20:.0f}
10 phases-why phases-answer: V1 .*\n.*\n +s1 +·   ·   ·   (\d)   \1   (\d)   1
    {A} {B}
10 ragged-why ragged-answer: s1: rows 0 to (\d+), (?:.*\n)+s2: rows (\d+) to (\d+), positions (\d)
    {a + 1} {word(c - b + 1)} {word(d)}
10 async-why async-answer: ([\d,]+) tokens for ([\d,]+) needed
    {a - b} {A}
10 both-md both-answer: V1 .* ([\d.]+) s
    {A}
10 both-why both-answer: with both +(\d+) +([\d,]+) +([\d.]+) s.*\nV1 +(\d+) +([\d,]+) +([\d.]+) s
    {word(max(apart(a, d), apart(b, e), apart(c, f)))}
13 fill-md history: s0: (\d+) tokens
    {A}
14 layout-md memory: K: a load of a warp reads (\d+) bytes
    {A}
14 stages-logits-why stages-logits: for 8,192 tokens: ([\d,]+) bytes
    8,192 {a // 1024}
14 values-why values-answer: rows of lane 0: \[(\d+), (\d+), (\d+), .* (\d+)\]
    {A} {B} {C} {D}
15 rule-md shared-bytes: ([\d,]+) bytes of shared memory\n8,192 tokens: ([\d,]+)
    {a // 1024} {b // 1024}
16 loop-predict loop-answer: first step: (\d+)
    {A}
16 loop-why loop-answer: keys read by the last: (\d+)
    {A}
16 damage-why damage-answer: harmless facts: (\d+)
    {["nine", "ten", "eleven"][a - 10]}
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
    numbers = eval(f"rf'''{' '.join(sentence.split())}'''", globals(), names).split()
    prose = re.findall(r"[\d.,]*\d|\w+", by_id[words].source.casefold())
    assert [each for each in numbers if each not in prose] == [], f"{words} has other numbers"


def test_the_latent_vector_of_chapter_8() -> None:
    """40,960 elements by definition, 576 as a latent vector, 71 times fewer."""
    v3 = ModelSpec.preset("deepseek-v3")
    (text,) = (cell.source for cell in chapter("08").cells if cell.id == "latent-why")
    by_definition, latent = 128 * ((128 + 64) + 128), v3.latent_dim
    for number in (f"{by_definition:,}", f" {latent} ", f"{by_definition / latent:.0f} times"):
        assert number in " ".join(text.split())


def test_the_order_of_freeing_hardly_matters_to_whole_prompts() -> None:
    """Chapter 6, section 2: old chains are gone, head and tail, when they are asked for again."""
    space: dict = {"v1": v1, "pagesim": pagesim}
    (cell,) = (each.source for each in chapter("09").cells if each.id == "stack")
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

    assert found(1) == pytest.approx(16.3, abs=0.05)
    assert found(-1) == pytest.approx(found(1), abs=0.02)
