"""Numbers that the prose repeats are those that the cells printed."""

import re

import pytest

import pagesim
from pagesim import v1
from pagesim.sizing import ModelSpec, size_v1
from pagesim.sizing.mamba_block_size import align_hybrid_block_size
from pagesim.studies import crossover
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


def test_the_gigabytes_and_layers_of_chapter_11() -> None:
    """Section 1: what Gemma 3 12B keeps of 32,768 tokens, and what it would keep without groups."""
    gemma = ModelSpec.preset("gemma-3-12b")
    windows, text = len(gemma.sliding_layers), 32_768
    full = gemma.num_layers - windows
    token = 2 * gemma.num_kv_heads * gemma.head_dim * 2
    assert (full, windows, gemma.sliding_window) == (8, 40, 1024)
    kept, recent, uniform = (
        layers * tokens * token / 2**30
        for layers, tokens in ((full, text), (windows, 1024), (gemma.num_layers, text))
    )
    words = source("11", "tables-md")
    for number in (f"{kept:.0f} GiB in all", f"{recent:.1f} GiB", f"would be {uniform:.0f} GiB"):
        assert number in words
    assert 1 - (kept + recent) / uniform == pytest.approx(4 / 5, abs=0.01)


def test_the_blocks_beside_states_of_chapter_11() -> None:
    """528, and 576 on an H100; 544 of Qwen3-Next, which fp8 makes 1,072: 1.84 times as many."""
    state, token = 2_146_304, 4096
    qwen = size_v1(ModelSpec.preset("qwen3.5-9b"), "20GiB").aligned
    assert qwen is not None and (qwen.state_bytes, qwen.bytes_per_token) == (state, token)
    assert f"{state:,} bytes" in source("11", "state-md")
    a100, h100 = (
        align_hybrid_block_size(state, token, checkpoint_alignment=each).block_size
        for each in (None, 64)
    )
    words = source("11", "state-why")
    assert f"{h100} instead of {a100}" in words
    plain, fp8 = (
        size_v1(
            ModelSpec.preset("qwen3-next-80b"),
            "20GiB",
            max_model_len=32_768,
            max_num_batched_tokens=8192,
            kv_cache_dtype=dtype,
        )
        for dtype in ("auto", "fp8")
    )
    assert f"({plain.block_size} on an A100" in words
    box = source("11", "boxes")
    assert f"gets {fp8.block_size:,} tokens instead of {plain.block_size}" in box
    more = fp8.max_concurrency(32_768) / plain.max_concurrency(32_768)
    assert f": {more:.2f} times as many requests fit" in box


def test_the_padding_of_chapter_11() -> None:
    """Eight of 70 places are 11.4 %, and the log counts them against the 52 layers with windows."""
    gemma = ModelSpec.preset("gemma-3-27b")
    windows = len(gemma.sliding_layers)
    places = 7 * (gemma.num_layers - windows)
    empty = places - gemma.num_layers
    words = source("11", "log-why")
    assert f"of the {places} places are empty" in words
    assert f"{100 * empty / places:.1f} % is never used" in words
    assert f"Add {empty} padding layers, may waste at most {100 * empty / windows:.2f}%" in words
    assert f"of the {windows} layers" in words


def test_what_a_load_saves_in_chapter_12() -> None:
    """Section 3: microseconds to compute and to load a token, and the crossover by the formula."""
    older, newer = (crossover.LoadOrCompute.of(name) for name in ("llama-2-7b", "llama-3.1-8b"))
    computed, loaded = (
        [round(1e6 * getattr(one, way)) for one in (older, newer)]
        for way in ("compute_per_token", "load_per_token")
    )
    said = " ".join(source("12", "pays-why").split())
    assert "about {} microseconds in one model and {} in the other".format(*computed) in said
    assert "To load it takes {} and {}.".format(*loaded) in said
    saved = [one - other for one, other in zip(computed, loaded, strict=True)]
    assert f"saves {saved[0]} microseconds" in said and f"saves {saved[1]} a token" in said
    assert f"costs {1e6 * older.wait_seconds:,.0f}" in said
    assert f"{older.crossover(pairs=False):,.0f} tokens until the two are equal" in said
    facts = source("12", "pays-md")
    assert (
        f"{older.bytes_per_token:,.0f} bytes" in facts
        and f"{newer.bytes_per_token:,.0f} bytes" in facts
    )


def test_the_report_on_lmcache_in_chapter_12() -> None:
    """Section 3: what follows from the 14.68 and 13.13 prompts per second of about 3,060 tokens."""
    said, measured = source("12", "pays-why"), crossover.Measured()
    alone, tiered = (f"{rate:.2f}" for rate in (measured.alone, measured.tiered))
    assert f"{alone} prompts per second, but only {tiered}" in said
    tokens, needed = measured.prefilled, measured.needed
    assert f"{tokens:,.0f} tokens per second: one in {1e6 / tokens:.1f} microseconds" in said
    assert f"takes {needed / 1e9:.1f} GB per second" in said
    older = crossover.LoadOrCompute.of(measured.model)
    gained = measured.num_tokens * (1 / tokens - older.load_per_token)
    assert f"saves {1e3 * gained:.0f} milliseconds" in said
    assert f"less than the wait of {1e3 * older.wait_seconds:.0f}" in said
    assert f"each prompt's {measured.bytes_per_prompt / 1e9:.1f} GB" in said
