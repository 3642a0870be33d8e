"""The site's pages, read without a browser: what is in them, and nothing from elsewhere."""

import base64
import gzip
import importlib.util
import itertools
import json
import re
import sys
from html import unescape
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import pagesim
from pagesim.player.page import packed_script
from tests.documents import Document
from tests.notebooks.chapters import markdown
from tools.course import NOTEBOOKS, site
from tools.course.book import chapters, landing, page, pictures, players, predictions, search, tiles

pytestmark = pytest.mark.ch00

FORMULA = re.compile(r"\$\$.+?\$\$|\$[^$]+\$", re.DOTALL)
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The chapters and their exercises; the browser's tests make the whole site."""
    target = tmp_path_factory.mktemp("site")
    site.build(PATHS, target, ["chapters", "exercises"])
    return target


@pytest.fixture(scope="module")
def pages(folder: Path) -> dict[str, Document]:
    """Every chapter by its name."""
    return {path.stem: Document(path.read_text("utf-8")) for path in folder.glob("[01]*.html")}


def test_no_page_fetches_from_elsewhere(folder: Path, pages: dict[str, Document]) -> None:
    texts = [path.read_text("utf-8") for path in (folder / "assets").glob("run-*.js")]
    runs = {text[:60]: Document(json.loads(text[text.index("]=") + 2 : -1])) for text in texts}
    assert len(runs) > 20
    for name, each in {**pages, **runs}.items():
        outside = [url for url in each.urls if not url.strip("'\"").startswith(("data:", "#"))]
        assert all((folder / url).is_file() for url in outside), name
    assert sum(len(each.urls) for each in pages.values()) > 10, "nothing was looked at"


def test_a_link_leads_to_a_page_of_the_site_or_is_none(tmp_path: Path) -> None:
    def found(path: str) -> str | None:
        return {"notebooks/02_b.ipynb": "02_b.html", "kernels/k.py": "docs/k.html"}.get(path)

    body = '<a href="02_b.ipynb#x">b</a> <a href="../kernels/k.py">k</a> <a href="secret.md">s</a>'
    made = page.Page("sub/01_a.html", "A", body, "notebooks/01_a.ipynb")
    assert page.linked(made, found) == (
        '<a href="../02_b.html#x">b</a> <a href="../docs/k.html">k</a> s'
    )
    for name, words in (("a", '<a href="b.html#here">'), ("b", '<h2 id="here">')):
        (tmp_path / f"{name}.html").write_text(words, encoding="utf-8")
    assert site.broken(tmp_path) == []
    (tmp_path / "a.html").write_text('<a href="b.html#gone"><img src="c.svg">', encoding="utf-8")
    assert len(site.broken(tmp_path)) == 2


def test_every_page_has_a_title_and_a_description(folder: Path) -> None:
    texts = [path.read_text("utf-8") for path in folder.rglob("*.html")]
    assert len(texts) > 2 * len(PATHS)
    for tag in (r"<title>([^<]+)", r'<meta name="description" content="([^"]+)"'):
        found = [re.search(tag, text) for text in texts]
        assert all(found), tag
        assert len({each[1] for each in found if each}) > len(texts) * 0.8, "they differ"


def test_every_picture_has_its_words(pages: dict[str, Document]) -> None:
    for name, each in pages.items():
        shown = [words for words in each.pictures if words != ""]  # the sign on top has none
        assert all(words and len(words.split()) >= 3 for words in shown), name


def test_every_formula_is_mathml(pages: dict[str, Document]) -> None:
    total = 0
    for path in PATHS:
        texts = [CODE.sub("", text) for text in markdown(nbformat.read(path, as_version=4))]
        formulas = sum(len(FORMULA.findall(text)) for text in texts)
        assert len(pages[path.stem].all("math")) == formulas, path.stem
        total += formulas
    assert total > 20


def chapter(*cells: nbformat.NotebookNode, name: str = "01_a") -> chapters.Chapter:
    notebook = new_notebook(cells=list(cells))
    return chapters.Chapter(name, "1 · A title", "It begins.", "about 5 minutes", notebook)


def test_tex_becomes_mathml_and_no_command_is_left() -> None:
    tex = r"$$\left\lfloor \frac{a}{b} \right\rfloor \cdot e^{m_\text{old}}$$ and $\ell_1$ in `$x`"
    html = chapters.body(chapter(new_markdown_cell(tex)))
    read = Document(html)
    assert len(read.all("math")) == 2
    text = "".join(itertools.chain(*read.texts.values()))
    assert "$x" in text and text.count("$") == 1
    assert "\\" not in text
    assert "<mfrac>" in html and 'display="block"' in html


def asked(mine: str, truth: object, within: float = 0.0) -> str:
    """A prediction as a chapter has it: its cell, and the cell that reveals the answer."""
    source = f'x = pagesim.predict("ch00 x", {mine}, truth=f, within={within})'
    answer = pagesim.predict("ch00 x", None, lambda: truth).reveal()._repr_mimebundle_()
    none_yet = new_output("execute_result", {"text/plain": "No prediction yet. Write yours …"})
    return chapters.body(
        chapter(
            new_code_cell(source, outputs=[none_yet]),
            new_code_cell("x.reveal()", outputs=[new_output("execute_result", answer)]),
        )
    )


@pytest.mark.parametrize(
    ("mine", "truth", "fields"),
    [
        ("None", 33.93, {"": "33.93"}),
        ('{"s1": None, "s2": None}', {"s1": [7, 3], "s2": [7]}, {"s1": "[7, 3]", "s2": "[7]"}),
        ('{"8,000": None}', {"8,000": 3.5}, {"8,000": "3.5"}),
        ('{"found, percent": None, "factor": None}', {"found, percent": 94, "factor": 10},
         {"found, percent": "94", "factor": "10"}),
        ("dict.fromkeys(prompts)", {"a": [1, 2], "b": 3}, {"a": "[1, 2]", "b": "3"}),
    ],
)  # fmt: skip
def test_a_prediction_is_typed_into_the_page(
    mine: str, truth: object, fields: dict[str, str]
) -> None:
    html = asked(mine, truth, 0.1)
    read = Document(html)
    (form,) = read.all("form")
    assert '"within": 0.1' in (form["data-asked"] or "")
    answers = [each["data-answer"] for each in read.all("input")]
    assert answers == list(fields.values())
    labels = [unescape(name) for name in re.findall(r"<label><span>(.*?)</span>", html)]
    assert labels == [name or "Your prediction" for name in fields]
    assert "No prediction yet" not in html
    assert read.folded == 1, "the answer stays folded"
    source = predictions.asked(f"x = pagesim.predict('n', {mine}, truth=f)")
    assert source is not None and source.name == "n" and source.within == 0.0


def test_every_prediction_of_the_course_can_be_made_on_its_page(folder: Path) -> None:
    for path in PATHS:
        count = path.read_text("utf-8").count("pagesim.predict(")
        html = (folder / f"{path.stem}.html").read_text("utf-8")
        assert html.count('<form class="predict"') == count, path.stem


def test_code_that_only_prepares_is_folded() -> None:
    hidden = new_code_cell("secret = 1", metadata={"jupyter": {"source_hidden": True}})
    html = chapters.body(chapter(new_code_cell("import math"), hidden, new_code_cell("math.pi")))
    assert html.count('<details class="fold">') == 2
    assert html.rindex("</details>") < html.index("pi")


def player(number: int) -> nbformat.NotebookNode:
    shown = {"text/html": f'<iframe class="pagesim-frame">{number}</iframe>'}
    return new_code_cell(f"run{number}", outputs=[new_output("execute_result", shown)])


def test_a_player_is_beside_the_paragraphs_of_its_section() -> None:
    texts = [new_markdown_cell(text) for text in ("# T", "## One", "leads", "behind", "## Two")]
    title, one, leads, behind, two = texts
    html = chapters.body(chapter(title, one, leads, player(1), behind, player(2), two))
    parts = re.split(r'<div class="(?=plain|beside)', html)[1:]
    kinds = [part.split('"')[0] for part in parts]
    assert kinds == ["plain", "beside", "beside", "plain"]
    assert all(word in parts[1] for word in ("One", "leads", ">1<"))
    assert "behind" in parts[2] and ">2<" in parts[2], "a text that leads to the next player"


def test_the_script_of_all_players_is_one_file() -> None:
    story = pagesim.Story(gpu_blocks=4, block_size=2)
    story.arrive("It's & <b>")
    original = story.run._repr_html_()
    scripts = players.Scripts()
    light = scripts.taken(original * 2)
    names = re.findall(r'data-(?:script|document)="([^"]*)"', light)
    assert names[:2] == names[2:] and len(scripts.files) == 2
    script, inside = (
        json.loads(scripts.files[f"assets/{name}.js"].split("]=", 1)[1][:-1]) for name in names[:2]
    )
    assert script == packed_script()
    assert len(light) < 2 * (len(original) - len(inside) - len(script))
    tag = '<template id="pagesim-script">'
    before = re.findall(r"srcdoc='([^']*)'", original)[0]
    assert inside.replace(tag, tag + script) == unescape(before)


def test_what_is_printed_is_escaped() -> None:
    cell = new_code_cell("1", outputs=[new_output("stream", text="<script>x</script>&")])
    assert "&lt;script&gt;x&lt;/script&gt;&amp;" in chapters.body(chapter(cell))


def test_chapters_lead_to_their_neighbours(folder: Path) -> None:
    before, here, after = PATHS[4:7]
    html = (folder / f"{here.stem}.html").read_text("utf-8")
    assert f'<a rel="prev" href="{before.stem}.html">' in html
    assert f'<a rel="next" href="{after.stem}.html">' in html
    first, last = ((folder / f"{PATHS[n].stem}.html").read_text("utf-8") for n in (0, -1))
    assert 'rel="prev"' not in first and 'rel="next"' not in last


def test_a_picture_is_a_file_whose_size_is_known(tmp_path: Path) -> None:
    svg = '<svg width="30pt" height="12pt" viewBox="0 0 30 12"><text font-size="10">a</text></svg>'
    data = base64.b64encode(svg.encode()).decode()
    shelf = pictures.Pictures()
    html = f'<img alt="a" src="data:image/svg+xml;base64,{data}">'
    first, second = Document(shelf.taken(html * 2, "museum/a.html")).all("img")
    assert (first["width"], first["height"]) == ("40", "16")
    assert (first.get("loading"), second.get("loading")) == (None, "lazy"), "the first is seen"
    ((url, text),) = shelf.files.items()
    assert text == svg and first["src"] == f"../{url}"


def test_every_picture_has_a_size(folder: Path) -> None:
    for path in folder.rglob("*.html"):
        for each in Document(path.read_text("utf-8")).all("img"):
            file = path.parent / (each["src"] or "")
            assert file.is_file() and file.suffix in (".svg", ".png"), each
            assert each.get("width") or "thumbs" in file.parts, each


def test_a_picture_is_never_smaller_than_its_letters() -> None:
    svg = (
        '<svg viewBox="0 0 540 72"><text font-size="10">a</text><text font-size="20">b</text></svg>'
    )
    assert pictures.least_width(svg) == 594
    assert pictures.least_width('<svg viewBox="0 0 9 9"/>') == 0


def test_the_search_finds_a_section_and_no_code() -> None:
    body = '<h1>T</h1><p>one</p><h2 id="s">Second</h2><p>two</p><pre>hidden</pre>'
    text = search.index([(page.Page("a.html", "T", body), body)])
    assert '["a.html#s", "T", "Second", "two"]' in text and "hidden" not in text


def test_the_first_page_has_the_race_and_every_chapter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landing, "sweep", list)
    known = [site.read(path) for path in PATHS]
    made = landing.page(known)
    assert made.body.count('class="pagesim-timeline"') == 2 + 3, "a race and three tiles"
    assert all(f'href="{each.name}.html"' in made.body for each in known)
    hero = made.body[made.body.index('<div class="lead">') : made.body.index('<div class="race">')]
    assert len(Document(hero).texts) and len(re.sub(r"<[^>]+>", " ", hero).split()) < 60
    for name in landing.TILES:
        live = Document(made.extra[f"live/{name}.html"])
        assert {"../index.html", f"../{known[int(tiles.READ_IN[name])].name}.html"} <= {
            attrs["href"] for tag, attrs in live.tags if tag == "a"
        }
        heads = [attrs for tag, attrs in live.tags if tag in ("meta", "link")]
        assert any(it.get("name") == "description" and it["content"] for it in heads)
        assert any(it.get("rel") == "icon" and "svg" in str(it["href"]) for it in heads)
    assert f"{landing.facts()[0][0]} recordings" in (NOTEBOOKS.parent / "README.md").read_text(
        "utf-8"
    )


def test_a_tile_shows_the_kernel_also_where_none_can_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own film, or else the one that a chapter shows."""
    known = [site.read(path) for path in PATHS if path.stem.startswith(("04", "13"))]
    run = landing.race()["paged"]
    own = tiles.shown(known, run)["who"]
    monkeypatch.setitem(sys.modules, "torch", None)
    chapters = tiles.shown(known, run)["who"]
    assert own != chapters or importlib.util.find_spec("triton") is None
    for frame in (own, chapters):
        text = tiles.alone("who", frame, "Who: reads", known)
        (packed,) = re.findall(r'class="pagesim-timeline">([^<]+)<', text)
        assert b'"reads":' in gzip.decompress(base64.b64decode(packed))


def test_the_sweep_shows_what_pages_are_for() -> None:
    cells = {row["block"]: row for row in landing.sweep((300,), (12,))}
    assert cells[16]["batch"] > 4 * cells[0]["batch"]
    assert cells[1]["token"] > cells[16]["token"] > cells[256]["token"] > cells[0]["token"]
    for row in cells.values():
        parts = ("token", "reserved", "internal", "external", "free")
        assert sum(row[part] for part in parts) == pytest.approx(100, abs=0.3)


def test_a_chapter_without_title_or_outputs_is_refused(tmp_path: Path) -> None:
    for cells, words in (
        ([new_markdown_cell("no title")], "must begin with a title"),
        ([new_markdown_cell("# T"), new_code_cell("1")], "has no outputs"),
    ):
        path = tmp_path / "x.ipynb"
        nbformat.write(new_notebook(cells=cells), path)
        with pytest.raises(ValueError, match=words):
            site.read(path)


def test_what_scrolls_can_be_scrolled_by_keyboard_and_each_list_of_links_has_a_name(
    folder: Path,
) -> None:
    html = next(folder.glob("03_*.html")).read_text("utf-8")
    wide = [text for text in re.findall(r"<pre>(.*?)</pre>", html, re.S) if "\n" in text]
    lines = [re.sub(r"<[^>]+>|&\w+;", "-", line) for text in wide for line in text.splitlines()]
    assert all(len(re.sub("-+", "-", line)) < 80 for line in lines)
    assert '<math tabindex="0"' in html and '<pre tabindex="0">' in html
    names = re.findall(r'<nav[^>]* aria-label="([^"]+)">', html)
    assert len(set(names)) == len(names) == html.count("<nav") == 2
