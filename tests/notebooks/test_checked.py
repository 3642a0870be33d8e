"""A chapter shows a kernel's answer beside NumPy's, and needs nothing of later chapters."""

import re
from importlib import import_module
from inspect import cleandoc

import pytest

from tests.notebooks.chapters import chapter, code_cells, every_chapter, printed

KERNEL = re.compile(r"kernels\.(paged_attention_v1|paged_attention_v2|paged_prefill)\(")
DRAWN = [
    ("04", "kernels.block_copy"),
    ("13", "kernels.attention.v1"),
    ("15", "kernels.attention.v2"),
    ("15", "kernels.attention.partitions"),
    ("06", "kernels.attention.prefill"),
]


@every_chapter
def test_an_answer_of_a_kernel_stands_beside_the_reference(name: str) -> None:
    code = "\n".join(cell.source for cell in code_cells(chapter(name)))
    if KERNEL.search(code):
        assert re.search(r"side_by_side|NumPy|reference\[", code), "its reader sees no second row"
        checked = r"assert_matches_reference\(|reference\.\w+_attention\("
        assert re.search(checked, code), "the reference is not asked"


@every_chapter
def test_no_verdict_stands_for_numbers(name: str) -> None:
    """Two rows side by side say more than True."""
    for cell in code_cells(chapter(name)):
        verdicts = re.findall(r"^.*\b(?:True|False)$", printed(cell), re.MULTILINE)
        assert verdicts == [], cell.id


@every_chapter
def test_prefix_caching_waits_for_its_chapter(name: str) -> None:
    """Today's vLLM, in the box at a chapter's end, always has it."""
    if name < "06":
        cells = [cell for cell in code_cells(chapter(name)) if cell.id != "today"]
        code = "\n".join(cell.source for cell in cells)
        assert not re.search(r"caching=True", code)


@pytest.mark.parametrize(("number", "module"), DRAWN)
def test_the_drawing_of_the_kernel_is_shown(number: str, module: str) -> None:
    """It comes from the kernel's docstring, where it cannot grow stale."""
    (cell,) = [c for c in code_cells(chapter(number)) if f"drawing({module})" in c.source]
    lines = cleandoc(import_module(module).__doc__ or "").splitlines()
    drawn = [line.strip() for line in lines if line.startswith("    ") and line.strip()]
    assert len(drawn) >= 4
    assert [line for line in drawn if line not in printed(cell)] == []


@every_chapter
def test_text_behind_an_answer_is_read_as_markdown(name: str) -> None:
    """Without an empty line it would be part of the HTML: its backticks would be shown."""
    for cell in chapter(name).cells:
        if cell.cell_type == "markdown":
            assert not re.search(r"</details>\n(?!\n|$)", cell.source), cell.id
