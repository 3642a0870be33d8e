"""Predict, then look: no chapter shows an answer before its reader has asked for it."""

import re
from itertools import pairwise
from typing import Any

import pytest
from nbformat import NotebookNode

import pagesim
from pagesim.lesson.prediction import NONE_YET
from tests.notebooks.chapters import chapter, code_cells, every_chapter, source
from tools.course import NOTEBOOKS

PREDICT = re.compile(r"\*\*(Predict|predict, then)")


def is_asked(cell: NotebookNode) -> bool:
    return "pagesim.predict(" in cell.source


def is_answer(cell: NotebookNode) -> bool:
    return ".reveal()" in cell.source


def is_player(cell: NotebookNode) -> bool:
    return any("pagesim-frame" in str(output) for output in cell.get("outputs", []))


def is_machine(cell: NotebookNode) -> bool:
    return "machine" in cell.metadata.get("tags", [])


@every_chapter
def test_what_a_prediction_is_about_comes_after_its_question(name: str) -> None:
    """After **Predict** come players, which ask, and then a cell that asks."""
    cells = chapter(name).cells
    for place, cell in enumerate(cells):
        if cell.cell_type != "markdown" or not PREDICT.search(cell.source):
            continue
        for after in cells[place + 1 :]:
            if after.cell_type == "markdown":
                if PREDICT.search(after.source) or after.source.startswith("## "):
                    break
                continue
            if not is_player(after):
                fine = is_asked(after) or is_machine(after)
                assert fine, f"{cell.id}: {after.id} answers it"
                break
            printed = [output for output in after.outputs if output.output_type == "stream"]
            assert printed == [], f"{cell.id}: {after.id} answers it beside the player"


@every_chapter
def test_a_cell_that_asks_was_committed_unanswered(name: str) -> None:
    """Nothing is under it but the invitation: no truth, no verdict, no score."""
    for cell in code_cells(chapter(name)):
        if is_asked(cell):
            assert not is_answer(cell), cell.id
            assert [output.data for output in cell.outputs] == [{"text/plain": NONE_YET}], cell.id


@every_chapter
def test_every_question_has_one_answer_in_a_cell_below(name: str) -> None:
    cells = code_cells(chapter(name))
    asked = [n for cell in cells for n in re.findall(r"(\w+) = pagesim\.predict\(", cell.source)]
    revealed = [n for cell in cells for n in re.findall(r"(\w+)\.reveal\(\)", cell.source)]
    assert asked == revealed and len(set(asked)) == len(asked)
    assert sum(map(is_asked, cells)) == len(asked), "one question a cell, with a name of its own"


@every_chapter
def test_an_answer_is_committed_folded(name: str) -> None:
    """Closed, wherever the notebook is looked at; its plain text gives nothing away."""
    for cell in code_cells(chapter(name)):
        if is_answer(cell):
            (output,) = cell.outputs
            assert output.data["text/html"].startswith('<details class="answer"><summary>'), cell.id
            assert output.data["text/html"].endswith("</details>"), cell.id
            plain = re.sub(r"'.*'", "", output.data["text/plain"])
            assert not re.search(r"\d|True|False", plain), cell.id


def test_names_of_predictions_are_unique_in_the_course() -> None:
    """They are the keys of the score; each begins with its chapter."""
    names = []
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        for cell in code_cells(chapter(path.name)):
            for name in re.findall(r"pagesim\.predict\(\s*\"([^\"]*)\"", cell.source):
                assert name.startswith(f"ch{path.name[:2]} "), name
                names.append(name)
    assert len(set(names)) == len(names)


@every_chapter
def test_the_text_below_an_answer_is_folded(name: str) -> None:
    cells = chapter(name).cells
    for cell, below in pairwise(cells):
        if is_answer(cell) and below.id.endswith("-why"):
            assert below.source.startswith("<details><summary>"), below.id
            assert below.source.count("<details>") == below.source.count("</details>") == 1


@every_chapter
def test_no_question_has_its_answer_in_the_source(name: str) -> None:
    for cell in code_cells(chapter(name)):
        assert not re.search(r"answer=[(\[\d]", cell.source), cell.id
        if is_asked(cell):
            found = re.search(r"assert .*== [\[(\d]", cell.source)
            assert not found, f"{cell.id}: an answer in sight"


@every_chapter
def test_nothing_above_a_player_answers_it(name: str) -> None:
    """A reader sees the source and the title before the question."""
    for cell in code_cells(chapter(name)):
        assert not re.search(r"title=f?\"[^\"]*\.block_ids", cell.source), cell.id
        if name < "07":  # the rules that a reader is to find
            assert "why=" not in cell.source, f"{cell.id}: the text below the player has the reason"


def run_cells(number: str, *ids: str, change: tuple[str, str] = ("", "")) -> dict[str, Any]:
    space: dict[str, Any] = {}
    for cell in code_cells(chapter(number)):
        if cell.id in ids:
            assert cell.id != ids[-1] or change[0] in cell.source
            exec(cell.source.replace(*change), space)
    return space


@pytest.mark.parametrize(("tokens", "blocks"), [(10, 3), (20, 5), (28, 7)])
def test_chapter_2_asks_for_as_many_blocks_as_are_taken(tokens: int, blocks: int) -> None:
    longer = ("range(300, 310)", f"range(300, {300 + tokens})")
    space = run_cells("02", "setup", "lifo", change=longer)
    last = space["leaving"].notes.questions[-1]
    assert f" {blocks} blocks" in last.ask and len(last.blocks(space["leaving"])) == blocks


def test_a_prompt_that_does_not_fit_leaves_the_run_up_to_there() -> None:
    space = run_cells("02", "setup", "lifo")
    lifo = source("02", "lifo")
    with pytest.raises(pagesim.NoFreeBlocksError, match=r"^s3 cannot arrive: .*`run`"):
        exec(lifo.replace("range(300, 310)", "range(300, 340)"), space)
    assert space["leaving"] is space["story"].run and space["leaving"][-1].kind == "failed"


@pytest.mark.parametrize(("words", "takes"), [(7, [1]), (8, [0])])
def test_chapter_0_says_which_word_needs_a_block(words: int, takes: list[int]) -> None:
    """Of the two words after a sentence of seven it is the second, after one of eight the first."""
    space: dict = {}
    exec(source("00", "first"), space)
    run = space["two_requests"](" ".join("word" for _ in range(words)))
    written = [run[at] for at in run.find(kind="append_slots", sequence=0)]
    taken = [[e.block for e in event.effects if e.kind == "take"] for event in written]
    assert taken == [[4] if at in takes else [] for at in range(2)]
