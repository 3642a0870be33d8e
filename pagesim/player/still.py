"""What the parts of a still picture share: the state, the sheet, and a block with its signs."""

from collections.abc import Collection

from pagesim.journal.effects import Name
from pagesim.journal.state import WINDOW
from pagesim.player.cache_view import CacheView
from pagesim.player.colors import COLORS, color_of, pattern_of
from pagesim.player.describe import name_text
from pagesim.player.groups import Group
from pagesim.player.sheet import BOLD, CROWD, HATCH, HELD, INK, PAPER, Look, Sheet

WIDTH, MARGIN, TOP = 880, 12, 86
ROW, NAME, GAP, SLOT = 18, 21, 10, 46  # a table drawn in full
TABLE = MARGIN + 18 + 4 * SLOT + 16
STRIP = 25  # a block as a row of slots
LINE = 24  # a table drawn in a line
MAX_HEIGHT = 430
MANY = 20
"""More sequences cannot be told apart by their colours: in the player too (js/model.js)."""


class Still:
    """A state, and the sheet on which it is drawn."""

    def __init__(self, cache: CacheView, concerned: Collection[Name] = ()) -> None:
        self.cache, self.state, self.sheet = cache, cache.state, Sheet()
        self.size, self.tier = cache.block_size, cache.tier
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
        near = {cache.owner(name) for name in concerned}
        is_crowd = not self.rows and len(set(cache.places.values())) > MANY
        self.near = (near if len(near) <= len(COLORS) else set()) if is_crowd else None

    @property
    def in_full(self) -> bool:
        """Whether the tables and the blocks have room for their words."""
        if self.cache.groups:
            return self.size <= 8 and sum(self.columns) <= 2
        return self.fits and sum(self.columns) <= 2

    @property
    def fits(self) -> bool:
        """Whether the tables have room for their words."""
        tables = self.cache.tables.values()
        rows = sum(max(len(table.block_ids), 1) * ROW + NAME + GAP for table in tables)
        return not self.rows and self.size <= 8 and rows <= MAX_HEIGHT

    @property
    def columns(self) -> list[int]:
        """How many columns of strips each pool needs."""
        return [-(-size // (MAX_HEIGHT // STRIP)) for _, size in self.pools]

    def box(self, block: int, x: float, y: float, w: float, h: float, *, across: bool) -> None:
        """A block, filled from the left or from below, with its signs."""
        sheet, names = self.sheet, self.owners(block)
        size = self.cache.size_of(block)
        part = 1.0 if block in self.cached else self.cache.fill.get(block, 0) / size
        owners = [self.looks[name] for name in names[:6]] or [(HELD, "")]
        if names and not any(self.is_near(name) for name in names):
            owners = [(CROWD, "")]
        if self.tier and (job := self.tier.pending.get(block)):
            sheet.pale(x, y, w, h, self.look_of(job.request)[0])
            sheet.rect(x, y, w, h, HATCH)
            part = 0.0
        for place, look in enumerate(owners if part else []):
            if across:
                each = h / len(owners)  # names stand beside it: no patterns under the words
                sheet.rect(x, y + place * each, round(w * part, 1), each, look[0])
            else:
                each, high = w / len(owners), round(h * part, 1)
                sheet.paint(x + place * each, y + h - high, each, high, look)
        if part and block >= self.gpu and not self.tier:
            high = round(h * part, 1)
            sheet.rect(x, y if across else y + h - high, w * part if across else w,
                       h if across else high, HATCH)  # fmt: skip
        if self.rows and names and part < 1:
            sheet.pale(x + w * part, y, w * (1 - part), h, owners[0][0])
        if block == self.state.null_block:
            sheet.path(f"M{x:g} {y:g}l{w:g} {h:g}m0 {-h:g}l{-w:g} {h:g}", f'stroke="{INK}"')
        sheet.rect(x, y, w, h, edge=2.4 if self.refs.get(block, 0) > 1 else 0.9)
        if h >= 16 and block in self.cached:
            sheet.corner(x + w, y, low=False)
        if h >= 16 and block in self.state.computed:
            sheet.corner(x + w, y + h, low=True)

    def is_near(self, name: Name) -> bool:
        """Whether a sequence has its colour: of many only those that the step concerns."""
        return self.near is None or self.cache.owner(name) in self.near

    def look_of(self, request: Name) -> Look:
        """How the first sequence of a request is painted."""
        return self.looks.get(self.state.requests.get(request, request), (HELD, ""))

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

    def kind(self, group: Group | None, x: float, y: float, w: float, h: float) -> None:
        """Where there is no room for a letter: a bar for a window, a square for a state."""
        look = f'fill="{INK}" stroke="{PAPER}" stroke-width="0.6"'
        if group is not None and group.is_state:
            self.sheet.path(
                f"M{x + w / 3:g} {y + h / 3:g}h{w / 3:g}v{h / 3:g}h{-w / 3:g}z", look, 3
            )
        elif group is not None and group.kind == WINDOW:
            self.sheet.path(f"M{x:g} {y:g}h{w / 4:g}v{h:g}h{-w / 4:g}z", look, 3)

    def owner_text(self, block: int) -> str:
        """Who owns a block."""
        if block == self.state.null_block:
            return "null"
        if self.tier and (job := self.tier.pending.get(block)):
            return name_text(self.state.requests.get(job.request, job.request))
        if self.tier and block >= self.gpu:
            return "copy" if block in self.refs else ""
        names = " ".join(name_text(self.cache.owner(name)) for name in self.owners(block))
        return names or ("held" if block in self.refs else "unused" if block in self.cached else "")
