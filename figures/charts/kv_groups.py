"""The pool as groups of layers: a row is a block, and a cell is its page in one layer.

Every block has the same number of bytes, whichever group it belongs to. Hatched is what no layer
uses: places without a layer, and the ends of pages that were made larger.
"""

from collections.abc import Iterable

from pagesim.errors import UsageError
from pagesim.figures import page, style
from pagesim.figures.sheet import Sheet
from pagesim.figures.sources import cannot
from pagesim.figures.style import Box, Look, Picture
from pagesim.sizing import CacheSize
from pagesim.sizing.kinds import WORDS, kind_of, words_of
from pagesim.sizing.kv_cache_groups import KVCacheGroupSpec
from pagesim.sizing.kv_cache_spec import KVCacheSpec, MambaSpec
from pagesim.sizing.waste import counted, wasted

ROW, GAP, LEGEND, HEADS = 22.0, 3.0, 22.0, 16.0
NAME, RIGHT = 112.0, 92.0
KINDS = {
    "full": (WORDS["full"], style.color_of(0)),
    "window": ("window", style.color_of(2)),
    "chunks": ("chunks", style.color_of(4)),
    "states": ("state", style.color_of(3)),
    "latent": (WORDS["latent"], style.color_of(0)),
    "mixed": (WORDS["mixed"], style.color_of(0)),
}
"""What a page holds: its name in the legend, and its colour."""
LOST = Look(style.PARTS["internal"].color, "xxxx")
SLIVER = 2.5  # what is lost is drawn at least as wide
MOST_ROWS = 40


@style.picture
def kv_groups(
    size: CacheSize, *, title: str | None = None, notes: Iterable[str] = ()
) -> tuple[Picture, str]:
    """Draw the groups of layers that share the cache, and what of it they waste.

    ``size`` is what `pagesim.sizing.size_v1` returns. A row is a block of one group, a cell its
    page in a layer, with the layer's number. At the right are the blocks that a sequence of the
    maximum length holds. TypeError for anything else.
    """
    if not isinstance(size, CacheSize):
        raise cannot("kv_groups", size, "what size_v1 returns")
    groups = size.high.kv_cache_groups
    if len(groups) > MOST_ROWS:
        raise UsageError(f"there are {len(groups)} groups: at most {MOST_ROWS} can be drawn")
    losses = [
        f"{loss.name}: {loss.words}, {100 * loss.share:.2f} % of the memory"
        for loss in wasted(groups)
    ]
    if any(0 < _lost(spec, size) < SLIVER for group in groups for _, spec in group.layer_specs()):
        losses.append("What is lost at the end of a page is drawn wider than it is.")
    rows = [_said(size, number, group) for number, group in enumerate(groups)]
    named = f"Groups of layers of {size.model.name}. {'. '.join(rows)}."
    figure = _draw(size, title or f"The cache of {size.model.name}", [*losses, *notes])
    said = [f"{loss.rstrip('.')}." for loss in losses]
    return figure, " ".join([named, *said, *notes])


def _said(size: CacheSize, number: int, group: KVCacheGroupSpec) -> str:
    layers = counted(len(group.layer_names), "layer")
    return f"Group {number}: {layers} with {words_of(group.kv_cache_spec)}{_held(size, group)}"


def _held(size: CacheSize, group: KVCacheGroupSpec) -> str:
    """The blocks of a sequence in the group, if its length is known."""
    if size.max_model_len is None:
        return ""
    spec = group.kv_cache_spec
    return f", {counted(spec.blocks_for(size.max_model_len, size.max_in_flight_tokens), 'block')}"


def _lost(spec: KVCacheSpec, size: CacheSize) -> float:
    """How wide the padding of a page is, to scale."""
    return (spec.page_size_bytes - spec.real_page_size_bytes) * _scale(size)


def _scale(size: CacheSize) -> float:
    """Points for a byte."""
    return (page.ROOM - NAME - RIGHT) / size.block_bytes


def _draw(size: CacheSize, title: str, notes: Iterable[str]) -> Picture:
    groups, whole = size.high.kv_cache_groups, size.block_bytes
    subtitle = f"A row is a block of {whole:,} bytes: a page for each layer of its group"
    body = LEGEND + HEADS + len(groups) * (ROW + GAP)
    figure, sheet, top = page.sheet(title, subtitle, body, notes)
    _legend(sheet, top, groups)
    left, right = page.MARGIN + NAME, page.MARGIN + page.ROOM
    heads = top + LEGEND + HEADS / 2 - 2
    sheet.write(page.MARGIN, heads, "group", ha="left", color=style.MUTED)
    sheet.write(left, heads, "layers", ha="left", color=style.MUTED)
    if size.max_model_len is not None:
        words = f"for {counted(size.max_model_len, 'token')}"
        sheet.write(right, heads, words, ha="right", color=style.MUTED)
    scale = _scale(size)
    for number, group in enumerate(groups):
        y, layers = top + LEGEND + HEADS + number * (ROW + GAP), group.layer_specs()
        _name(sheet, y, number, group)
        widths = [spec.page_size_bytes * scale for _, spec in layers]
        names = [name.rpartition(".")[2] for name, _ in layers]
        fits = all(style.text_width(name) + 2 <= w for name, w in zip(names, widths, strict=True))
        x = left
        for name, width, (_, spec) in zip(names, widths, layers, strict=True):
            _cell(sheet, Box(x, y, width, ROW), spec, name if fits else "")
            x += width
        _empty(sheet, Box(x, y, right - RIGHT - x, ROW), widths[-1] if widths else right)
        held = _held(size, group).removeprefix(", ")
        sheet.write(right, y + ROW / 2, held, ha="right")
    return figure


def _name(sheet: Sheet, y: float, number: int, group: KVCacheGroupSpec) -> None:
    """The group and its kind, and below the tokens of a block."""
    spec, kind = group.kv_cache_spec, kind_of(group.kv_cache_spec)
    length = getattr(spec, {"window": "sliding_window"}.get(kind, "attention_chunk_size"), None)
    words = KINDS[kind][0] + (f" {length:,}" if length and kind in ("window", "chunks") else "")
    sheet.write(page.MARGIN, y + ROW / 2 - 5, f"{number}: {words}", ha="left", bold=True)
    whole = isinstance(spec, MambaSpec) and spec.mamba_cache_mode == "none"
    tokens = "one for a sequence" if whole else f"{counted(spec.block_size, 'token')} a block"
    sheet.write(page.MARGIN, y + ROW / 2 + 6, tokens, ha="left", color=style.MUTED)


def _cell(sheet: Sheet, box: Box, spec: KVCacheSpec, layer: str) -> None:
    """A page: what its layer keeps, the padding hatched at its end, and the layer's number."""
    color = KINDS[kind_of(spec)][1]
    lost = box.w * (spec.page_size_bytes - spec.real_page_size_bytes) / spec.page_size_bytes
    rest = min(max(lost, SLIVER), box.w) if lost else 0.0
    used = Box(box.x, box.y, box.w - rest, box.h)
    sheet.rectangle(used, fill=color, edge=None)
    if rest:
        tail = Box(box.x + used.w, box.y, rest, box.h)
        hatch = LOST.hatch if rest > 2 * SLIVER else ""
        sheet.rectangle(tail, fill=LOST.color, edge=None, hatch=hatch)
    sheet.rectangle(box, fill=None, width=style.THIN if box.w > 4 else 0.3)
    if layer:
        sheet.write(*used.center, layer, color=style.ink_on(color))


def _empty(sheet: Sheet, room: Box, width: float) -> None:
    """The places at the end of a row that no layer fills."""
    for place in range(round(room.w / width)):
        box = Box(room.x + place * width, room.y, width, room.h)
        sheet.rectangle(box, fill=LOST.color, hatch=LOST.hatch)


def _legend(sheet: Sheet, y: float, groups: Iterable[KVCacheGroupSpec]) -> None:
    """The kinds that occur, and what is wasted."""
    groups = list(groups)
    kinds = dict.fromkeys(kind_of(spec) for group in groups for _, spec in group.layer_specs())
    entries = [(*KINDS[kind], "") for kind in kinds]
    entries += [(loss.name, LOST.color, LOST.hatch) for loss in wasted(groups)]
    x = page.MARGIN
    for name, color, hatch in dict.fromkeys(entries):
        sheet.rectangle(Box(x, y, 22, 11), fill=color, hatch=hatch)
        sheet.write(x + 27, y + 5.5, name, ha="left")
        x += 27 + style.text_width(name) + 18
