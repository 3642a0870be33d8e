"""A still picture of one state, with alternative text, for where no script runs.

Pure Python, a few kilobytes, the same bytes each time. It looks as the player does: one colour per
sequence with its name beside it, words in the physical blocks, hatch = CPU or reserved, thick edge
and a count = shared, corners = cached and computed.
"""

from collections.abc import Sequence
from itertools import groupby, islice
from textwrap import wrap

from pagesim.files.jsonl import JsonObject
from pagesim.journal.effects import Name
from pagesim.player.cache_view import CacheView
from pagesim.player.colors import color_of, pattern_of
from pagesim.player.describe import name_text, request_text, words_of
from pagesim.player.sheet import BOLD, HALO, HATCH, HELD, INK, QUIET, Look, Sheet, short

WIDTH, MARGIN, TOP = 880, 12, 86
ROW, NAME, GAP, SLOT = 18, 21, 10, 46  # a table drawn in full
TABLE = MARGIN + 18 + 4 * SLOT + 16
STRIP, BEFORE, OWNERS, BEHIND = 25, 30, 56, 78  # a block as a row of slots, its id, its owners
LINE, MAX_LINES, MAX_CHIPS = 24, 16, 8  # a table drawn in a line
LEFT, MAX_HEIGHT = 372, 430
# Width and height of a cell, gap, and whether its id fits: the first one that fits is used.
CELLS = ((52, 38, 6, True), (28, 20, 3, True), (14, 12, 2, False), (7, 7, 1, False))


class Still:
    """A state, and the sheet on which it is drawn."""

    def __init__(self, cache: CacheView) -> None:
        self.cache, self.state, self.sheet = cache, cache.state, Sheet()
        self.size = cache.block_size
        (first, self.gpu), *others = self.state.pools.items() or [("", 0)]
        names, sizes = [name for name, _ in others], [size for _, size in others]
        self.pools = [(first, self.gpu), (", ".join(names), sum(sizes))]
        self.refs, self.cached = self.state.ref_counts, self.state.cached
        self.looks: dict[Name, Look] = {
            name: (color_of(place), pattern_of(place)) for name, place in cache.places.items()
        }
        self.rows = next(iter(self.state.lists), None) in self.state.sorted_lists

    @property
    def in_full(self) -> bool:
        """Whether the tables and the blocks have room for their words."""
        tables = self.cache.tables.values()
        rows = sum(max(len(table.block_ids), 1) * ROW + NAME + GAP for table in tables)
        return not self.rows and self.size <= 8 and rows <= MAX_HEIGHT and sum(self.columns) <= 2

    @property
    def columns(self) -> list[int]:
        """How many columns of strips each pool needs."""
        return [-(-size // (MAX_HEIGHT // STRIP)) for _, size in self.pools]

    # -- a block ---------------------------------------------------------------------------------

    def box(self, block: int, x: float, y: float, w: float, h: float, *, across: bool) -> None:
        """A block, filled from the left or from below, with its signs."""
        sheet, names = self.sheet, self.cache.owners.get(block, [])
        part = 1.0 if block in self.cached else self.cache.fill.get(block, 0) / self.size
        owners = [self.looks[name] for name in names[:6]] or [(HELD, "")]
        for place, look in enumerate(owners if part else []):
            if across:
                each = h / len(owners)  # names stand beside it: no patterns under the words
                sheet.rect(x, y + place * each, round(w * part, 1), each, look[0])
            else:
                each, high = w / len(owners), round(h * part, 1)
                sheet.paint(x + place * each, y + h - high, each, high, look)
        if part and block >= self.gpu:
            high = round(h * part, 1)
            sheet.rect(x, y if across else y + h - high, w * part if across else w,
                       h if across else high, HATCH)  # fmt: skip
        if self.rows and names and part < 1:
            sheet.rect(x + w * part, y, w * (1 - part), h, HATCH)
        if block == self.state.null_block:
            sheet.path(f"M{x:g} {y:g}l{w:g} {h:g}m0 {-h:g}l{-w:g} {h:g}", f'stroke="{INK}"')
        sheet.rect(x, y, w, h, edge=2.4 if self.refs.get(block, 0) > 1 else 0.9)
        if h >= 16 and block in self.cached:
            sheet.corner(x + w, y, low=False)
        if h >= 16 and block in self.state.computed:
            sheet.corner(x + w, y + h, low=True)

    def owner_text(self, block: int) -> str:
        """Who owns a block."""
        if block == self.state.null_block:
            return "null"
        names = " ".join(name_text(name) for name in self.cache.owners.get(block, []))
        return names or ("held" if block in self.refs else "unused" if block in self.cached else "")

    # -- tables and pools in full ----------------------------------------------------------------

    def draw_tables(self) -> float:
        """Logical blocks with their words, and the block table; returns where they end."""
        sheet, slot = self.sheet, min(SLOT, 4 * SLOT / self.size)
        sheet.text(MARGIN, TOP - 30, "Logical blocks", look=BOLD)
        sheet.text(TABLE, TOP - 30, "Block table", look=BOLD)
        sheet.text(TABLE + 17, TOP - 13, "block", look=QUIET, anchor="middle")
        sheet.text(TABLE + 52, TOP - 13, "filled", look=QUIET, anchor="middle")
        y = TOP - 8.0
        for name, table in self.cache.tables.items():
            sheet.paint(MARGIN, y + 4, 11, 11, self.looks[name])
            sheet.rect(MARGIN, y + 4, 11, 11, edge=0.9)
            sheet.text(MARGIN + 17, y + 14, short(name_text(name), 16), look=BOLD)
            sheet.text(MARGIN + 200, y + 14, f"{table.num_slots} tokens", look=QUIET, anchor="end")
            y += NAME
            for k, block in enumerate(table.block_ids):
                here = max(0, min(table.num_slots - k * self.size, self.size))
                self._row(self.looks[name][0], block, k, y, slot, here)
                y += ROW
            y += GAP if table.block_ids else GAP + ROW
        if not self.cache.tables:
            sheet.text(MARGIN, TOP + 14, "no sequence holds any blocks", look=QUIET)
        return y

    def _row(self, color: str, block: int, k: int, y: float, slot: float, here: int) -> None:
        """A logical block, and its entry of the table."""
        sheet, x, table = self.sheet, MARGIN + 18, TABLE
        sheet.text(x - 5, y + 13, str(k), look=QUIET, anchor="end")
        for fill in (color, HATCH)[: 1 + (block >= self.gpu)]:
            sheet.rect(x, y, slot * here, ROW, fill)
            sheet.rect(table, y, 34, ROW, fill)
        for i in range(self.size):
            sheet.rect(x + i * slot, y, slot, ROW, edge=0.5)
        sheet.rect(x, y, slot * self.size, ROW, edge=1.6)
        for i, word in enumerate(self.cache.words.get(block, [])[:here]):
            sheet.fitted(x + i * slot, y + 13, word, slot - 2, HALO)
        sheet.path(f"M{x + slot * self.size + 2:g} {y + ROW / 2:g}H{table - 2:g}",
                   f'stroke="{HELD}"')  # fmt: skip
        sheet.rect(table, y, 34, ROW, edge=0.9)
        sheet.rect(table + 34, y, 36, ROW, edge=0.9)
        sheet.text(table + 17, y + 13, str(block), look=f"{BOLD} {HALO}", anchor="middle")
        sheet.text(table + 52, y + 13, str(here), anchor="middle")

    def draw_strips(self) -> float:
        """Blocks as rows of slots with their words; returns where they end."""
        sheet, all_columns = self.sheet, max(sum(self.columns), 1)
        left = TABLE + 70 + 24.0
        pitch = (WIDTH - MARGIN - left) / all_columns
        slot = min(60, (pitch - BEFORE - BEHIND) / self.size)
        first, bottom, w = 0, float(TOP), slot * self.size
        for (name, count), columns in zip(self.pools, self.columns, strict=True):
            rows = -(-count // max(columns, 1))
            for column in range(columns):
                x = left + BEFORE
                if not column:
                    sheet.text(x - BEFORE + 6, TOP - 30, f"{name} pool", look=BOLD)
                sheet.text(x - 6, TOP - 13, "block", look=QUIET, anchor="end")
                sheet.text(x, TOP - 13, "slots", look=QUIET)
                sheet.text(x + w + OWNERS, TOP - 13, "owners", look=QUIET, anchor="end")
                for row in range(min(rows, count - column * rows)):
                    self._strip(first + column * rows + row, x, TOP - 6 + row * STRIP, slot)
                left += pitch
            bottom = max(bottom, TOP + rows * STRIP)
            first += count
        return bottom

    def _strip(self, block: int, x: float, y: float, slot: float) -> None:
        sheet, shared = self.sheet, self.refs.get(block, 0)
        self.box(block, x, y, slot * self.size, STRIP - 5, across=True)
        for i in range(1, self.size):
            sheet.path(f"M{x + i * slot:g} {y:g}v{STRIP - 5}", f'stroke="{INK}" stroke-width="0.4"')
        for i, word in enumerate(self.cache.words.get(block, [])):
            sheet.fitted(x + i * slot, y + 14, word, slot - 2, HALO)
        used = shared or block in self.cached
        sheet.text(x - 6, y + 14, str(block), look=BOLD if used else QUIET, anchor="end")
        names = self.owner_text(block)
        names = names if len(names) <= 7 else f"\u00d7{shared}" if shared > 1 else short(names, 7)
        look = BOLD if shared > 1 else ""
        sheet.text(x + slot * self.size + OWNERS, y + 14, names, look=look, anchor="end")

    # -- what has no room for words --------------------------------------------------------------

    def draw_lines(self) -> float:
        """A line for each of the first sequences; returns where they end."""
        sheet, y = self.sheet, float(TOP)
        sheet.text(MARGIN, TOP - 30, "Sequences", look=BOLD)
        sheet.text(MARGIN + 108, TOP - 12, "tokens", look=QUIET, anchor="end")
        column = "row of slots" if self.rows else "block table"
        sheet.text(MARGIN + 114, TOP - 12, column, look=QUIET)
        for name, table in islice(self.cache.tables.items(), MAX_LINES):
            ids = table.block_ids
            sheet.paint(MARGIN, y, 11, 13, self.looks[name])
            sheet.rect(MARGIN, y, 11, 13, edge=0.9)
            sheet.text(MARGIN + 16, y + 11, short(name_text(name), 8), look=BOLD)
            sheet.text(MARGIN + 108, y + 11, str(table.num_slots), look=QUIET, anchor="end")
            if self.rows and ids:
                last = (ids[-1] + 1) * self.size - 1
                sheet.text(MARGIN + 114, y + 11, f"{ids[0] * self.size}\u2013{last}")
            for place, block in enumerate(() if self.rows else ids[:MAX_CHIPS]):
                x = MARGIN + 114 + place * 26
                self.box(block, x, y - 2, 25, 15, across=False)
                sheet.text(x + 12.5, y + 10, str(block), look=HALO, anchor="middle")
            if len(ids) > MAX_CHIPS and not self.rows:
                sheet.text(MARGIN + 116 + MAX_CHIPS * 26, y + 11, f"+{len(ids) - MAX_CHIPS}")
            y += LINE
        if (more := len(self.cache.tables) - MAX_LINES) > 0:
            sheet.text(MARGIN, y + 11, f"and {more} more", look=QUIET)
            y += LINE
        return y

    def draw_boxes(self) -> float:
        """A cell for each block, or contiguous memory without gaps; returns where they end."""
        sheet, left = self.sheet, WIDTH / 4 if self.rows else LEFT
        (gpu_name, gpu), (cpu_name, cpu) = self.pools
        room = WIDTH - MARGIN - left
        for cell in CELLS:
            w, h, gap, named = cell
            if self.rows:
                w, h, gap, named = min(w, 24), max(h // 2, 7), 0, False
            columns = int((room - 24 + gap) // (w + gap))
            right = max(columns // 3, 1) if cpu else 0
            pitch = h + (12 if self.rows else gap)
            rows = max(-(-gpu // (columns - right)), -(-cpu // max(right, 1)))
            if rows * pitch <= MAX_HEIGHT:
                break
        start = left + (columns - right) * (w + gap) - gap + 24
        what = "memory, in slots" if self.rows else "pool"
        for heading, x, first, count, across in (
            (f"{gpu_name} {what}", left, 0, gpu, columns - right),
            (f"{cpu_name} pool", start, gpu, cpu, right),
        ):
            if count:
                sheet.text(x, TOP - 30, heading, look=BOLD)
            for place in range(count):
                row, column = divmod(place, across)
                at, y = x + column * (w + gap), TOP + row * pitch
                if self.rows and not column:
                    sheet.text(at - 5, y + h, str(place * self.size), look=QUIET, anchor="end")
                self.box(first + place, at, y, w, h, across=self.rows)
                if named:
                    self._named(first + place, at, y, w, h)
        return float(TOP + rows * pitch)

    def _named(self, block: int, x: float, y: float, w: float, h: float) -> None:
        shared = self.refs.get(block, 0)
        look = f"{BOLD} {HALO}" if shared or block in self.cached else QUIET
        self.sheet.text(x + 3, y + 13, str(block), look=look)
        if h <= 24:
            return
        if shared > 1:
            self.sheet.text(x + w - 9, y + 13, f"\u00d7{shared}", look=HALO, anchor="end")
        self.sheet.fitted(x, y + h - 6, self.owner_text(block), w - 4, HALO)

    # -- lists, queues, legend -------------------------------------------------------------------

    def draw_lists(self, y: float) -> float:
        """Lists and queues as rows of chips; returns where they end."""
        for place, (name, ids) in enumerate(self.state.lists.items()):
            if ids or not place:
                is_sorted = name in self.state.sorted_lists
                chips = _ranges(ids) if is_sorted else [str(block) for block in ids]
                if ids and not is_sorted:
                    front = "front" if place else "next"
                    self.sheet.text(MARGIN + 110, y - 4, f"\u25be {front}", look=BOLD)
                grey = set() if is_sorted else {str(block) for block in self.cached}
                self._chips(y, name, [(text, HELD if text in grey else "none") for text in chips])
                y += 34
        first_of, queues = self.state.requests, self.state.queues
        for queue, requests in queues.items() if any(queues.values()) else ():
            looks = [self.looks.get(first_of.get(one, one), (HELD, ""))[0] for one in requests]
            words = [short(request_text(one, self.state), 18) for one in requests]
            self._chips(y, queue, list(zip(words, looks, strict=True)), swatch=11)
            y += 26
        return y

    def _chips(self, y: float, name: str, chips: list[tuple[str, str]], swatch: int = 0) -> None:
        sheet, x = self.sheet, MARGIN + 110.0
        sheet.text(MARGIN, y + 13, short(name, 15), look=BOLD)
        if not chips:
            sheet.text(x, y + 13, "empty", look=QUIET)
        for place, (text, fill) in enumerate(chips):
            w = len(text) * 7.6 + 9 + swatch
            if x + w > WIDTH - MARGIN - 44:
                sheet.text(x + 4, y + 13, f"+{len(chips) - place}", look=QUIET)
                return
            sheet.rect(x, y, swatch or w, 17, fill)
            sheet.rect(x, y, w, 17, edge=0.9 if place or swatch else 2.4)
            sheet.text(x + swatch + (w - swatch) / 2, y + 13, text, anchor="middle")
            x += w + 3

    def draw_legend(self, y: float) -> float:
        """The signs of this picture; returns where they end."""
        sheet, x = self.sheet, float(MARGIN)
        entries = ["fill: slots with tokens"]
        entries += ["hatched: reserved"] if self.rows else ["thick: shared"]
        entries += [f"hatched: {self.pools[1][0]}"] if self.pools[1][1] else []
        if self.state.caching:
            entries += ["upper corner: cached", "grey: cached, unused"]
        entries += ["lower corner: computed"] if self.state.computed else []
        entries += ["crossed: null block"] if self.state.null_block is not None else []
        for text in entries:
            wide = 22 + len(text) * 6.4 + 12
            if x + wide > WIDTH - MARGIN:
                x, y = float(MARGIN), y + 18
            self._sign(text.split(":")[0], x, y)
            sheet.text(x + 20, y + 10, text, look=f'{QUIET} font-size="11"')
            x += wide
        return y + 18

    def _sign(self, sign: str, x: float, y: float) -> None:
        sheet = self.sheet
        if sign in ("fill", "hatched"):
            sheet.rect(x, y + 5, 13, 7, HELD)
        if sign == "grey":
            sheet.rect(x, y, 13, 12, HELD)
        if sign == "hatched":
            sheet.rect(x, y + 5, 13, 7, HATCH)
        sheet.rect(x, y, 13, 12, edge=2.4 if sign == "thick" else 0.9)
        if sign.endswith("corner"):
            low = sign.startswith("lower")
            sheet.corner(x + 13, y + 12 * low, low=low)
        if sign == "crossed":
            sheet.path(f"M{x:g} {y:g}l13 12m0 -12l-13 12", f'stroke="{INK}"')


def static_svg(header: JsonObject, state: JsonObject, caption: str) -> str:
    """An SVG document of ``state`` (the format's, see ``FORMAT.md``) under a caption.

    ``header`` gives the sizes and the tokens' labels. A large cache is shown without words: at most
    16 sequences with 8 blocks each, the rest is counted.
    """
    cache = CacheView.of(header, state)
    still = Still(cache)
    for place, line in enumerate(wrap(caption, 112, max_lines=2, placeholder=" \u2026")):
        still.sheet.text(MARGIN, MARGIN + 12 + place * 16, line, look=BOLD)
    if still.in_full:
        bottom = max(still.draw_tables(), still.draw_strips())
    else:
        bottom = max(still.draw_lines(), still.draw_boxes())
    height = still.draw_legend(still.draw_lists(bottom + 22) + 6) + MARGIN
    return still.sheet.svg(WIDTH, height, words_of(cache), still.looks.values())


def _ranges(ids: Sequence[int]) -> list[str]:
    """Ids in ascending order: of neighbours the first and the last."""
    runs = groupby(enumerate(ids), lambda pair: pair[1] - pair[0])
    groups = [[block for _, block in run] for _, run in runs]
    return ["\u2013".join(map(str, (run[0], run[-1])[: len(run)])) for run in groups]
