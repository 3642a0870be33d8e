"""Every chapter has the same frame: number, goals, what it needs, time, vLLM's files, links."""

from __future__ import annotations

import json
import re

from nbformat import NotebookNode

from tests.notebooks.chapters import chapter, every_chapter
from tools.course import NOTEBOOKS, ROOT

# Names of a release's files, classes and functions, made from its source distribution on PyPI with
# ast (Python) and a regular expression (CUDA). Names, no code.
NAMES = {
    release: json.loads((ROOT / f"tests/data/{file}.json").read_text(encoding="utf-8"))
    for release, file in {"0.6.4.post1": "vllm_names", "0.33.0": "vllm_v1_names"}.items()
}
TODAY = ("11",)
"""The chapters about vLLM V1."""
# Minutes that a reader was measured to need, where three sections are now: in chapter 9.
MINUTES = [20, 75, 45, 60, 70, 40, 45, 65, 40, 65, 65, 75, 60]
VERBS = {
    *("build", "check", "choose", "compare", "compute", "count", "decide", "derive", "draw"),
    *("explain", "find", "follow", "measure", "name", "predict", "prove", "read", "reproduce"),
    *("schedule", "size", "step", "tell", "trace", "weigh", "write"),
}


def opening(notebook: NotebookNode) -> str:
    cell = notebook.cells[0]
    assert (cell.cell_type, cell.id) == ("markdown", "title")
    return cell.source


def title(name: str) -> str:
    return opening(chapter(name)).splitlines()[0].removeprefix("# ")


def under(head: str, text: str) -> list[str]:
    """The bullets below a line in bold type."""
    _, found, rest = text.partition(f"**{head}**\n\n")
    assert found, f"{head} is missing"
    return [
        " ".join(line.removeprefix("* ").split())
        for line in re.split(r"\n(?=\* )", rest.split("\n\n")[0])
    ]


@every_chapter
def test_the_title_has_the_number_of_the_file(name: str) -> None:
    assert re.match(rf"{int(name[:2])} · ([A-Z]|vLLM)", title(name))


@every_chapter
def test_the_goals_are_verbs(name: str) -> None:
    goals = under("You will learn to", opening(chapter(name)))
    assert 3 <= len(goals) <= 5
    assert {goal.split()[0].strip("*") for goal in goals} <= VERBS


@every_chapter
def test_it_needs_only_earlier_chapters(name: str) -> None:
    needs = re.search(r"^\*\*Before this:\*\* (.+)$", opening(chapter(name)), re.MULTILINE)
    assert needs
    assert all(number < name[:2] for number in re.findall(r"\((\d\d)_\w+\.ipynb\)", needs[1]))


@every_chapter
def test_the_time_is_the_measured_one(name: str) -> None:
    minutes = re.search(r"^\*\*Time:\*\* about (\d+) minutes", opening(chapter(name)), re.MULTILINE)
    assert minutes and int(minutes[1]) == MINUTES[int(name[:2])]


@every_chapter
def test_the_names_of_vllm_are_in_its_release(name: str) -> None:
    release = "0.33.0" if name.startswith(TODAY) else "0.6.4.post1"
    known, places = NAMES[release], under(f"In vLLM {release}", opening(chapter(name)))
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
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    heads = [head for cell in cells for head in re.findall(r"^## \d+\. (.+)$", cell, re.MULTILINE)]
    assert [each.casefold() for each in listed] == [each.casefold() for each in heads]


@every_chapter
def test_a_triton_kernel_stands_beside_its_reference(name: str) -> None:
    """The simulator's tables, a kernel that reads through them, and NumPy's answer."""
    cells = chapter(name).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    assert re.search(r"pagesim\.(Story|record|Scheduler|sizing)|simulate\(", code)
    launchers = r"paged_attention_v[12]|paged_prefill|fused_decode|reshape_and_cache|swap_blocks"
    assert re.search(rf"kernels\.({launchers}|copy_blocks|online_softmax)\(", code)
    assert re.search(r"\breference\.\w+|expected_k|kernels\.(assert_matches|side_by_side)", code)
    assert not any(
        re.search(r"^.*\b(True|False)$", output.get("text", ""), re.MULTILINE)
        for cell in cells
        for output in cell.get("outputs", [])
    ), "a number or two rows say more than True"


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
