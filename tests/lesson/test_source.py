"""A kernel's own drawings and source, shown in a chapter."""

import re
from types import ModuleType

import pytest

from pagesim.kernels import softmax
from pagesim.kernels.attention import v1
from pagesim.lesson import drawing, source

V1 = v1.paged_attention_v1_kernel


@pytest.mark.parametrize("module", [softmax, v1])
def test_a_drawing_is_the_docstring_without_its_last_line(module: ModuleType) -> None:
    shown = drawing(module)
    assert "**The problem.**" in repr(shown) and "Tested in" not in repr(shown)
    page = shown._repr_html_()
    assert "<b>The problem.</b>" in page and "<b>The idea.</b>" in page
    text = re.sub(r"<[^>]+>|[*`\s]", "", page)
    words = re.sub(r"[*`\s]", "", module.__doc__.split("Tested in")[0])
    escaped = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert text == escaped.replace("'", "&#x27;").replace('"', "&quot;")


def test_what_is_drawn_stays_in_its_columns() -> None:
    (drawn, *_) = re.findall(r"<pre>(.*?)</pre>", drawing(v1)._repr_html_(), re.S)
    lines = drawn.splitlines()
    assert lines[0].startswith("block_size = 4") and lines[2].startswith("block_tables[b]")
    columns = {line.index("|") for line in lines if "|" in line}
    assert columns == {lines[2].index("7")}, "the arrows begin under the 7"


def test_the_source_of_a_kernel_or_a_part_of_it() -> None:
    whole = source(V1)
    assert whole.startswith("@") and "tl.store(" in whole
    part = source(V1, "for step in range", "m = new_m").splitlines()
    assert part[0].startswith("for step in range") and part[-1] == "    m = new_m"
    assert "\n".join(part) in whole.replace("\n    ", "\n")


def test_a_line_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match="no line contains 'for page in'"):
        source(V1, "for page in")
