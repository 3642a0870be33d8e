"""The picture of a damaged page shows what the small model writes."""

import json

import pytest

from pagesim.figures.book.kit import DATA


def test_the_words_of_a_damaged_page_are_the_models() -> None:
    pytest.importorskip("torch", reason="the small model needs torch")
    from tools import word_path

    assert json.loads((DATA / "word_path.json").read_text(encoding="utf-8")) == word_path.run()
