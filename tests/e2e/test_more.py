"""What a large or a busy cache shows: last owners, ages, chains, what sharing saves, names."""

import random

import pytest

import pagesim
from pagesim.player.colors import color_of
from tests.e2e import scenes
from tests.e2e.browser import Page
from tests.e2e.test_layout import rows
from tests.player.test_more import prefixes

NODES = "return document.querySelectorAll('.ps-stage *').length"
LINE = (
    "return [...document.querySelectorAll('.ps-stage .under text')].map((text) => text.textContent)"
)


def large(blocks: int = 20_480) -> pagesim.Timeline:
    """A real pool: ninety prompts, of which every third leaves."""
    rng, story = random.Random(1), pagesim.Story(gpu_blocks=blocks, cpu_blocks=100, block_size=16)
    for number in range(90):
        one = story.arrive([number] * rng.randrange(100, 3000))
        if number % 3 == 2:
            one.leave()
    return story.run


def crowd() -> pagesim.Timeline:
    """53 sequences in 256 blocks: more than there are colours and patterns."""
    story = pagesim.Story(gpu_blocks=256, block_size=16)
    for number in range(53):
        story.arrive([number] * (20 + number % 30))
    return story.run


def test_a_freed_block_keeps_an_outline_until_it_is_taken(page: Page) -> None:
    story = pagesim.Story(gpu_blocks=4, block_size=4)
    first = story.arrive(range(5), 0)
    first.leave()
    story.arrive(range(5), 1)
    outlines = (
        "return [...document.querySelectorAll('.ps-cell .last')].map((p) => p.getAttribute('fill'))"
    )
    page.show(story.run, 1)
    assert page.js(outlines) == []
    page.go(2)
    assert page.js(outlines) == ["#56B4E9"] * 2, "both, in the colour of s0"
    page.choose(1)
    assert "s0" in page.text(".ps-detail")
    page.go(3)
    assert page.js(outlines) == []


def test_the_ages_of_a_list_are_those_of_the_run(page: Page) -> None:
    run = scenes.small()
    page.show(run, len(run))
    row = page.look("row", "freed, steps ago")
    freed = [i + 1 for i in run.find(kind="free")]
    assert row, "the ages have a row"
    assert {int(text) for text in row if text.isdecimal()} <= {len(run) - step for step in freed}
    assert len(page.all(".ps-stage .floor")) == 2, "both lists are stacks: they have a bottom"
    page.show(prefixes(), 2)
    assert page.all(".ps-stage .floor") == [], "a queue has none"


def test_sharing_is_compared_with_none(page: Page) -> None:
    run = scenes.small()
    page.show(run)
    for step in range(len(run) + 1):
        page.js("pagesimPlayer.goto(arguments[0])", step)
        tables = [table.block_ids for table in run.at(step).tables.values()]
        used, alone = len({i for ids in tables for i in ids}), sum(map(len, tables))
        boxes = page.js(
            "const nodes = [...document.querySelectorAll('.counted')];"
            "return nodes.map((p) => p.getAttribute('d').split('M').length - 1)"
        )
        assert boxes == ([used, alone - used] if used < alone else []), step
        told = [text for text in page.js(LINE) if "without" in text]
        assert [text.split()[0] == str(used) and f" {alone}" in text for text in told] == [True] * (
            used < alone
        )


@pytest.mark.parametrize("width", [400, 1400])
def test_the_slots_that_a_step_wrote_are_framed(page: Page, width: int) -> None:
    """Their words, in the table and in the pool; before the beat that writes them, none."""
    run = scenes.small()
    page.size(width, 900)
    page.show(run)
    for step, event in enumerate(run, 1):
        tables = run.at(step).tables
        words = [
            f"{word}"
            for e in event.effects
            if e.kind == "write" and e.table is not None and e.first is not None
            for word in tables[e.table].token_ids[e.first : e.first + e.count]
        ]
        page.go(step)
        assert page.look("wordsWithin", ".over .outline") == sorted(2 * words), step
        if not words:
            continue
        for number in range(page.js("return pagesimPlayer.beats.length")):
            page.look("beat", number)
            assert page.all(".ps-stage .over .outline") == [], (step, number)


def test_the_end_of_a_lookup_is_in_the_tree(page: Page) -> None:
    page.show(prefixes(), 3)
    (end,) = page.look("boxes", ".over .candidate")[:1]
    at = {text["says"]: text for text in page.look("boxes", ".under.texts text")}
    found, missed = at["1: 1 2"], at["3: 7 8"]
    assert found["right"] < end["left"] < missed["left"]
    assert end["top"] < missed["y"] < end["bottom"]
    page.go(2)
    assert page.all(".over .candidate") == [], "nobody asks"


def found() -> pagesim.Timeline:
    """Two prompts begin alike: the second finds two blocks of the first."""
    story = pagesim.Story(gpu_blocks=12, block_size=4, engine="v1", caching=True)
    story.arrive(range(11))
    story.arrive([*range(8), 90, 91, 92])
    return story.run


def test_a_block_of_the_tree_has_the_colours_of_all_its_owners(page: Page) -> None:
    page.show(found(), 2)
    (text,) = page.look("boxes", ".under text", "1: 0 1 2 3")
    fills = page.js(
        """
        const [x, from, to] = arguments;
        const under = (one) => {
          const { left, right, top, bottom } = one.getBoundingClientRect();
          return left < x && x < right && top < to && bottom > from;
        };
        const rects = [...document.querySelectorAll('.ps-stage .under.rects rect')];
        return rects.filter(under).map((rect) => rect.getAttribute('fill'));""",
        text["x"], text["top"], text["bottom"],
    )  # fmt: skip
    assert {color_of(0), color_of(1)} <= set(fills)


def test_a_block_of_the_tree_says_where_it_differs(page: Page) -> None:
    """Where there is no room for all of its words."""
    story = pagesim.Story(gpu_blocks=12, block_size=4, engine="v1", caching=True)
    for last in ("What", "Why did the author stop"):
        story.arrive(f"You are a helpful assistant who answers in one short sentence {last}")
    page.show(story.run, 2)
    texts = [one["says"] for one in page.look("boxes", ".ps-stage text")]
    assert [text for text in texts if "\u2026 " in text] == ["3: \u2026 What", "4: \u2026 Why"]


@pytest.mark.parametrize(("step", "rows"), [(1, 0), (2, 2)])
def test_what_was_found_is_signed_in_the_table(page: Page, step: int, rows: int) -> None:
    """And framed apart from what is new."""
    run = found()
    page.show(run, step)
    (head,) = page.look("boxes", ".heading", "GPU pool")
    signs = [one for one in page.look("boxes", ".over text", "\u25ce") if one["x"] < head["left"]]
    frames = [one for one in page.look("boxes", ".over .frame") if one["x"] < head["left"]]
    assert (len(signs), len(frames)) == (rows, 1 + (rows > 0))


def test_a_large_pool_is_one_picture_with_a_part_enlarged(page: Page) -> None:
    run = large()
    page.show(run, len(run) - 1)
    assert page.js(NODES) < 1200, "not a node per block"
    shown = [int(cell.get_attribute("data-block")) for cell in page.all(".ps-cell")]
    changed = {effect.block for effect in run[len(run) - 2].effects}
    assert changed & set(shown), "the part where the step is"
    page.fill(".ps-search", "block 15001")
    page.wait('.ps-cell[data-block="15001"] [aria-pressed="true"]')
    page.one('.ps-cell[data-block="15022"] [role=button]').send_keys("\ue014\ue014\ue014")
    page.until("return document.activeElement.closest('.ps-cell').dataset.block === '15025'")
    where = """
        const rects = [...document.querySelectorAll('.ps-stage .under.rects rect')];
        const rect = rects.find((r) => r.hit?.at);
        const { left, top } = rect.getBoundingClientRect();
        const at = { clientX: left + 1, clientY: top + 1, bubbles: true };
        rect.dispatchEvent(new MouseEvent('click', at));"""
    page.js(where)
    page.wait('.ps-cell[data-block="0"] [aria-pressed="true"]')
    assert page.console() == []


def test_contiguous_memory_has_nodes_for_requests_alone(page: Page) -> None:
    requests = pagesim.workload.paper_sharegpt(6, seed=0)
    run = pagesim.simulate(requests, policy="max", pool=8192, record=True, progress=False).timeline[
        :300
    ]
    page.show(run, len(run))
    tables = len(run.at(len(run)).tables)
    assert tables > 1
    assert page.js(NODES) < 150 + 40 * tables, "not a node per slot"
    page.show(rows(), 10)
    first, second = list(rows().at(10).tables)[:2]
    page.one(".ps-cell").send_keys("\ue014\ue007")
    page.until("return location.hash.includes('follow=')")
    assert f"{second}" in page.js("return location.hash"), (first, second)
    assert len(page.all(".ps-cell.dim")) == len(rows().at(10).tables) - 1


@pytest.mark.parametrize("width", [400, 768, 1000])
def test_whose_a_small_cell_is_can_be_read(page: Page, width: int) -> None:
    run = crowd()
    page.size(width, 900)
    page.show(run, len(run))
    state = run.at(len(run))
    owner = {block: name for name, table in state.tables.items() for block in table.block_ids}
    looks: dict[str, set[int]] = {}
    for cell in page.all(".ps-cell"):
        block = int(cell.get_attribute("data-block"))
        if block not in owner:
            continue
        paint, words = page.js(
            "const all = (css) => [...arguments[0].querySelectorAll(css)];"
            "return [all('path').map((p) => p.getAttribute('fill')).join(),"
            "all('.mid').map((t) => t.textContent).join()]",
            cell,
        )
        if words:
            looks.setdefault(f"{paint} {words}", set()).add(owner[block])
            assert {f"s{owner[block]}", str(owner[block])} & set(words.split(",")), words
    assert len(set().union(*looks.values())) > 40, "most cells are named"
    assert all(len(owners) == 1 for owners in looks.values())
