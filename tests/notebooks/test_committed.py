"""The chapters as they are committed: executed, clean, and with words for every picture."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import nbformat

from tests.notebooks.chapters import chapter, every_chapter
from tools.course import NOTEBOOKS, ROOT
from tools.course.canonical import WIDGET, dumps, read
from tools.course.compare import DATA_URI


@every_chapter
def test_the_file_is_canonical(name: str) -> None:
    path = NOTEBOOKS / name
    nbformat.validate(chapter(name))
    assert path.read_text(encoding="utf-8") == dumps(read(path)), (
        f"python -m tools.course.execute --write {name}"
    )


@every_chapter
def test_it_was_executed_without_errors(name: str) -> None:
    notebook = chapter(name)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    outputs = [output for cell in cells for output in cell.outputs]
    assert outputs, "a chapter is committed with its outputs"
    errors = [output.evalue for output in outputs if output.output_type == "error"]
    assert errors == []
    counts = [cell.execution_count for cell in cells]
    counts += [output.get("execution_count") for output in outputs]
    assert set(counts) == {None}
    assert "widgets" not in notebook.metadata
    assert WIDGET not in json.dumps(notebook)


@every_chapter
def test_no_output_names_a_place_on_the_machine_that_ran_it(name: str) -> None:
    text = json.dumps([cell.get("outputs", []) for cell in chapter(name).cells])
    # Not inside the pictures: base64 may spell anything.
    text = DATA_URI.sub("", text)
    for place in {str(ROOT), str(Path.home()), "site-packages", "/tmp/"}:
        assert place not in text
    assert not re.search(r"\bat 0x[0-9a-f]{6,}", text), (
        "an object's address changes from run to run"
    )


@every_chapter
def test_knobs_leave_a_picture_where_nothing_can_be_turned(name: str) -> None:
    """What nbconvert, GitHub and a reader without a kernel or ipywidgets see: no widget."""
    for cell in chapter(name).cells:
        if cell.cell_type == "code" and "pagesim.explore(" in cell.source:
            (output,) = cell.outputs
            assert re.search(r"<(iframe|img|pre)\b", output.data["text/html"]), cell.id
            assert 'role="alert"' not in output.data["text/html"], cell.id


class Images(HTMLParser):
    """Collects the alt text (or None) of every image and the title of every iframe."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"img", "iframe"}:
            self.words.append(dict(attrs).get("alt" if tag == "img" else "title"))


def image_words(notebook: nbformat.NotebookNode) -> list[str | None]:
    words: list[str | None] = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            words += re.findall(r"!\[(.*?)\]", cell.source, re.DOTALL)
        sources = [cell.source] if cell.cell_type == "markdown" else []
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            sources += [data.get("text/html", "")]
            for mime in data:
                if mime.startswith("image/"):
                    words.append(output.metadata.get(mime, {}).get("alt"))
        for source in sources:
            parser = Images()
            parser.feed(source)
            words += parser.words
    return words


@every_chapter
def test_every_image_has_alt_text(name: str) -> None:
    words = image_words(chapter(name))
    assert all(text and len(text.split()) >= 3 for text in words), words
    assert words, "a chapter shows at least one picture"


def test_images_without_words_would_be_found() -> None:
    v4 = nbformat.v4
    outputs = [
        v4.new_output("display_data", {"image/png": "AAAA"}),
        v4.new_output("display_data", {"text/html": "<p><img src='x'><iframe title='t'></iframe>"}),
    ]
    cells = [v4.new_code_cell("1", outputs=outputs), v4.new_markdown_cell("![](a.png)")]
    assert image_words(v4.new_notebook(cells=cells)) == [None, None, "t", ""]
