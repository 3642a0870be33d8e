"""Chapter 1: where the slots of contiguous memory are, in the paper's words."""

from pagesim.figures.book.kit import INNER, MARGIN, Sheet, drawing
from pagesim.figures.style import Box
from pagesim.simulation.baselines import BuddyAllocator
from pagesim.simulation.baselines.contiguous import ContiguousPolicy
from pagesim.simulation.waste import PARTS
from pagesim.workload import Request

POOL, PER_LINE = 32, 16
SLOT, HIGH = INNER / PER_LINE, 36.0
MEANS = {
    "token": "holds the key and value of a token",
    "reserved": "the output will still need it",
    "internal": "asked for, and will never be used",
    "external": "added by rounding up: nobody can use it",
    "free": "for the next request",
}
REQUESTS = {"A": (Request("A", 0.0, 3, 5), 3), "B": (Request("B", 0.0, 2, 3), 1)}
"""Each with the tokens of its answer so far."""


def kinds() -> tuple[list[str], dict[str, range]]:
    """The kind of every slot, and the allocation of each request."""
    policy = ContiguousPolicy(POOL, POOL, "pow2", BuddyAllocator(POOL, POOL))
    request, written = REQUESTS["A"]
    late, begun = REQUESTS["B"]
    policy.admit(request)
    for _ in range(written - begun):
        policy.step()
    policy.admit(late)
    for _ in range(begun):
        policy.step()
    found, rows = ["free"] * POOL, {}
    for name, (one, answer) in REQUESTS.items():
        rows[name] = row = policy.held(name)
        asked = policy._sizing(one, POOL)
        ends = (one.prompt_tokens + answer, one.prompt_tokens + one.output_tokens, asked, len(row))
        begin = 0
        for kind, end in zip(PARTS, ends, strict=False):
            found[row.start + begin : row.start + end] = [kind] * (end - begin)
            begin = end
    assert tuple(map(found.count, PARTS[:4])) == policy.usage(False)
    return found, rows


@drawing("Contiguous memory: of five kinds of slots, only one holds tokens", 332)
def five_kinds(sheet: Sheet) -> str:
    """The slots in two lines, with two requests, and what each kind means."""
    found, rows = kinds()
    for place, kind in enumerate(found):
        _swatch(sheet, _slot(place), kind, 0.5)
    for name, row in rows.items():
        lost = found[row.start : row.stop].count("external")
        text = f"allocation of {name}: {len(row) - lost} slots, rounded up to {len(row)}"
        first, last = _framed(sheet, row)
        sheet.bracket(first.x + 1, last.x + SLOT - 1, first.y - 5, text)
    _framed(sheet, range(sum(map(len, rows.values())), POOL))
    _named(sheet, found)
    _meanings(sheet, found)
    counts = ", ".join(f"{found.count(kind)} {kind}" for kind in PARTS)
    return (
        f"{POOL} slots with the allocations of two requests. Of the slots {counts}. Token: "
        "holds a key and a value. Reserved: the output will need it. Internal: asked for, and "
        "never used. External: added by rounding up, and lost. Free: for the next request."
    )


def _framed(sheet: Sheet, row: range) -> tuple[Box, Box]:
    """A frame around slots of one line; returns the first and the last of them."""
    first, last = _slot(row.start), _slot(row.stop - 1)
    sheet.rectangle(Box(first.x, first.y, SLOT * len(row), HIGH), fill=None, width=2)
    return first, last


def _named(sheet: Sheet, found: list[str]) -> None:
    """Under each kind of slots its name, in the first line that has it."""
    for kind in PARTS:
        line = range(PER_LINE) if kind in found[:PER_LINE] else range(POOL)
        places = [i for i in line if found[i] == kind]
        low, high = _slot(places[0]), _slot(places[-1])
        sheet.bracket(low.x + 1.5, high.x + SLOT - 1.5, low.y + HIGH + 5, kind, up=False)


def _meanings(sheet: Sheet, found: list[str]) -> None:
    """How many slots of each kind there are, and what the kind means."""
    for place, (kind, means) in enumerate(MEANS.items()):
        y = 236 + 20 * place
        _swatch(sheet, Box(MARGIN, y - 8, 26, 16), kind, 0.8)
        sheet.say(MARGIN + 36, y, f"{kind}: {found.count(kind)}", ha="left", bold=True)
        sheet.note(MARGIN + 130, y, means)


def _swatch(sheet: Sheet, box: Box, kind: str, width: float) -> None:
    sheet.part(box, kind)
    sheet.rectangle(box, fill=None, width=width)


def _slot(place: int) -> Box:
    line, column = divmod(place, PER_LINE)
    return Box(MARGIN + SLOT * column, 66 + 96 * line, SLOT, HIGH)
