"""Numbers that the prose repeats are those that the cells printed."""

import re

import pytest

import pagesim
from pagesim import v1
from pagesim.sizing import ModelSpec
from tests.notebooks.chapters import chapter, printed, source
from tools.course import ROOT

CLAIMS = (ROOT / "tests/data/claims.txt").read_text(encoding="utf-8").partition("\n\n")[2]
"""The numbers of the prose; the file begins with how they are written."""

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
    by_definition, latent = 128 * ((128 + 64) + 128), v3.latent_dim
    for number in (f"{by_definition:,}", f" {latent} ", f"{by_definition / latent:.0f} times"):
        assert number in " ".join(source("08", "latent-why").split())


def test_the_order_of_freeing_hardly_matters_to_whole_prompts() -> None:
    """Chapter 6, section 2: old chains are gone, head and tail, when they are asked for again."""
    space: dict = {"v1": v1, "pagesim": pagesim}
    cell = source("09", "stack").partition("sizes = ")[0]
    exec(cell.replace("manager.free(request)", "free(manager, request)"), space)

    def found(order: int) -> float:
        def free(manager: v1.KVCacheManager, request: v1.Request) -> None:
            (table,) = manager.coordinator.single_type_managers
            blocks = table.pop_blocks_for_free(request.request_id)
            manager.block_pool.free_blocks(blocks[::order])

        space["free"] = free
        rate: float = space["found"](space["MOONCAKE"], 8000)
        return rate

    assert found(1) == pytest.approx(16.3, abs=0.05)
    assert found(-1) == pytest.approx(found(1), abs=0.02)
