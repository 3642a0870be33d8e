"""The chapters as they are committed: executed, clean, and with words for every picture."""

import re
from pathlib import Path

import nbformat

from tests.documents import Document
from tests.notebooks.chapters import chapter, code_cells, every_chapter
from tools.course import NOTEBOOKS, clean
from tools.course.canonical import WIDGET, dumps


@every_chapter
def test_it_is_clean_and_was_executed(name: str) -> None:
    assert clean.problems(NOTEBOOKS / name) == []
    assert any(cell.outputs for cell in code_cells(chapter(name)))


def test_what_must_not_be_committed_is_found(tmp_path: Path) -> None:
    v4 = nbformat.v4
    texts = [v4.new_output("stream", text=text) for text in ("site-packages", " at 0x7fabc0123")]
    failed = v4.new_output("error", evalue="it broke")
    widget = v4.new_output("display_data", {WIDGET: {}, "image/png": "/tmp/"})
    notebook = v4.new_notebook(cells=[v4.new_code_cell("1", outputs=[*texts, failed, widget])])
    path = tmp_path / "a.ipynb"
    path.write_text(dumps(notebook))
    assert len(clean.problems(path)) == 4
    notebook.cells[0].execution_count = 1
    nbformat.write(notebook, path)
    assert len(clean.problems(path)) == 6
    path.write_text('{"nbformat": 4, "nbformat_minor": 5, "cells": [{}], "metadata": {}}')
    assert len(clean.problems(path)) == 1
    assert clean.main([str(path)]) == 1
    assert clean.main([]) == 0


@every_chapter
def test_knobs_leave_a_picture_where_nothing_can_be_turned(name: str) -> None:
    """What nbconvert, GitHub and a reader without a kernel or ipywidgets see: no widget."""
    for cell in chapter(name).cells:
        if cell.cell_type == "code" and "pagesim.explore(" in cell.source:
            (output,) = cell.outputs
            assert re.search(r"<(iframe|img|pre)\b", output.data["text/html"]), cell.id
            assert 'role="alert"' not in output.data["text/html"], cell.id


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
            words += Document(source).pictures
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
