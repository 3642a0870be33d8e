"""A chapter's pictures lie in its text, are the gallery's, and stay there on pages and slides."""

import base64
import re
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools.course import canonical, clean, pictures, site, slides
from tools.course.book import chapters

WRITTEN = "# 1 · Pages\n\n![](attachment:here_kernels.svg)\n\nOne.\n\n![old](attachment:merge.svg)"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A small chapter whose author has named two pictures, the second one in two cells."""
    said = new_code_cell("1", outputs=[new_output("stream", text="1\n")])
    texts = (WRITTEN, "## 2\n\n![](attachment:merge.svg)")
    cells = [*map(new_markdown_cell, texts), said]
    target = tmp_path / "01_pages.ipynb"
    target.write_text(canonical.dumps(new_notebook(cells=cells)), encoding="utf-8")
    return target


def test_a_picture_that_is_named_is_put_into_the_cell_once(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = path.read_bytes()
    assert pictures.main(["--check", str(path)]) == 1
    assert path.read_bytes() == before
    assert "cell 1 " in capsys.readouterr().out
    assert any("tools.course.pictures" in problem for problem in clean.problems(path))
    assert pictures.main([str(path)]) == 0
    filled = path.read_bytes()
    assert pictures.main([str(path)]) == pictures.main(["--check", str(path)]) == 0
    assert path.read_bytes() == filled != before
    assert clean.problems(path) == []
    first, second, _ = nbformat.read(path, as_version=4).cells
    assert first.source.startswith("# 1 · Pages\n\n![You are here. ")
    data = re.findall(r"^\[(\w+)\.svg\]: data:image/svg\+xml;base64,(\S+)$", first.source, re.M)
    assert [name for name, _ in data] == ["here_kernels", "merge"]
    for name, packed in data:
        assert base64.b64decode(packed) == (pictures.BOOK / f"{name}.svg").read_bytes()
    assert second.source.count("](") == 0 and "old" not in first.source.split("[merge.svg]")[0]


def test_a_stale_picture_or_stale_words_are_found(path: Path) -> None:
    pictures.main([str(path)])
    text = path.read_text(encoding="utf-8")
    for old, new in (("You are here", "You were here"), ("base64,P", "base64,Q")):
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        assert pictures.main(["--check", str(path)]) == 1
        pictures.main([str(path)])
        assert path.read_text(encoding="utf-8") == text


def test_a_picture_that_is_no_longer_named_leaves(path: Path) -> None:
    source = pictures.filled(WRITTEN)
    without = re.sub(r"!\[[^\]]*\]\[merge\.svg\]", "Two.", source)
    assert "[merge.svg]: data" not in pictures.filled(without)
    assert pictures.filled("Two.\n\n[a]: https://b") == "Two.\n\n[a]: https://b"


def test_a_picture_that_nobody_draws_is_refused(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path.write_text(path.read_text("utf-8").replace("merge", "nowhere"), encoding="utf-8")
    assert pictures.main([str(path)]) == 1
    error = capsys.readouterr().err
    assert "cell 1 " in error and "'nowhere'" in error and "merge" in error
    assert any("'nowhere'" in problem for problem in clean.problems(path))


def test_pages_and_slides_show_each_picture_where_it_stands(path: Path) -> None:
    pictures.main([str(path)])
    chapter = site.read(path)
    assert chapter.opening == "One."
    page = chapters.body(chapter)
    shown = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]+)" alt="([^"]+)"', page)
    assert len(shown) == 3
    for packed, words in shown:
        svg = base64.b64decode(packed).decode()
        assert f"<desc>{words}</desc>" in svg
    assert "[merge.svg]" not in page
    columns = slides.stacks(chapter)
    texts = [slide.text for column in columns for slide in column]
    assert sum(text.count("](data:image/svg") for text in texts) == 3
    assert not any("[merge.svg]" in text for text in texts)
    assert "# 1 · Pages" in texts[0] and "](data:" in texts[0], "a map stands beside its title"
    assert all(text.count("](data:") <= 1 for text in texts), "two pictures are too much for one"
