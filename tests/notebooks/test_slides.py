"""A chapter as slides, read without a browser: its sections, its cells, nothing from elsewhere."""

from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from pagesim.lesson.prediction import NONE_YET
from tests.documents import Document
from tools.course import NOTEBOOKS, site, slides

pytestmark = pytest.mark.ch00


@pytest.fixture
def reveal(tmp_path: Path) -> Path:
    """What is taken of reveal.js, empty."""
    for name in slides.REVEAL:
        (tmp_path / "reveal" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "reveal" / name).write_text("")
    return tmp_path / "reveal"


def printing(text: str, source: str = "1") -> NotebookNode:
    return new_code_cell(source, outputs=[new_output("stream", text=text)])


def columns(*cells: NotebookNode) -> list[list[slides.Slide]]:
    made = new_notebook(cells=[new_markdown_cell("# 1 · A"), *cells])
    return slides.stacks(site.Chapter("01_a", "1 · A", "", "", made))


def test_a_section_is_a_column_and_its_slides_say_which() -> None:
    long = printing("one\n" * 20, "long")
    first, second = columns(printing("0", "x"), new_markdown_cell("## 1. B\ntext"), long)
    assert [slide.text for slide in first] == ["# 1 · A"]
    assert first[0].code == "x", "a short output stands below its text"
    assert [(slide.heading, slide.code) for slide in second] == [("", ""), ("1. B", "long")]


def test_a_cell_that_shows_nothing_or_asks_is_no_slide() -> None:
    asks = new_output("execute_result", {"text/plain": NONE_YET})
    (column,) = columns(new_code_cell("setup = 1"), new_code_cell("a", outputs=[asks]))
    assert len(column) == 1


def test_a_folded_answer_is_no_slide_of_its_own() -> None:
    def showing(html: str) -> NotebookNode:
        shown = new_output("display_data", {"text/html": html, "text/plain": ""})
        return new_code_cell(html[:9], outputs=[shown])

    why = new_markdown_cell("<details><summary>Why?</summary>\n\nSo.\n\n</details>")
    answer = showing('<details class="answer">3</details>')
    (column,) = columns(new_markdown_cell("What?"), answer, why)
    assert [(slide.text, len(slide.below)) for slide in column] == [("# 1 · A", 0), ("What?", 2)]
    (column,) = columns(showing('<iframe class="pagesim-frame"></iframe>'), answer, why)
    assert [len(slide.below) for slide in column] == [0, 0, 1], "a player fills its slide"


def test_a_long_text_is_cut_between_paragraphs_but_not_within_an_answer() -> None:
    folded = "<details><summary>Why?</summary>\n\n" + "why. " * 100 + "\n\nmore\n\n</details>"
    texts = list(slides.parts("\n\n".join(["one. " * 150, "two. " * 150, folded])))
    assert [text[:4] for text in texts] == ["one.", "two.", "<det"]
    assert texts[2].endswith("</details>") and "more" in texts[2]
    head, rest = "a. " * 300, "* " + "b " * 400
    today = f"**In vLLM**\n\n{rest}"
    assert list(slides.parts(f"{head}\n\n{today}")) == [head, today]


def test_the_chapters_ask_for_nothing_outside_of_their_folder(reveal: Path, tmp_path: Path) -> None:
    written = slides.build(sorted(NOTEBOOKS.glob("*.ipynb")), tmp_path / "slides", reveal)
    assert len(written) == len(list(NOTEBOOKS.glob("*.ipynb")))
    folded = 0
    for path in written:
        page = Document(path.read_text(encoding="utf-8"))
        outside = [url for url in page.urls if not url.strip("'\"").startswith(("data:", "#"))]
        assert sorted(outside) == ["reveal/dist/reveal.css", "reveal/dist/reveal.js"], path.name
        assert all((path.parent / url).is_file() for url in outside)
        folded += page.folded
    assert folded > 20, "answers are folded here as well"


def test_without_reveal_js_it_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--reveal", str(tmp_path / "nowhere"), "-o", str(tmp_path / "slides")]
    assert slides.main(arguments) == 2
    assert "nowhere" in capsys.readouterr().err


def test_a_picture_has_a_slide_almost_to_itself_and_a_map_leaves_room() -> None:
    text = "word " * 60
    for alt, count in (("You are here. Kernels", 1), ("A server", 2)):
        assert len(list(slides.parts(f"{text}\n\n![{alt}](data:image/svg+xml;base64,AA)"))) == count
