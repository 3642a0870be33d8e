"""The site's pages, read without a browser: nothing from elsewhere, no TeX left, answers folded."""

import itertools
import re
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import pagesim
from tests.documents import Document
from tests.notebooks.chapters import markdown
from tools.course import NOTEBOOKS, site

pytestmark = pytest.mark.ch00

FORMULA = re.compile(r"\$\$.+?\$\$|\$[^$]+\$", re.DOTALL)
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The files of the site."""
    return site.build(sorted(NOTEBOOKS.glob("*.ipynb")), tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def pages(written: list[Path]) -> dict[str, Document]:
    """Every page of the site by its name."""
    return {path.stem: Document(path.read_text(encoding="utf-8")) for path in written}


def test_no_page_fetches_anything(pages: dict[str, Document]) -> None:
    for name, page in pages.items():
        outside = [url for url in page.urls if not url.strip("'\"").startswith(("data:", "#"))]
        assert outside == [], name
    assert sum(len(page.urls) for page in pages.values()) > 10, "nothing was looked at"


def test_every_link_leads_somewhere(written: list[Path]) -> None:
    """Among them those to the exercises, which are also on the site."""
    exercises = 0
    for page in written:
        for link in re.findall(r'<a [^>]*href="([^"#:]+)[^":]*"', page.read_text(encoding="utf-8")):
            assert (page.parent / link).is_file(), f"{page.name} links to {link}"
            exercises += link.startswith("exercises/")
    assert exercises == len(list(NOTEBOOKS.glob("*.ipynb")))


def test_every_picture_has_its_words(pages: dict[str, Document]) -> None:
    for name, page in pages.items():
        assert all(words and len(words.split()) >= 3 for words in page.pictures), name


def test_every_formula_is_mathml(pages: dict[str, Document]) -> None:
    total = 0
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        texts = [CODE.sub("", text) for text in markdown(nbformat.read(path, as_version=4))]
        formulas = sum(len(FORMULA.findall(text)) for text in texts)
        assert len(pages[path.stem].all("math")) == formulas, path.stem
        total += formulas
    assert total > 20


def chapter(*cells: nbformat.NotebookNode, name: str = "01_a") -> site.Chapter:
    notebook = new_notebook(cells=list(cells))
    return site.Chapter(name, "1 · A title", "It begins.", "about 5 minutes", notebook)


def test_tex_becomes_mathml_and_no_command_is_left() -> None:
    tex = r"$$\left\lfloor \frac{a}{b} \right\rfloor \cdot e^{m_\text{old}}$$ and $\ell_1$ in `$x`"
    made = chapter(new_markdown_cell(tex))
    page = site.render(made, [made])
    read = Document(page)
    assert len(read.all("math")) == 2
    texts = [read.texts[tag] for tag in read.texts if tag not in ("style", "script")]
    text = "".join(itertools.chain(*texts))
    assert "$x" in text and text.count("$") == 1
    assert "\\" not in text
    assert "<mfrac>" in page and 'display="block"' in page


def test_the_answer_to_a_prediction_is_folded() -> None:
    answer = pagesim.predict("ch00 x", None, lambda: "hidden").reveal()._repr_mimebundle_()
    cells = [
        new_code_cell("x", outputs=[new_output("stream", text="in sight")]),
        new_code_cell("x.reveal()", outputs=[new_output("execute_result", answer)]),
    ]
    made = chapter(*cells)
    page = site.render(made, [made])
    assert Document(page).folded == 1
    folded = re.findall(r"<details.*?</details>", page, re.DOTALL)
    assert len(folded) == 1 and "hidden" in folded[0] and "in sight" not in folded[0]
    assert "hidden" not in page.replace(folded[0], "")


def test_what_is_printed_is_escaped() -> None:
    made = chapter(new_code_cell("1", outputs=[new_output("stream", text="<script>x</script>&")]))
    assert "&lt;script&gt;x&lt;/script&gt;&amp;" in site.render(made, [made])


def test_chapters_lead_to_their_neighbours() -> None:
    a, b, c = (chapter(name=name) for name in ("00_a", "01_b", "02_c"))
    both = site.render(b, [a, b, c])
    assert both.count('<a rel="prev" href="00_a.html">') == 2
    assert both.count('<a rel="next" href="02_c.html">') == 2
    assert 'rel="prev"' not in site.render(a, [a, b, c])
    assert 'rel="next"' not in site.render(c, [a, b, c])


def test_the_index_has_a_card_for_each_chapter_and_the_first_player() -> None:
    players = [f'<div class="pagesim-player">{name}</div>' for name in ("first", "second")]
    shown = [new_output("execute_result", {"text/html": player}) for player in players]
    plain, playing = chapter(name="00_a"), chapter(new_code_cell("run", outputs=shown), name="01_b")
    page = site.index([plain, playing])
    assert page.count("<article>") == page.count("about 5 minutes") == 2
    assert page.index(">first</div>") < page.index('<a href="00_a.html">1 · A title</a>')
    assert "second" not in page and "Press <b>Play</b>" in page
    assert "Press <b>Play</b>" not in site.index([plain])


def test_a_chapter_without_title_or_outputs_is_refused(tmp_path: Path) -> None:
    for cells, words in (
        ([new_markdown_cell("no title")], "must begin with a title"),
        ([new_markdown_cell("# T"), new_code_cell("1")], "has no outputs"),
    ):
        path = tmp_path / "x.ipynb"
        nbformat.write(new_notebook(cells=cells), path)
        with pytest.raises(ValueError, match=words):
            site.read(path)


def test_what_scrolls_can_be_scrolled_by_keyboard_and_each_list_of_links_has_a_name() -> None:
    (chapter,) = [site.read(path) for path in NOTEBOOKS.glob("03_*.ipynb")]
    html = site.render(chapter, [chapter])
    wide = [text for text in re.findall(r"<pre>(.*?)</pre>", html, re.S) if "\n" in text]
    lines = [re.sub(r"<[^>]+>|&\w+;", "-", line) for text in wide for line in text.splitlines()]
    assert all(len(re.sub("-+", "-", line)) < 80 for line in lines)
    assert '<math tabindex="0"' in html and '<pre tabindex="0">' in html
    names = re.findall(r'<nav aria-label="([^"]+)">', html)
    assert len(set(names)) == len(names) == html.count("<nav") == 2
