"""Chapter on long sequences: when splitting pays."""

from pagesim.figures import style
from pagesim.figures.book.kit import COLORS, LOOK, MARGIN, Sheet, drawing
from pagesim.figures.style import Box

SEATS, PROGRAMS, PAGES, PRICE = 8, 4, 12, 1
PARTS = (1, 2, 3)
UNIT, ROW = 11.8, 17.0


def times(parts: int) -> tuple[int, int, int]:
    """Waves, the pages of a program, and the whole time; each part pays the price."""
    count = -(-PROGRAMS * parts // SEATS)
    each = -(-PAGES // parts)
    return count, each, count * (each + PRICE * (parts > 1))


@drawing("Splitting pays best when all programs fit into one wave", 310)
def waves(sheet: Sheet) -> str:
    """The same work in 1, 2 and 3 partitions on a GPU with room for 8, over time."""
    texts = [_run(sheet, MARGIN + 178 * place, parts) for place, parts in enumerate(PARTS)]
    sheet.rectangle(Box(MARGIN, 270, 14, 14), fill=LOOK)
    sheet.note(MARGIN + 22, 277, "the price of a partition")
    sheet.foot(
        296,
        f"A row is one of {SEATS} seats, dashed while it is empty. The unit of time is one page.",
    )
    where = f"{PROGRAMS} sequences of {PAGES} pages on a GPU with {SEATS} seats"
    return f"{where}. {'; '.join(texts)}."


def _run(sheet: Sheet, left: float, parts: int) -> str:
    """The programs in their seats, wave after wave; returns it in words."""
    count, each, time = times(parts)
    price = PRICE * (parts > 1)
    name = "no partitions" if parts == 1 else f"{parts} partitions"
    named = "wave" if count == 1 else "waves"
    sheet.panel(Box(left, 38, 160, 222), name, f"{PROGRAMS * parts} programs, {count} {named}")
    seats = [Box(left + 9, 78 + (ROW + 2) * seat, UNIT * time, ROW) for seat in range(SEATS)]
    for seat in seats:
        sheet.rectangle(seat, edge=style.MUTED, width=0.7, dashed=True)
    for program in range(PROGRAMS * parts):
        wave, place = divmod(program, SEATS)
        sequence, y = program // parts, seats[place].y
        begin = left + 9 + UNIT * (each + price) * wave
        box = Box(begin, y, UNIT * each, ROW)
        sheet.node(box, f"s{sequence}", fill=COLORS[sequence], bold=False)
        if price:
            end = Box(begin + UNIT * each, y, UNIT * price, ROW)
            sheet.rectangle(end, fill=LOOK)
    sheet.bracket(left + 9, left + 9 + UNIT * time, 232, up=False)
    sheet.say(left + 9 + UNIT * time / 2, 248, f"time {time}", bold=True)
    return f"{name}: {PROGRAMS * parts} programs in {count} {named}, time {time}"
