"""Chapter on surprises: "not now" and "never" are two answers, and V1 has only one of them."""

from pagesim.figures.book.kit import INNER, MARGIN, S1, S2, Sheet, drawing
from pagesim.figures.style import PAPER, Box
from pagesim.story import Engine

BLOCKS, TALL, CELL = 3, 26.0, 34.0
"""The usable blocks of the pool, and how large one is drawn."""
CASES = {"3 blocks, 2 of them taken": (2, 2), "3 blocks, all of them free": (0, 4)}
"""How many blocks another request has, and how many the head of the queue needs."""
SAID = {"WAITING": "waits", "FINISHED_IGNORED": "is refused"}


def answer(engine: str, taken: int, needed: int) -> str:
    """What becomes of the head of the queue after a step."""
    its = Engine(engine, gpu_blocks=BLOCKS + (engine == "v1"))
    if taken:
        its.add("other", 4 * taken - 1)
        its.step()
    its.add("head", 4 * needed)
    its.step()
    return SAID[its.status("head")]


@drawing("Two reasons to wait, and one of them never ends", 262)
def not_now(sheet: Sheet) -> str:
    """A panel for each case: the pool, what the head needs, and what both engines do."""
    told = []
    for place, (title, (taken, needed)) in enumerate(CASES.items()):
        top = 34 + 98 * place
        sheet.panel(Box(MARGIN, top, INNER, 86), title)
        for block in range(BLOCKS):
            box = Box(MARGIN + 9 + CELL * block, top + 32, CELL - 4, TALL)
            sheet.node(box, "", fill=S2 if block < taken else PAPER)
        sheet.note(MARGIN + 9, top + 72, "the pool")
        for block in range(needed):
            sheet.node(Box(150 + CELL * block, top + 32, CELL - 4, TALL), "", fill=S1)
        sheet.note(150, top + 72, "what the head of the queue needs")
        word = "not now" if needed <= BLOCKS else "never"
        sheet.say(362, top + 45, word, bold=True)
        answers = {name: answer(name, taken, needed) for name in ("v0", "v1")}
        for row, (name, said) in enumerate(answers.items()):
            sheet.say(418, top + 34 + 22 * row, f"{name.upper()}: it {said}", ha="left")
        told.append(
            f"{title}; the head needs {needed}: {word}. V0: it {answers['v0']}; V1: it "
            f"{answers['v1']}"
        )
    sheet.foot(246, "V1 asks only whether the blocks are free now.")
    return ". ".join(told) + "."
