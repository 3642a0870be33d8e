"""Chapter on long sequences: when splitting pays."""

from matplotlib.axes import Axes

from pagesim.figures import style
from pagesim.figures.book.kit import COLORS, LOOK, MARGIN, drawing, note, panel, say
from pagesim.figures.style import Box

SEATS, PROGRAMS, PAGES, PRICE = 8, 4, 12, 1
PARTS = (1, 2, 3)
UNIT, ROW = 12.4, 15.0


def waves(parts: int) -> tuple[int, int, int]:
    """Waves, the pages of a program, and the whole time; each part pays the price."""
    count = -(-PROGRAMS * parts // SEATS)
    each = -(-PAGES // parts)
    return count, each, count * (each + PRICE * (parts > 1))


@drawing("Splitting pays best when all programs fit into one wave", 268)
def partitions_in_waves(axes: Axes) -> str:
    """The same work in 1, 2 and 3 partitions on a GPU with room for 8, over time."""
    texts = [_run(axes, MARGIN + 214 * place, parts) for place, parts in enumerate(PARTS)]
    style.rectangle(axes, Box(MARGIN, 236, 14, 12), fill=LOOK)
    note(
        axes,
        MARGIN + 20,
        242,
        f"the price of a part. A row is one of {SEATS} places, dashed where empty; "
        "a time unit is a page.",
    )
    where = f"{PROGRAMS} sequences of {PAGES} pages on a GPU with room for {SEATS} programs"
    return f"{where}. {'; '.join(texts)}."


def _run(axes: Axes, left: float, parts: int) -> str:
    """The programs in their places, wave after wave; returns it in words."""
    count, each, time = waves(parts)
    price = PRICE * (parts > 1)
    name = "no partitions" if parts == 1 else f"{parts} partitions"
    panel(axes, Box(left, 40, 196, 184), f"{name}: time {time}")
    seats = [Box(left + 10, 66 + (ROW + 2) * seat, UNIT * time, ROW) for seat in range(SEATS)]
    for seat in seats:
        style.rectangle(axes, seat, edge=style.MUTED, width=0.7, dashed=True)
    for program in range(PROGRAMS * parts):
        wave, place = divmod(program, SEATS)
        sequence = program // parts
        begin = left + 10 + UNIT * (each + price) * wave
        box = Box(begin, seats[place].y, UNIT * each, ROW)
        style.rectangle(axes, box, fill=COLORS[sequence])
        say(axes, *box.center, f"s{sequence}", size=9, color=style.ink_on(COLORS[sequence]))
        if price:
            end = Box(begin + UNIT * each, box.y, UNIT * price, ROW)
            style.rectangle(axes, end, fill=LOOK)
    named = "wave" if count == 1 else "waves"
    note(axes, left + 9, 213, f"{PROGRAMS * parts} programs, {count} {named} of {each} pages")
    return f"{name}: {PROGRAMS * parts} programs in {count} {named}, time {time}"
