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
from pagesim.journal.state import TableState
from pagesim.player.cache_view import CacheView
from pagesim.player.colors import color_of, pattern_of
from pagesim.player.describe import name_text, request_text, words_of
from pagesim.player.groups import Group, group_of
from pagesim.player.sheet import BOLD, HALO, HATCH, HELD, INK, PAPER, QUIET, Look, Sheet, short

WIDTH, MARGIN, TOP = 880, 12, 86
ROW, NAME, GAP, SLOT = 18, 21, 10, 46  # a table drawn in full
TABLE = MARGIN + 18 + 4 * SLOT + 16
STRIP, BEFORE, OWNERS, BEHIND = 25, 30, 56, 78  # a block as a row of slots, its id, its owners
LINE, MAX_LINES, MAX_CHIPS = 24, 16, 8  # a table drawn in a line
LANE = 21  # a table of one of several groups
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
        letters = [len(group.letter) for group in cache.groups]
        self.frame = 10 + 8 * max(letters, default=0)  # the frame of a group's letter
        self.rows = next(iter(self.state.lists), None) in self.state.sorted_lists

    @property
    def in_full(self) -> bool:
        """Whether the tables and the blocks have room for their words."""
        if self.cache.groups:
            return self.size <= 8 and sum(self.columns) <= 2
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
        sheet, names = self.sheet, self.owners(block)
        size = self.cache.size_of(block)
        part = 1.0 if block in self.cached else self.cache.fill.get(block, 0) / size
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

    def owners(self, block: int) -> list[Name]:
        """The tables that hold a block; of several groups none holds the null block."""
        nobody = self.cache.groups and block == self.state.null_block
        return [] if nobody else self.cache.owners.get(block, [])

    def letter(self, block: int, x: float, y: float) -> float:
        """The letter of the group that has a block, in a frame; returns how wide that is."""
        group = self.cache.group_of(block)
        if group is None:
            return 0
        self.tag(group, x, y)
        return self.frame

    def tag(self, group: Group, x: float, y: float) -> None:
        """The letter of a group: beside its tables, on its blocks and in the legend."""
        self.sheet.path(f"M{x:g} {y:g}h{self.frame}v13h{-self.frame}z",
                        f'fill="{PAPER}" stroke="{INK}" stroke-width="0.9"', 3)  # fmt: skip
        self.sheet.text(x + self.frame / 2, y + 10.7, group.letter, look=BOLD, anchor="middle")

    def owner_text(self, block: int) -> str:
        """Who owns a block."""
        if block == self.state.null_block:
            return "null"
        names = " ".join(name_text(self.cache.owner(name)) for name in self.owners(block))
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
        before = BEFORE + (self.frame + 4 if self.cache.groups else 0)
        slot = min(60, (pitch - before - BEHIND) / self.size)
        first, bottom, w = 0, float(TOP), slot * self.size
        for (name, count), columns in zip(self.pools, self.columns, strict=True):
            rows = -(-count // max(columns, 1))
            for column in range(columns):
                x = left + before
                if not column:
                    sheet.text(x - before + 6, TOP - 30, f"{name} pool", look=BOLD)
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
        wide = slot * self.size
        aside = self.letter(block, x - 3 - self.frame, y + 4) + 2 if self.cache.groups else 0
        if after := self.cache.states.get(block):
            sheet.fitted(x, y + 14, f"state after {after} tokens", wide - 4, HALO)
        size = self.cache.size_of(block) if block in self.cache.owners or not aside else 1
        for i in range(1, 1 if after else size):
            at = x + i * (wide / size if aside else slot)
            sheet.path(f"M{at:g} {y:g}v{STRIP - 5}", f'stroke="{INK}" stroke-width="0.4"')
        for i, word in enumerate(self.cache.words.get(block, [])):
            each = wide / size if aside else slot
            sheet.fitted(x + i * each, y + 14, word, each - 2, HALO)
        used = shared or block in self.cached
        sheet.text(x - 6 - aside, y + 14, str(block), look=BOLD if used else QUIET, anchor="end")
        names = self.owner_text(block)
        names = names if len(names) <= 7 else f"\u00d7{shared}" if shared > 1 else short(names, 7)
        look = BOLD if shared > 1 else ""
        sheet.text(x + slot * self.size + OWNERS, y + 14, names, look=look, anchor="end")

    # -- several groups --------------------------------------------------------------------------

    def draw_lanes(self, right: float) -> float:
        """For each request a lane per group, all to one scale; returns where they end."""
        sheet, y, cache = self.sheet, TOP - 8.0, self.cache
        sheet.text(MARGIN, TOP - 30, "A block table per group", look=BOLD)
        left = MARGIN + self.frame + 12 + 7 * max(len(group.label) for group in cache.groups)
        ends = (self._end(name, table) for name, table in cache.tables.items())
        unit = min((right - left) / max(ends, default=1), 64 / self.size)
        most = max(int(MAX_HEIGHT / (NAME + GAP + LANE * len(cache.groups))), 1)
        for request, tables in islice(cache.requests.items(), most):
            sheet.paint(MARGIN, y + 4, 11, 11, self.looks[request])
            sheet.rect(MARGIN, y + 4, 11, 11, edge=0.9)
            first = next(iter(tables.values()))
            words = f"{short(name_text(request), 16)}: {first.num_slots} tokens"
            sheet.text(MARGIN + 17, y + 14, words, look=BOLD)
            y += NAME
            for name, table in tables.items():
                if group := group_of(name, cache.groups):
                    self.tag(group, MARGIN, y + 2)
                    sheet.text(MARGIN + self.frame + 6, y + 13, group.label)
                    self._lane(name, table, group, (left, y, unit))
                y += LANE
            y += GAP
        if (more := len(cache.requests) - most) > 0:
            sheet.text(MARGIN, y + 11, f"and {more} more", look=QUIET)
            y += LINE
        if not cache.tables:
            sheet.text(MARGIN, TOP + 14, "no sequence holds any blocks", look=QUIET)
        return y

    def _end(self, name: Name, table: TableState) -> int:
        """How far a table reaches, in tokens."""
        group = group_of(name, self.cache.groups)
        if group is None or group.is_state:
            return max(table.num_slots, 1)
        return max(len(table.block_ids) * group.block_size, 1)

    def _lane(
        self, name: Name, table: TableState, group: Group, place: tuple[float, float, float]
    ) -> None:
        """The blocks of a table where their positions are; what has none is a gap."""
        (left, y, unit), sheet, size = place, self.sheet, group.block_size
        color, last = self.looks[name][0], self._end(name, table)
        runs = groupby(enumerate(table.block_ids), lambda pair: pair[1] == self.state.null_block)
        for is_gap, run in runs:
            entries = list(run)
            start = left + entries[0][0] * size * unit
            if is_gap:
                nexts = table.block_ids[entries[-1][0] + 1 :][:1]
                end = left + min((entries[-1][0] + 1) * size, last) * unit
                self._gap(group, nexts, (start, y, end))
                continue
            for k, block in entries:
                x, end = left + k * size * unit, left + min((k + 1) * size, last) * unit
                sheet.rect(x, y + 1, (end - x) * table.fill[k] / size, 16, color)
                sheet.rect(x, y + 1, end - x, 16, edge=2.4 if self.refs.get(block, 0) > 1 else 0.9)
                after = self.cache.states.get(block)
                words = f"{block}: after {after}" if after else str(block)
                words = words if len(words) * 7.3 <= end - x else str(block)
                sheet.fitted(x, y + 13, words, end - x, HALO)

    def _gap(self, group: Group, nexts: tuple[int, ...], place: tuple[float, float, float]) -> None:
        """Entries without a block: what is behind the window, or which state takes their place."""
        start, y, end = place
        states = [self.cache.states[block] for block in nexts if block in self.cache.states]
        words = [f"state after {states[0]} tokens", f"after {states[0]}"] if states else []
        words += ["not kept"] if group.is_state else ["behind the window", "behind"]
        self.sheet.path(f"M{start:g} {y + 16:g}H{end:g}", f'stroke="{HELD}"')
        text = next((one for one in words if len(one) * 7.3 <= end - start), "")
        if text:
            self.sheet.text((start + end) / 2, y + 13, text, look=QUIET, anchor="middle")

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
                if h <= 24:
                    self.kind(self.cache.group_of(first + place), at, y, w, h)
        return float(TOP + rows * pitch)

    def kind(self, group: Group | None, x: float, y: float, w: float, h: float) -> None:
        """Where there is no room for a letter: a bar for a window, a square for a state."""
        look = f'fill="{INK}" stroke="{PAPER}" stroke-width="0.6"'
        if group is not None and group.is_state:
            self.sheet.path(
                f"M{x + w / 3:g} {y + h / 3:g}h{w / 3:g}v{h / 3:g}h{-w / 3:g}z", look, 3
            )
        elif group is not None and group.kind == "window":
            self.sheet.path(f"M{x:g} {y:g}h{w / 4:g}v{h:g}h{-w / 4:g}z", look, 3)

    def _named(self, block: int, x: float, y: float, w: float, h: float) -> None:
        shared = self.refs.get(block, 0)
        look = f"{BOLD} {HALO}" if shared or block in self.cached else QUIET
        self.sheet.text(x + 3, y + 13, str(block), look=look)
        if h <= 24:
            return
        if shared > 1:
            self.sheet.text(x + w - 9, y + 13, f"\u00d7{shared}", look=HALO, anchor="end")
        aside = self.letter(block, x, y + h - 13)
        self.sheet.fitted(x + aside, y + h - 6, self.owner_text(block), w - aside - 4, HALO)

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
        for group in self.cache.groups:
            self.tag(group, x, y - 1)
            sheet.text(x + self.frame + 5, y + 10, group.label, look=f'{QUIET} font-size="11"')
            x += self.frame + 5 + len(group.label) * 6.4 + 12
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
    if cache.groups:
        bottom = still.draw_lanes(TABLE + 70 if still.in_full else LEFT - 20)
        bottom = max(bottom, still.draw_strips() if still.in_full else still.draw_boxes())
    elif still.in_full:
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
