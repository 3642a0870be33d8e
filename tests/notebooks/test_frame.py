"""Every chapter has the same frame: number, goals, what it needs, time, vLLM's files, links."""

import json
import re

from nbformat import NotebookNode

from tests.notebooks.chapters import chapter, code_cells, every_chapter, markdown
from tools.course import NOTEBOOKS, ROOT

# Names of a release's files, classes and functions, made from its source distribution on PyPI with
# ast (Python) and a regular expression (CUDA). Names, no code.
NAMES = {
    release: json.loads((ROOT / f"tests/data/{file}.json").read_text(encoding="utf-8"))
    for release, file in {"0.6.4.post1": "vllm_names", "0.33.0": "vllm_v1_names"}.items()
}
TODAY = ("09", "10", "11", "12", "17")
"""The chapters about vLLM V1."""


def opening(notebook: NotebookNode) -> str:
    """What stands above the first section."""
    cell = notebook.cells[0]
    assert (cell.cell_type, cell.id) == ("markdown", "title")
    text = "\n\n".join(markdown(notebook))
    return text.partition("\n## ")[0]


def title(name: str) -> str:
    return opening(chapter(name)).splitlines()[0].removeprefix("# ")


def under(head: str, text: str) -> list[str]:
    """The bullets below a line in bold type, or folded away below it."""
    _, found, rest = text.partition(f"{head}\n\n")
    assert found, f"{head} is missing"
    bullets = re.split(r"\n(?=\* )", rest.split("\n\n")[0])
    return [" ".join(line.removeprefix("* ").split()) for line in bullets]


@every_chapter
def test_the_title_has_the_number_of_the_file(name: str) -> None:
    assert re.match(rf"{int(name[:2])} · ([A-Z]|vLLM)", title(name))


@every_chapter
def test_it_has_goals_and_ends_with_what_can_be_said_now(name: str) -> None:
    texts = markdown(chapter(name))
    assert 3 <= len(under("**You will learn to**", "\n".join(texts))) <= 5
    (end,) = (text for text in texts if "### What you can say now" in text)
    said = re.findall(r"^\* .+\.$", end, re.MULTILINE)
    assert 3 <= len(said) <= 5, "full sentences, the first answers the opening question"


@every_chapter
def test_it_has_at_most_five_sections_and_a_picture_before_its_first_formula(name: str) -> None:
    texts = markdown(chapter(name))
    assert 4 <= sum(len(re.findall(r"^## ", text, re.MULTILINE)) for text in texts) <= 5
    text = "\n".join(texts)
    pictures = re.findall(r"!\[([^\]]+)\]", text)
    assert len(pictures) >= 2 and min(map(len, pictures)) > 20, "each with its words"
    if "$$" in text:
        drawn = [at.start() for at in re.finditer(r"!\[[^\]]+\]\[(?!here_)", text)]
        assert drawn and drawn[0] < text.index("$$")


@every_chapter
def test_it_needs_only_earlier_chapters(name: str) -> None:
    needs = re.search(r"^\*\*Before this:\*\* (.+)$", opening(chapter(name)), re.MULTILINE)
    assert needs
    assert all(number < name[:2] for number in re.findall(r"\((\d\d)_\w+\.ipynb\)", needs[1]))


def minutes(notebook: NotebookNode) -> float:
    """What a reader needs: 150 words or 15 lines of code in one, a prediction 2, a player 3.

    Who sees a picture does not read its alternative text; who uses a folded cell does not read it.
    """
    unread = r"<[^>]+>|^\[.*\]: data:.*$|!\[[^\]]*\]\[[^\]]*\]|(?<=\])\([^)]*\)"
    words = re.findall(r"[\w']+", re.sub(unread, "", "\n".join(markdown(notebook)), flags=re.M))
    code = [cell for cell in code_cells(notebook) if not hidden(cell)]
    lines = sum(len(cell.source.splitlines()) for cell in code)
    asked = sum("pagesim.predict(" in cell.source for cell in code)
    players = sum("pagesim-frame" in str(cell.outputs) for cell in code)
    return len(words) / 150 + lines / 15 + 2 * asked + 3 * players


def hidden(cell: NotebookNode) -> bool:
    return bool(cell.metadata.get("jupyter", {}).get("source_hidden"))


@every_chapter
def test_the_time_is_what_its_length_takes(name: str) -> None:
    text = "\n".join(markdown(chapter(name)))
    said = re.search(r"^\*\*Time:\*\* about (\d+) minutes", text, re.MULTILINE)
    assert said and abs(int(said[1]) - minutes(chapter(name))) < 3
    assert int(said[1]) <= 45


@every_chapter
def test_the_names_of_vllm_are_in_its_release(name: str) -> None:
    head = opening(chapter(name))
    lists = re.findall(r"<summary>(Where .+ is in vLLM (.+))</summary>", head)
    assert lists[0][1] == ("0.33.0" if name.startswith(TODAY) else "0.6.4.post1")
    for summary, release in lists:
        places, known = under(f"<summary>{summary}</summary>", head), NAMES[release]
        assert len(places) >= 2
        for place in places:
            file, *names = re.findall(r"`([^`]+)`", place)
            assert file in known, file
            assert names, f"{file}: which of its classes and functions?"
            assert [each for each in names if each not in known[file]] == [], file


@every_chapter
def test_the_sections_it_lists_are_its_own(name: str) -> None:
    notebook = chapter(name)
    listed = re.findall(r"^\d+\. (.+)$", opening(notebook), re.MULTILINE)
    heads = re.findall(r"^## \d+\. (.+)$", "\n".join(markdown(notebook)), re.MULTILINE)
    assert [each.casefold() for each in listed] == [each.casefold() for each in heads]


@every_chapter
def test_a_triton_kernel_stands_beside_its_reference(name: str) -> None:
    """The simulator's tables, a kernel that reads through them, and NumPy's answer."""
    code = "\n".join(cell.source for cell in code_cells(chapter(name)))
    assert re.search(r"pagesim\.(Story|Engine|record|Scheduler|sizing)|simulate\(", code)
    launchers = r"paged_attention_v[12]|paged_prefill|fused_decode|reshape_and_cache|swap_blocks"
    assert re.search(rf"kernels\.({launchers}|copy_blocks|online_softmax)\(", code)
    assert re.search(r"\breference\.\w+|expected_k|kernels\.(assert_matches|side_by_side)", code)


@every_chapter
def test_it_ends_with_its_exercises_and_its_neighbours(name: str) -> None:
    last = chapter(name).cells[-1]
    assert (last.cell_type, last.id) == ("markdown", "next")
    number = name[:2]
    assert f"(exercises/ex{number}.ipynb)" in last.source
    assert (NOTEBOOKS / f"exercises/ex{number}.ipynb").is_file()
    links = dict(re.findall(r"\[([^\]]+)\]\((\d\d_\w+\.ipynb)\)", last.source))
    names = sorted(path.name for path in NOTEBOOKS.glob("*.ipynb"))
    place = names.index(name)
    beside = {"back": names[place - 1 : place], "on": names[place + 1 : place + 2]}
    expected = {
        f"{'← ' * (where == 'back')}{title(other)}{' →' * (where == 'on')}": other
        for where, others in beside.items()
        for other in others
    }
    assert expected.items() <= links.items()
    assert set(links.values()) == {other for others in beside.values() for other in others}
