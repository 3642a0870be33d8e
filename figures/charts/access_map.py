"""Which program read which slots: a row per program, a column per physical block.

Drawn from the plain data of an access trace (`kernels.xray(...).as_dict()`, or the same as JSON).
The top row shows the block tables: whose tokens lie where. Below, each row shows what a program
touched, in the colour of the sequence that it works for. In a correct kernel a row repeats its
sequence's part of the top row, and no more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pagesim.errors import UsageError
from pagesim.figures import style
from pagesim.figures.sheet import Sheet, blank
from pagesim.figures.sources import Facts, Plain, report
from pagesim.figures.style import MARGIN, Box, Picture
from pagesim.player.describe import counted

ROW, GAP, HEADER = 25.0, 4.0, 20.0
WORDS = 12.0  # the upper part of a cell, for its number; the lower part shows the slots
LABEL, COUNT, SPACE = 158.0, 62.0, 3.0
MAX_ROWS, MAX_BLOCKS = 24, 32
FOREIGN_HATCH = "xxxx"
DOT = "\N{MIDDLE DOT}"
Slot = tuple[int, int]
_KEYS = ("name", "num_blocks", "block_size", "sequences", "programs")


@dataclass(frozen=True, slots=True)
class Row:
    """Programs that did the same: which, for which sequences, and the slots touched, in order."""

    kernel: str
    indices: tuple[tuple[int, ...], ...]
    sequences: tuple[int, ...]
    heads: tuple[int, ...]
    slots: tuple[Slot, ...]
    writes: bool
    num_bytes: int

    @property
    def place(self) -> str:
        """The place in the grid: (3, ·, 0) are all programs that have 3 first and 0 last."""
        axes = (set(axis) for axis in zip(*self.indices, strict=True))
        return f"({', '.join(str(*axis) if len(axis) == 1 else DOT for axis in axes)})"


def rows_of(trace: Facts) -> list[Row]:
    """The programs of a trace that touch a cache; those that did the same become one row."""
    found: dict[tuple[Any, ...], list[tuple[Facts, int]]] = {}
    for program in trace["programs"]:
        touches = [access for access in program["accesses"] if access["slots"]]
        if not touches:
            continue
        slots = tuple(dict.fromkeys((b, r) for access in touches for b, r in access["slots"]))
        writes = any(access["kind"] != "read" for access in touches)
        key = (program["kernel"], tuple(program["sequences"]), slots, writes)
        total = sum(access["bytes"] for access in touches)
        found.setdefault(key, []).append((program, total))
    return [
        Row(
            kernel=key[0],
            indices=tuple(tuple(program["index"]) for program, _ in members),
            sequences=key[1],
            heads=tuple(sorted({head for program, _ in members for head in program["heads"]})),
            slots=key[2],
            writes=key[3],
            num_bytes=sum(total for _, total in members),
        )
        for key, members in found.items()
    ]


def owners_of(trace: Facts) -> dict[Slot, list[int]]:
    """Which sequences own each slot, from the block tables."""
    owners: dict[Slot, list[int]] = {}
    for number, sequence in enumerate(trace["sequences"]):
        for position in range(sequence["length"]):
            page, row = divmod(position, trace["block_size"])
            owners.setdefault((sequence["table"][page], row), []).append(number)
    return owners


@dataclass(frozen=True, slots=True)
class Accesses:
    """A trace as it is drawn: its rows, who owns each slot, and what the sequences are called."""

    trace: Facts
    rows: list[Row]
    owners: Mapping[Slot, list[int]]
    names: Sequence[str]

    @property
    def size(self) -> int:
        """Slots of a block."""
        return int(self.trace["block_size"])

    def words(self) -> str:
        """For each row the blocks that were touched; then what is wrong."""
        sentences = [f"What {self.trace['name']} touched, one row per program."]
        for row in self.rows[:MAX_ROWS]:
            blocks = list(dict.fromkeys(block for block, _ in row.slots))
            many = len(row.indices)
            subject = f"{many} programs" if many > 1 else "One program"
            if row.sequences:
                subject += f" for {' and '.join(self.names[seq] for seq in row.sequences)}"
            verb = ("write" if row.writes else "read") + ("" if many > 1 else "s")
            slots = counted(len(row.slots), "slot")
            where = f"block{'s' if len(blocks) > 1 else ''} {', '.join(map(str, blocks))}"
            sentences.append(f"{subject} {verb} {slots} in {where}.")
        if len(self.rows) > MAX_ROWS:
            sentences.append(f"{len(self.rows) - MAX_ROWS} more rows.")
        foreign = sum(len(self.foreign(row)) for row in self.rows)
        if self.trace["sequences"]:
            wrong = (
                "1 slot belongs to no sequence of the program that touched it."
                if foreign == 1
                else f"{foreign} slots belong to no sequence of the program that touched them."
            )
            sentences.append(wrong if foreign else "No program touches a slot of another sequence.")
        return " ".join(sentences)

    def foreign(self, row: Row) -> list[Slot]:
        """Slots of a row that none of its sequences owns."""
        if not self.owners:
            return []
        mine = set(row.sequences)
        return [slot for slot in row.slots if not mine.intersection(self.owners.get(slot, ()))]

    def draw(self, title: str | None) -> Picture:
        """The sheet with its rows."""
        slots = [*self.owners, *(slot for row in self.rows for slot in row.slots)]
        touched = {block for block, _ in slots}
        total = self.trace["num_blocks"]
        blocks = list(range(total)) if total <= MAX_BLOCKS else sorted(touched)[:MAX_BLOCKS]
        shown = self.rows[:MAX_ROWS]
        top = MARGIN + (24.0 if title else 0.0) + HEADER
        below = top + (ROW + 2 * GAP if self.owners else 0.0)
        height = below + len(shown) * (ROW + GAP) + 46.0
        figure, sheet = blank(style.WIDTH, height, title)

        room = style.WIDTH - 2 * MARGIN - LABEL - COUNT
        pitch = min(room / len(blocks), 60.0)
        place = {block: MARGIN + LABEL + number * pitch for number, block in enumerate(blocks)}
        width = pitch - SPACE

        cells = {block: Box(x, top, width, ROW) for block, x in place.items()}
        self._heads(sheet, cells)
        for number, row in enumerate(shown):
            y = below + number * (ROW + GAP)
            self._label(sheet, row, y)
            self._touched(sheet, row, {b: Box(x, y, width, ROW) for b, x in place.items()})
            text = f"{len(row.slots)}, {_bytes(row.num_bytes)}"
            sheet.write(style.WIDTH - MARGIN, y + ROW / 2, text, ha="right")
        omitted = {
            "rows": len(self.rows) - len(shown),
            "blocks that are touched": len(touched - set(blocks)),
        }
        left_out = [f"{count} more {what}" for what, count in omitted.items() if count > 0]
        self._legend(sheet, height - 30.0, left_out)
        return figure

    def _heads(self, sheet: Sheet, cells: Mapping[int, Box]) -> None:
        """The ids of the blocks, and below them whose tokens they hold."""
        top = next(iter(cells.values())).y
        sheet.write(MARGIN, top - 8, "Physical block", ha="left", bold=True)
        for block, box in cells.items():
            sheet.write(box.center[0], top - 8, str(block), color=style.MUTED)
        sheet.write(style.WIDTH - MARGIN, top - 8, "slots, bytes", ha="right", color=style.MUTED)
        if self.owners:
            sheet.write(MARGIN, top + ROW / 2, "Whose tokens", ha="left", bold=True)
            for block, box in cells.items():
                self._owner_cell(sheet, box, block)

    def _owner_cell(self, sheet: Sheet, box: Box, block: int) -> None:
        """A block in the tables: its owners' colours, slot by slot."""
        present = sorted({seq for (b, _), its in self.owners.items() if b == block for seq in its})
        slots, slot = _slots_of(box), box.w / self.size
        for number, seq in enumerate(present):
            # Several owners are stacked, each over the slots that it fills.
            height = slots.h / len(present)
            filled = [row for row in range(self.size) if seq in self.owners.get((block, row), ())]
            for row in filled:
                part = Box(slots.x + row * slot, slots.y + number * height, slot, height)
                sheet.rectangle(part, fill=style.color_of(seq), edge=None)
        sheet.rectangle(box, fill=None, width=style.THICK if len(present) > 1 else style.THIN)
        label = " ".join(self.names[seq] for seq in present)
        if style.text_width(label) + 4 > box.w:
            label = f"{style.TIMES}{len(present)}"
        sheet.write(box.center[0], box.y + WORDS / 2, label, bold=True)

    def _label(self, sheet: Sheet, row: Row, y: float) -> None:
        x = MARGIN
        for seq in row.sequences:
            sheet.rectangle(Box(x, y + 7, 11, 11), fill=style.color_of(seq))
            x += 14
        called = " ".join(self.names[seq] for seq in row.sequences)
        sheet.write(x + 2, y + ROW / 2, called, size=9, ha="left", bold=True)
        x += 8 + style.text_width(called, 9) * 1.15 if called else 0
        plural = "s" if len(row.heads) > 1 else ""
        heads = f"  head{plural} {_ranges(row.heads)}" if row.heads else ""
        sheet.write(x, y + ROW / 2, row.place + heads, ha="left")

    def _touched(self, sheet: Sheet, row: Row, cells: Mapping[int, Box]) -> None:
        """The slots of one row: filled, numbered block by block in the order of the first touch."""
        foreign = set(self.foreign(row))
        order = {block: n for n, block in enumerate(dict.fromkeys(b for b, _ in row.slots), 1)}
        color = style.color_of(row.sequences[0]) if row.sequences else style.HELD
        for block, box in cells.items():
            slots, slot = _slots_of(box), box.w / self.size
            for place in sorted(place for b, place in row.slots if b == block):
                part = Box(slots.x + place * slot, slots.y, slot, slots.h)
                wrong = (block, place) in foreign
                fill, hatch = (style.PAPER, FOREIGN_HATCH) if wrong else (color, "")
                sheet.rectangle(part, fill=fill, edge=None, hatch=hatch)
            sheet.rectangle(box, fill=None, edge=style.INK if block in order else style.HELD)
            if block in order:
                sheet.write(box.center[0], box.y + WORDS / 2, str(order[block]))

    def _legend(self, sheet: Sheet, y: float, left_out: list[str]) -> None:
        verb = "written" if any(row.writes for row in self.rows) else "read"
        entries = [(style.HELD, "", f"filled: slots {verb}")]
        if any(self.foreign(row) for row in self.rows):
            entries.append((style.PAPER, FOREIGN_HATCH, "crossed: not its sequence's slots"))
        x = MARGIN
        for fill, hatch, text in entries:
            sheet.rectangle(Box(x, y, 12, 11), fill=fill, hatch=hatch)
            sheet.write(x + 18, y + 6, text, ha="left", color=style.MUTED)
            x += 36 + style.text_width(text)
        text = f"1, 2, …: order of the blocks    (x, y, z): programs of the grid, {DOT} = any"
        sheet.write(x, y + 6, text, ha="left", color=style.MUTED)
        if left_out:
            text = f"Not shown: {', '.join(left_out)}"
            sheet.write(MARGIN, y + 20, text, ha="left", color=style.MUTED)


@style.picture
def access_map(
    source: Plain, *, names: Sequence[str] | None = None, title: str | None = None
) -> tuple[Picture, str]:
    """Draw which program read which slots: each should read only its own sequence's pages.

    ``source`` is a trace returned by `kernels.xray`, its ``as_dict()``, or a JSON file with that
    dict. `names` are the names of the sequences, by default A, B, …. The figure counts slots of the
    cache and bytes. It shows up to 32 blocks (in a larger cache, those that are touched or owned)
    and up to 24 rows, and says what it omits. TypeError if ``source`` is not a trace, UsageError if
    the trace touches no cache.
    """
    trace = report("access_map", source, _KEYS, "kernels.xray(…)")
    rows, owners = rows_of(trace), owners_of(trace)
    if not rows:
        raise UsageError(f"no program of {trace['name']} touched a cache: there is nothing to draw")
    count = len(trace["sequences"])
    called = list(names or (chr(ord("A") + number % 26) for number in range(count)))
    if len(called) < count:
        raise UsageError(f"names has {len(called)} names for {count} sequences")
    drawn = Accesses(trace, rows, owners, called)
    return drawn.draw(title), drawn.words()


def _slots_of(box: Box) -> Box:
    """The lower part of a cell, which shows a block's slots side by side."""
    return Box(box.x, box.y + WORDS, box.w, box.h - WORDS)


def _ranges(heads: Sequence[int]) -> str:
    """0, 1, 2, 5 as "0-2, 5"."""
    parts: list[list[int]] = []
    for head in heads:
        if parts and head == parts[-1][-1] + 1:
            parts[-1].append(head)
        else:
            parts.append([head])
    return ", ".join(f"{p[0]}-{p[-1]}" if len(p) > 1 else str(p[0]) for p in parts)


def _bytes(count: int) -> str:
    return f"{count} B" if count < 1024 else f"{count / 1024:.3g} KiB"
