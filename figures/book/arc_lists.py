"""Chapter on the second tier: what a scan does to ARC's four lists, and to LRU's one."""

from pagesim.figures.book.kit import MARGIN, S0, S1, WIDTH, Sheet, drawing, listed
from pagesim.figures.style import PAPER, Box
from pagesim.files.jsonl import JsonObject
from pagesim.studies.eviction import Tier

ROOM, USERS = 4, ("XY", "XY", *"abcdef")
STOPS = {"before the strangers": 2, "after a and b": 4, "after all six": 8}
EACH, CELL, TALL = 96.0, 26.0, 24.0
MIDDLE = 338.0
"""The border between what one request has used and what several have used."""


def states(policy: str) -> list[JsonObject]:
    """The lists at each stop."""
    tier, found = Tier(ROOM, policy), []
    for number, chunks in enumerate(USERS, 1):
        tier.show(str(number), list(chunks))
        if number in STOPS.values():
            found.append(tier.manager.policy.state())
    return found


@drawing("A scan with ARC: chunks that are used once go first", 420)
def arc_lists(sheet: Sheet) -> str:
    """A panel for each stop, with the four lists from left to right, and LRU's list below."""
    told = []
    both = zip(STOPS, states("arc"), states("lru"), strict=True)
    for place, (title, arc, lru) in enumerate(both):
        top = 34 + (EACH + 22) * place
        sheet.panel(Box(MARGIN, top, WIDTH - 2 * MARGIN, EACH + 14), title)
        sheet.note(WIDTH - MARGIN - 9, top + 14, "t2, b2: used by several", ha="right")
        sheet.note(MIDDLE - 14, top + 14, "t1, b1: used by one request", ha="right")
        y = top + 30
        x = _row(sheet, MIDDLE - 12, y, arc["t1"], -1, S1)
        _row(sheet, x - 26, y, arc["b1"], -1, None)
        x = _row(sheet, MIDDLE + 12, y, arc["t2"], 1, S0)
        _row(sheet, x + 26, y, arc["b2"], 1, None)
        sheet.line([MIDDLE, MIDDLE], [y - 4, y + TALL + 4], width=2.4)
        sheet.note(MARGIN + 9, top + EACH - 10, "LRU would have:")
        known = {"X", "Y"}
        x = MARGIN + 108.0
        for name in lru["order"]:
            x = _row(sheet, x, top + EACH - 22, [name], 1, S0 if name in known else S1)
        told.append(
            f"{title}: t1 {_said(arc['t1'])}, t2 {_said(arc['t2'])}, ghosts of t1 "
            f"{_said(arc['b1'])}; LRU has {_said(lru['order'])}"
        )
    sheet.foot(
        396,
        "The oldest chunk of t1 is the farthest from the line, and goes first while the target is "
        "0. Dashed: ghosts, of which only the key is kept.",
    )
    return f"Room for {ROOM} chunks; X and Y are used by two chats, a to f once. {'; '.join(told)}."


def _said(names: list[str]) -> str:
    return listed(names) if names else "none"


def _row(sheet: Sheet, x: float, y: float, names: list[str], way: int, fill: str | None) -> float:
    """Chunks from the newest, at the line, to the oldest; returns where the row ends."""
    for name in reversed(names):
        left = x if way > 0 else x - CELL
        box = Box(left, y, CELL - 3, TALL)
        sheet.node(box, name, fill=fill or PAPER, dashed=fill is None, bold=fill is not None)
        x += way * CELL
    return x
