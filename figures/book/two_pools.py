"""Chapter on swapping: a sequence goes to the CPU and comes back to other blocks."""

from pagesim.figures import style
from pagesim.figures.book.kit import MARGIN, S0, S1, Sheet, drawing, listed
from pagesim.figures.style import CPU_HATCH, PAPER, Box
from pagesim.story import Story

GPU, CPU, SIZE = 6, 4, 4
WIDE, PITCH = 160.0, 178.0
Moment = dict[str, list[int]]


def moments() -> tuple[list[Moment], list[list[tuple[int, int]]]]:
    """The tables before, between and after; and the moves, as pairs of indices."""
    story = Story(GPU, CPU, SIZE, record=False)
    first, second = story.arrive(range(10)), story.arrive(range(20, 28))

    def now() -> Moment:
        return {"s0": first.block_ids, "s1": second.block_ids}

    found = [now()]
    went = first.swap_out()
    second.write([28, 29])
    found.append(now())
    second.leave()
    came = first.swap_in()
    return [*found, now()], [went, came]


@drawing("Swapping: s0 comes back with the same bytes, in other places", 366)
def two_pools(sheet: Sheet) -> str:
    """Both pools and the table of s0 in three moments."""
    found, moves = moments()
    titles = "1. before", "2. s0 is on the CPU", "3. s0 is back"
    for place, (title, tables) in enumerate(zip(titles, found, strict=True)):
        _moment(sheet, MARGIN + PITCH * place, title, tables)
    for place, (name, pairs) in enumerate(zip(("swap out", "swap in"), moves, strict=True)):
        x = MARGIN + PITCH * (place + 1) - (PITCH - WIDE) / 2
        _moves(sheet, x, name, "GPU → CPU" if place == 0 else "CPU → GPU", pairs)
    sheet.foot(
        350,
        f"Ids run on through both pools, indices begin at 0 in each: block {GPU} has the index 0 "
        "on the CPU.",
    )
    before, away, after = (listed(tables["s0"]) for tables in found)
    return (
        f"Two pools: ids 0 to {GPU - 1} are the GPU's, {GPU} to {GPU + CPU - 1} the CPU's. The "
        f"table of s0 is {before}, then on the CPU {away}, while s1 grows into the room, and after "
        f"its return {after}: other blocks than before, with the same bytes. Moves name indices, "
        "which count from 0 in each pool."
    )


def _moment(sheet: Sheet, left: float, title: str, tables: Moment) -> None:
    """Both pools, each block with its owner, and the table of s0."""
    sheet.panel(Box(left, 38, WIDE, 242), title)
    owners = {block: name for name, ids in tables.items() for block in ids}
    for name, begin, count, top in (("GPU", 0, GPU, 64.0), ("CPU", GPU, CPU, 154.0)):
        sheet.note(left + 9, top + 6, f"{name} pool")
        for index in range(count):
            x, y = left + 8 + 49 * (index % 3), top + 15 + 32 * (index // 3)
            _block(sheet, x, y, begin + index, owners.get(begin + index))
    sheet.note(left + 9, 260, "table of s0", color=style.INK)
    for place, block in enumerate(tables["s0"]):
        sheet.node(Box(left + 78 + 25 * place, 248, 25, 24), str(block), fill=S0)


def _block(sheet: Sheet, x: float, y: float, block: int, owner: str | None) -> None:
    """A block with its owner, hatched if it is the CPU's; its text has a plain ground."""
    fill = {None: PAPER, "s0": S0, "s1": S1}[owner]
    hatch = CPU_HATCH if owner and block >= GPU else ""
    sheet.rectangle(Box(x, y, 46, 28), fill=fill, hatch=hatch)
    sheet.rectangle(Box(x + 3, y + 4, 40, 20), fill=fill, edge=None)
    text = f"{block}: {owner}" if owner else str(block)
    sheet.say(x + 23, y + 14, text, bold=bool(owner), color=style.ink_on(fill))


def _moves(sheet: Sheet, x: float, name: str, sides: str, pairs: list[tuple[int, int]]) -> None:
    """What moves between two moments."""
    sheet.arrow((x - 8, 128), (x + 8, 128), width=2)
    sheet.say(x, 296, name, bold=True)
    sheet.note(x, 312, f"indices {sides}:", ha="center")
    sheet.say(x, 328, ", ".join(f"{one} → {other}" for one, other in pairs))
