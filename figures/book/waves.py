"""Chapter on long sequences: when splitting pays."""

from matplotlib.axes import Axes

from pagesim.figures import style
from pagesim.figures.book.kit import (
    LOOK,
    MARGIN,
    S0,
    S1,
    S2,
    S3,
    bracket,
    drawing,
    foot,
    note,
    panel,
    say,
)
from pagesim.figures.style import PAPER, Box

SEATS, PROGRAMS, PAGES, PRICE = 8, 4, 12, 1
PARTS = (1, 2, 3)
COLORS = (S0, S1, S2, S3)
UNIT, ROW = 11.8, 17.0


def waves(parts: int) -> tuple[int, int, int]:
    """Waves, the pages of a program, and the whole time; each part pays the price."""
    count = -(-PROGRAMS * parts // SEATS)
    each = -(-PAGES // parts)
    return count, each, count * (each + PRICE * (parts > 1))


@drawing("Splitting pays best when all programs fit into one wave", 310)
def partitions_in_waves(axes: Axes) -> str:
    """The same work in 1, 2 and 3 partitions on a GPU with room for 8, over time."""
    texts = []
    for place, parts in enumerate(PARTS):
        count, each, time = waves(parts)
        price = PRICE * (parts > 1)
        left = MARGIN + 178 * place
        name = "no partitions" if parts == 1 else f"{parts} partitions"
        named = "wave" if count == 1 else "waves"
        about = f"{PROGRAMS * parts} programs, {count} {named}"
        panel(axes, Box(left, 38, 160, 222), name, about)
        for seat in range(SEATS):
            y = 78 + (ROW + 2) * seat
            style.rectangle(
                axes,
                Box(left + 9, y, UNIT * time, ROW),
                fill=PAPER,
                edge=style.MUTED,
                width=0.7,
                dashed=True,
            )
        for program in range(PROGRAMS * parts):
            wave, seat = divmod(program, SEATS)
            sequence = program // parts
            begin = left + 9 + UNIT * (each + price) * wave
            box = Box(begin, 78 + (ROW + 2) * seat, UNIT * each, ROW)
            style.rectangle(axes, box, fill=COLORS[sequence])
            say(axes, *box.center, f"s{sequence}", color=style.ink_on(COLORS[sequence]))
            if price:
                end = Box(begin + UNIT * each, box.y, UNIT * price, ROW)
                style.rectangle(axes, end, fill=LOOK)
        bracket(axes, left + 9, left + 9 + UNIT * time, 232, up=False)
        say(axes, left + 9 + UNIT * time / 2, 248, f"time {time}", bold=True)
        texts.append(f"{name}: {PROGRAMS * parts} programs in {count} {named}, time {time}")
    style.rectangle(axes, Box(MARGIN, 270, 14, 14), fill=LOOK)
    note(axes, MARGIN + 22, 277, "the price of a partition")
    foot(
        axes,
        296,
        f"A row is one of {SEATS} seats, dashed while it is empty. The unit of time is one page.",
    )
    where = f"{PROGRAMS} sequences of {PAGES} pages on a GPU with {SEATS} seats"
    return f"{where}. {'; '.join(texts)}."
